"""Which code made this? The hashes of the source files of learners, networks and functions that are not ours.

A file counts with the modules of the same folder (or of the same package) that it imports, and theirs. Comments, blank
lines and the ends of lines do not count. Of what is defined in the script that was started, or in a notebook, only the
definitions count that it uses: the rest of a script is edited between two runs with good reason.
"""

from __future__ import annotations

import ast
import hashlib
import io
import sys
import sysconfig
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

# Their versions are in the record.
_LIBRARIES = frozenset(["numpy", "scipy", "sklearn", "torch", "torchvision", "torch_geometric", "pyod", "river"])
_OURS = frozenset(["recollect"])
UNKNOWN = "unknown"


def code_of(things: Iterable[Any]) -> dict[str, str]:
    """The hash of each source file that these classes, functions and objects are made of, by its module's name.

    Where the source cannot be read (it was typed into a terminal), the hash is "unknown".

    >>> code_of([dict, sum])
    {}
    """
    found: dict[str, str] = {}
    for thing in things:
        for definition in _definitions(thing):
            found.update(_code_of_one(definition))
    return dict(sorted(found.items()))


def is_known(module: str) -> bool:
    """Whether a module is Python's, a library's or ours, so that its version says what it is."""
    return _package(module) in _known()


def _definitions(thing: Any) -> Iterator[Any]:
    """The classes and functions behind a thing: all bases of a class, what a partial or a method calls, and the
    functions that an object or a module holds.
    """
    thing = _called(thing)
    if isinstance(thing, FunctionType):
        yield thing
        return
    for base in (thing if isinstance(thing, type) else type(thing)).__mro__:
        if not is_known(base.__module__):
            yield base
    held = {} if isinstance(thing, type) else getattr(thing, "__dict__", {})
    yield from (called for one in held.values() if isinstance(called := _called(one), FunctionType))


def _called(thing: Any) -> Any:
    while isinstance(thing, partial | MethodType):
        thing = thing.func if isinstance(thing, partial) else thing.__func__
    return thing


@cache  # a file that is edited while the process lives is not what the process runs
def _code_of_one(definition: Any) -> tuple[tuple[str, str], ...]:
    name = definition.__module__
    if name is None or is_known(name):
        return ()
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if name == "__main__" or file is None:
        return ((name + ":" + definition.__qualname__, _of_script(definition, file)),)
    return tuple(_of_files(name, Path(file)))


@cache
def _known() -> frozenset[str]:
    return _LIBRARIES | _OURS | sys.stdlib_module_names - {"__main__"} | {"builtins"}


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _of_files(name: str, file: Path) -> Iterator[tuple[str, str]]:
    """The module and those that it imports from its own folder or package."""
    is_package = file.name == "__init__.py"
    root = file.parents[name.count(".") + is_package]
    inside = _package(name) if root in _installed() else ""
    todo, seen = [*_places(root, name), (name, file)], set[str]()
    while todo:
        module, place = todo.pop()
        if module in seen:
            continue
        seen.add(module)
        try:
            source = place.read_bytes()
        except OSError:
            yield module, UNKNOWN
            continue
        yield module, digest_of_source(source)
        parent = module if place.name == "__init__.py" else module.rpartition(".")[0]
        for imported in _imports(source, parent):
            todo += [
                (found, path) for found, path in _places(root, imported) if not inside or _package(found) == inside
            ]


@cache
def _installed() -> frozenset[Path]:
    return frozenset(Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib", "stdlib"))


def _places(root: Path, dotted: str) -> Iterator[tuple[str, Path]]:
    """The files below `root` that importing a dotted name runs: each package on the way, and the module."""
    parts = dotted.split(".")
    for count in range(1, len(parts) + 1):
        base = root.joinpath(*parts[:count])
        for file in (base / "__init__.py", base.with_name(base.name + ".py")):
            if file.is_file():
                yield ".".join(parts[:count]), file


def _imports(source: bytes, parent: str) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it; of `from a import b` also a.b, which may be a module."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parent.split(".")[: len(parent.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ([base] if base else [])
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


def digest_of_source(source: bytes) -> str:
    r"""The hash of a source file without its comments and its empty lines.

    >>> digest_of_source(b"x = 1  # one\n\n\ny = 2\r\n") == digest_of_source(b"x = 1\ny = 2\n")
    True
    """
    return _digest(_without_comments(source))


def _without_comments(source: bytes) -> bytes:
    try:
        tokens = list(tokenize.tokenize(io.BytesIO(source).readline))
        encoding = tokens[0].string
        lines = source.decode(encoding).splitlines()
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError):
        return source
    for token in tokens:
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


def _of_script(definition: Any, file: str | None) -> str:
    """The hash of a definition in the script that was started, and of all others in it that it uses by name."""
    try:
        tree = ast.parse(Path(file or "").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return _of_cell(definition)
    named: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in _defined_by(node):
            named.setdefault(name, []).append(node)
    todo, used = [definition.__qualname__.partition(".")[0]], dict[str, str]()
    if todo[0] not in named:
        return _of_cell(definition)
    while todo:
        name = todo.pop()
        if name in used or name not in named:
            continue
        used[name] = "\n".join(map(ast.unparse, named[name]))
        todo += {inner.id for node in named[name] for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        for node in named[name]:
            used |= _helpers(node, Path(file or "").parent)
    return _digest(repr(sorted(used.items())).encode())


def _helpers(node: ast.stmt, folder: Path) -> dict[str, str]:
    """The modules beside the script that an import brings, with their hashes."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return {}
    made: dict[str, str] = {}
    for dotted in _imports(ast.unparse(node).encode(), ""):
        for name, file in _places(folder, dotted):
            made |= {f"module {one}": digest for one, digest in _of_files(name, file)}
    return made


def _defined_by(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)]
    return []


def _of_cell(definition: Any) -> str:
    """The hash of a definition of which there is no file, as a notebook has it."""
    import inspect

    try:
        return _digest(_without_comments(inspect.getsource(definition).encode()))
    except (OSError, TypeError):
        return UNKNOWN


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
