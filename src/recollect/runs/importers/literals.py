"""Dictionaries as Python prints them, read without evaluating anything.

Training scripts log `str(dict)`. That is not always a Python literal: it may hold `nan`, `inf`,
`device(type='cuda')`, `np.float64(88.5)`, `<object at 0x7f...>`. Python's own parser takes it apart after objects have
been given a name; numbers in a call of numpy or torch are taken out of it, every other call or object is `OPAQUE`.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

MAX_DEPTH = 40


class _Opaque:
    def __repr__(self) -> str:
        return "OPAQUE"


OPAQUE = _Opaque()

# All that such a text may hold; no underscores in numbers, no signs but before a number or a word.
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>[bBuUrR]{0,2}(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
      | (?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?j?(?!\w))
      | (?P<name>[+-]?[^\W\d]\w*(?:\.\w+)*)
      | (?P<object><[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>)
      | (?P<mark>\.\.\.|[][(){},:=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS: dict[str, Any] = {"nan": float("nan"), "inf": float("inf"), "NaN": float("nan"), "Infinity": float("inf")}
_NUMBER_CALLS = re.compile(r"(?:np\.|numpy\.|torch\.)?(?:u?int\d*|float\d*|double|longdouble|tensor|array)")


class NotALiteral(ValueError):
    """The text is not what Python prints for plain data."""


def parse(text: str) -> Any:
    """The value that a printed dictionary, list, string or number stands for.

    >>> parse("{'seed': 0, 'device': device(type='cuda'), 'acc': np.float64(97.5), 'x': [nan, -1]}")
    {'seed': 0, 'device': OPAQUE, 'acc': 97.5, 'x': [nan, -1]}

    Raises `NotALiteral` for anything else.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes that Python does not know
            return _value(ast.parse(_with_names(text), mode="eval").body, 0)
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise NotALiteral(getattr(error, "msg", None) or "it is nested too deep") from None


def _with_names(text: str) -> str:
    """The text with a name in the place of each object; NotALiteral if it holds what no printed data does."""
    pieces: list[str] = []
    at, end, deep, last = 0, len(text.rstrip()), 0, ""
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise NotALiteral(f"unexpected text at position {at}")
        piece = "OPAQUE" if found.lastgroup == "object" else found[found.lastgroup]
        deep += (piece in "([{") - (piece in ")]}")
        if deep > MAX_DEPTH:
            raise NotALiteral("it is nested too deep")
        if found.lastgroup == "string" == last:
            raise NotALiteral("two strings follow each other")
        last = found.lastgroup
        pieces.append(piece)
        at = found.end()
    return " ".join(pieces)


def _value(node: ast.expr, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NotALiteral("it is nested too deep")
    match node:
        case ast.Constant(value=bytes() as value):
            return value.decode("latin-1")
        case ast.Constant(value=value):
            return OPAQUE if isinstance(value, complex) or value is ... else value
        case ast.Name(id=name):
            return _WORDS.get(name, OPAQUE)
        case ast.Attribute() if _path(node):
            return OPAQUE
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant() | ast.Name() as inner):
            value = _value(inner, depth + 1)
            is_number = isinstance(value, int | float)
            return (-value if isinstance(sign, ast.USub) else value) if is_number else OPAQUE
        case ast.List(elts=items):
            return [_value(item, depth + 1) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item, depth + 1) for item in items)
        case ast.Set():
            return OPAQUE
        case ast.Dict(keys=keys, values=values):
            return _dictionary([(None if k is None else _value(k, depth + 1)) for k in keys], values, depth)
        case ast.Call(func=function, args=arguments) if _path(function):
            first = _value(arguments[0], depth + 1) if arguments else OPAQUE
            return OPAQUE if isinstance(first, str) or not _NUMBER_CALLS.fullmatch(_path(function)) else first
    raise NotALiteral(f"it holds {type(node).__name__.lower()}, which printed data does not")


def _dictionary(keys: list[Any], values: list[ast.expr], depth: int) -> dict[Any, Any]:
    """Odd keys (tuples, objects) are dropped: no importer asks for them. A key that comes twice is no dictionary's."""
    kept = [(key, value) for key, value in zip(keys, values, strict=True) if isinstance(key, str | int | float)]
    made = {key: _value(value, depth + 1) for key, value in kept}
    if len(made) != len(kept):
        raise NotALiteral("a key comes twice")
    return made


def _path(node: ast.expr) -> str:
    """A name with its dots, `np.float64`; nothing for what is no name."""
    if isinstance(node, ast.Name):
        return node.id
    before = _path(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""
