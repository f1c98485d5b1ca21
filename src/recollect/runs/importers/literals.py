"""Dictionaries as Python prints them, read without evaluating anything.

Training scripts log `str(dict)`. That is not always a Python literal: it may hold `nan`, `inf`,
`device(type='cuda')`, `np.float64(88.5)`, `<object at 0x7f...>`. Numbers in a call of numpy or torch are
taken out of it; every other call or object becomes `OPAQUE`.
"""

from __future__ import annotations

import re
from typing import Any

MAX_DEPTH = 40


class _Opaque:
    def __repr__(self) -> str:
        return "OPAQUE"


OPAQUE = _Opaque()

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>[bBuUrR]{0,2}(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
      | (?P<number>[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:[eE][+-]?\d+)?j?)
      | (?P<name>[+-]?[^\W\d]\w*(?:\.\w+)*)
      | (?P<object><[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>)
      | (?P<mark>\.\.\.|[][(){},:=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "nan": float("nan"),
    "inf": float("inf"),
    "NaN": float("nan"),
    "Infinity": float("inf"),
}
_NUMBER_CALLS = re.compile(r"(?:np\.|numpy\.|torch\.)?(?:u?int\d*|float\d*|double|longdouble|tensor|array)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}


class NotALiteral(ValueError):
    """The text is not what Python prints for plain data."""


def parse(text: str) -> Any:
    """The value that a printed dictionary, list, string or number stands for.

    >>> parse("{'seed': 0, 'device': device(type='cuda'), 'acc': np.float64(97.5), 'x': [nan, -1]}")
    {'seed': 0, 'device': OPAQUE, 'acc': 97.5, 'x': [nan, -1]}

    Raises `NotALiteral` for anything else.
    """
    reader = _Reader(_tokens(text))
    value = reader.value(0)
    if reader.peek():
        raise NotALiteral(f"unexpected {reader.peek()} after the value")
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    """Kinds and texts of the tokens, with an empty one at the end."""
    tokens = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise NotALiteral(f"unexpected text at position {at}")
        tokens.append((found.lastgroup, found[found.lastgroup]))
        at = found.end()
    return [*tokens, ("end", "")]


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.kind = ""

    def next(self) -> str:
        self.kind, token = self.tokens[self.at]
        if self.kind == "end":
            raise NotALiteral("the text ends in the middle")
        self.at += 1
        return token

    def peek(self) -> str:
        return self.tokens[self.at][1]

    def expect(self, mark: str) -> None:
        token = self.next()
        if token != mark or self.kind != "mark":
            raise NotALiteral(f"expected {mark}, found {token[:20]}")

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise NotALiteral(f"nested more than {MAX_DEPTH} deep")
        token = self.next()
        if self.kind == "string":
            return _string(token)
        if self.kind == "number":
            return _number(token)
        if self.kind == "object" or token == "...":
            return OPAQUE
        if self.kind == "name":
            return self.word(token, depth)
        if token == "[":
            return self.items("]", depth)
        if token == "(":
            return tuple(self.items(")", depth))
        if token == "{":
            return self.dictionary(depth)
        raise NotALiteral(f"unexpected {token}")

    def items(self, closing: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while not self.closes(closing):
            items.append(self.value(depth + 1))
            self.separator(closing)
        return items

    def dictionary(self, depth: int) -> Any:
        made: dict[Any, Any] = {}
        members = 0
        while not self.closes("}"):
            key = self.value(depth + 1)
            if self.peek() == ":":
                self.expect(":")
                value = self.value(depth + 1)
                # Odd keys (tuples, objects) are dropped: no importer asks for them.
                if isinstance(key, str | int | float):
                    made[key] = value
            else:
                members += 1
            self.separator("}")
        return OPAQUE if members else made

    def word(self, word: str, depth: int) -> Any:
        if self.peek() == "(":
            self.expect("(")
            arguments = self.arguments(depth)
            if _NUMBER_CALLS.fullmatch(word) and arguments and not isinstance(arguments[0], str | _Opaque):
                return arguments[0]
            return OPAQUE
        bare = word.lstrip("+-")
        if bare not in _WORDS:
            # A word without quotes: the name of an enum or a class, printed as it is.
            return OPAQUE
        value = _WORDS[bare]
        return -value if word.startswith("-") and isinstance(value, float) else value

    def arguments(self, depth: int) -> list[Any]:
        """Positional arguments of a call; those given by name are read and dropped."""
        positional: list[Any] = []
        while not self.closes(")"):
            value = self.value(depth + 1)
            if self.peek() == "=":
                self.expect("=")
                self.value(depth + 1)
            else:
                positional.append(value)
            self.separator(")")
        return positional

    def closes(self, closing: str) -> bool:
        if self.peek() == closing:
            self.next()
            return True
        return False

    def separator(self, closing: str) -> None:
        token = self.peek()
        if token == ",":
            self.next()
        elif token != closing:
            raise NotALiteral(f"expected , or {closing}, found {token[:20]}")


def _string(token: str) -> str:
    quote = min(index for index in (token.find("'"), token.find('"')) if index >= 0)
    body = token[quote + 1 : -1]
    if "\\" not in body or "r" in token[:quote].lower():
        return body
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), body, flags=re.DOTALL)


def _number(token: str) -> Any:
    if token.endswith("j"):
        return OPAQUE
    try:
        return int(token) if re.fullmatch(r"[+-]?[\d_]+", token) else float(token)
    except ValueError:
        raise NotALiteral("a number that is none") from None
