"""Pickles, read without running anything that is in them.

A pickle is a program: `pickle.load` calls whatever function it names. Here Python's own unpickler (the one that is
written in Python: its memo is a dictionary, so that a place far out costs nothing) is left with the instructions that
data needs. A name in the file is compared with a short list and never imported; what a call of it would give is built
by `pickle_values`. What is not on the list is refused, and the message says what the file asked for.

Pickles of Python 2 are read too; their strings become `str` (latin-1, so that bytes survive).
"""

from __future__ import annotations

import io
import pickle
import struct
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.runs.pickle_values import Budget, Dtype, Maker, Name, Refused, admit, array_state, call, key, storage

MAX_BYTES = 512 * 2**20
MAX_DEPTH = 50
MAX_INSTRUCTIONS = 1_000_000

# What a file can do to Python's unpickler beside being refused: take more than there is, and the like.
_BROKEN = (
    pickle.UnpicklingError,
    struct.error,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
)
_BROKEN_STATE = "it sets the inner state of something that is not an array"


@dataclass(frozen=True)
class More:
    """What a file of our own may hold beyond plain data, each of it harmless whatever its arguments are.

    `makers` are called with the arguments that the file gives; of `classes` objects are made without a call, and their
    state is their attributes; `outside` gives what the file refers to by a number or a tuple.
    """

    makers: Mapping[tuple[str, str], Callable[..., Any]]
    classes: Mapping[tuple[str, str], type]
    outside: Callable[[Any], Any]


def load(
    source: Path | str | bytes,
    objects: bool = False,
    storages: Callable[[str], bytes | None] | None = None,
) -> Any:
    r"""The object in a pickle file (or in bytes): numpy arrays, numbers, strings and plain containers.

    With `objects` an array of objects in one row is a list of them; each must be one of these things itself. With
    `storages`, which gives the bytes of a member of torch's zip, tensors are read as arrays.

    >>> import pickle, numpy as np
    >>> load(pickle.dumps({"acc": np.eye(2)}))["acc"]
    array([[1., 0.],
           [0., 1.]])
    >>> load(b"cos\nsystem\n(S'echo hello'\ntR.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: Cannot read the pickle: it asks for os.system, ... Nothing of it was run. ...
    """
    data, what = (source, "the pickle") if isinstance(source, bytes) else (_read(Path(source)), str(source))
    try:
        return loads(data, objects, storages)
    except Refused as refusal:
        raise UsageError(
            f"Cannot read {what}: {refusal}. Save its arrays with numpy.savez, or as JSON, and read that."
        ) from None


def loads(
    data: bytes,
    objects: bool = False,
    storages: Callable[[str], bytes | None] | None = None,
    more: More | None = None,
) -> Any:
    """The object in the bytes of a pickle; Refused if it is more than data, or than `more` admits."""
    reader = _Reader(data, objects, storages, more)
    try:
        value = reader.load()
    except _BROKEN as error:
        raise Refused(f"it is no whole pickle ({type(error).__name__})") from None
    if reader.unbuilt:
        raise Refused("it holds an array without shape and data")
    _check_shape(value, tuple(more.classes.values()) if more else ())
    return value


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise UsageError(f"{path} is not a file.")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UsageError(
                f"{path} has {size:,} bytes; a pickle of scores has at most {MAX_BYTES:,}."
                " Save the score matrix alone and read that."
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None


class _Instructions(dict[int, Callable[[Any], None]]):
    """What each instruction does. Each look-up is one instruction, and there are not endlessly many."""

    left = MAX_INSTRUCTIONS

    def __getitem__(self, code: int) -> Callable[[Any], None]:
        self.left -= 1
        if self.left < 0:
            raise Refused(f"it has more than {MAX_INSTRUCTIONS:,} instructions")
        action = self.get(code)
        if action is None:
            raise Refused(f"it holds the pickle instruction {bytes([code])!r}, which plain data does not need")
        return action


_Python: Any = pickle._Unpickler  # whose methods the type checker does not know


class _Reader(_Python):  # type: ignore[misc]
    """Python's unpickler with the instructions of plain data, each of those that call or change something its own."""

    def __init__(
        self, data: bytes, objects: bool, storages: Callable[[str], bytes | None] | None, more: More | None
    ) -> None:
        super().__init__(io.BytesIO(data), encoding="latin1")
        self.dispatch = _Instructions(_TABLE)
        self.unbuilt: dict[int, Any] = {}
        self.budget = Budget()
        self._objects = objects
        self._storages = storages
        self._more = more or More({}, {}, _refuse_outside)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._more.makers:
            return Maker(self._more.makers[module, name])
        if (module, name) in self._more.classes:
            return Maker(self._more.classes[module, name], is_class=True)
        return admit(module, name, torch=self._storages is not None)

    def persistent_load(self, pid: Any) -> Any:
        return self._more.outside(pid) if self._storages is None else storage(pid, self._storages)

    def call(self) -> None:
        arguments, name = self.stack.pop(), self.stack.pop()
        if isinstance(name, Maker) and not name.is_class and isinstance(arguments, tuple):
            self.append(name.made(arguments))
            return
        if not isinstance(name, Name) or not isinstance(arguments, tuple):
            raise Refused("it calls something that is not a type of data")
        made, is_built = call(name.name, arguments, self.budget)
        self._push(made, is_built)

    def new(self) -> None:
        """What making an admitted type without calling it would give: only a sparse matrix is written so."""
        arguments, name = self.stack.pop(), self.stack.pop()
        if isinstance(name, Maker) and name.is_class and arguments == ():
            self._push(object.__new__(name.thing), is_built=False)
            return
        if not isinstance(name, Name) or name.name != "csr_matrix" or arguments != ():
            raise Refused("it makes an object that is not a sparse matrix")
        self._push({}, is_built=False)

    def _push(self, made: Any, is_built: bool) -> None:
        if not is_built:
            self.unbuilt[id(made)] = made
        self.append(made)

    def build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, Dtype):
            target.take_byte_order(state)
            return
        if self.unbuilt.pop(id(target), None) is None:
            raise Refused(_BROKEN_STATE)
        if type(target) in self._more.classes.values():
            if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
                raise Refused("it holds an object whose state is not its attributes")
            vars(target).update(state)
        elif isinstance(target, dict):
            if not isinstance(state, dict) or not {"indptr", "indices", "data"} <= set(state):
                raise Refused("it holds a sparse matrix without indptr, indices and data")
            target.update(state)
        elif self._objects and _is_row_of_objects(state):
            self._replace(target, state[-1])
        else:
            target.__setstate__(array_state(state, self.budget))

    def _replace(self, target: Any, made: list[Any]) -> None:
        self.stack[-1] = made
        self.memo.update({place: made for place, value in self.memo.items() if value is target})

    def set_many(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise Refused("it sets keys of something that is not a dictionary")
        target.update({self.key(name): value for name, value in zip(items[::2], items[1::2], strict=True)})

    def key(self, value: Any) -> Hashable:
        """A flat tuple may be a key in a file of our own."""
        if isinstance(value, tuple) and self._more.makers:
            return tuple(key(item) for item in value)
        return key(value)

    def set_one(self) -> None:
        value, name = self.stack.pop(), self.stack.pop()
        self.set_many([name, value])

    def new_dictionary(self) -> None:
        items = self.pop_mark()
        self.append({})
        self.set_many(items)

    def frozen_set(self) -> None:
        items = self.pop_mark()
        self.append(frozenset(map(key, items)))

    def extend(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list | deque):
            raise Refused("it appends to something that is not a list")
        self.stack[-1].extend(items)

    def add(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], set):
            raise Refused("it adds members to something that is not a set")
        self.stack[-1].update(map(key, items))


def _refuse_outside(pid: Any) -> Any:
    raise Refused("it refers to something outside the file")


def _is_row_of_objects(state: Any) -> bool:
    return isinstance(state, tuple) and len(state) == 5 and isinstance(state[4], list) and state[1] == (len(state[4]),)


# Instructions of Python's unpickler that build plain data, or move it about.
_PLAIN = """PROTO FRAME STOP MARK POP POP_MARK DUP PUT BINPUT LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET
    NONE NEWTRUE NEWFALSE INT LONG LONG1 LONG4 BININT BININT1 BININT2 FLOAT BINFLOAT
    STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8
    LIST TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST EMPTY_DICT EMPTY_TUPLE EMPTY_SET GLOBAL STACK_GLOBAL BINPERSID"""
_TABLE: dict[int, Callable[[Any], None]] = {
    **{code: _Python.dispatch[code] for code in (getattr(pickle, name)[0] for name in _PLAIN.split())},
    # Python's would make the array of the length that the file declares.
    pickle.BYTEARRAY8[0]: _Python.dispatch[pickle.BINBYTES8[0]],
    pickle.FROZENSET[0]: _Reader.frozen_set,
    pickle.DICT[0]: _Reader.new_dictionary,
    pickle.APPEND[0]: lambda reader: reader.extend([reader.stack.pop()]),
    pickle.APPENDS[0]: lambda reader: reader.extend(reader.pop_mark()),
    pickle.SETITEM[0]: _Reader.set_one,
    pickle.SETITEMS[0]: lambda reader: reader.set_many(reader.pop_mark()),
    pickle.ADDITEMS[0]: lambda reader: reader.add(reader.pop_mark()),
    pickle.REDUCE[0]: _Reader.call,
    pickle.NEWOBJ[0]: _Reader.new,
    pickle.BUILD[0]: _Reader.build,
}


def _check_shape(value: Any, classes: tuple[type, ...]) -> None:
    """Refuse what contains itself, is nested too deep, or holds a type where data belongs."""
    on_path: set[int] = set()
    done: set[int] = set()
    work: list[tuple[Any, bool]] = [(value, False)]
    while work:
        item, leaving = work.pop()
        if isinstance(item, Name | Dtype | Maker):
            raise Refused("it holds a type, not data")
        if type(item) in classes and hasattr(item, "__dict__"):
            item = vars(item)
        if not isinstance(item, list | tuple | dict | deque):
            continue
        if leaving:
            on_path.discard(id(item))
            done.add(id(item))
            continue
        if id(item) in on_path:
            raise Refused("it contains itself")
        if id(item) in done:
            continue
        on_path.add(id(item))
        if len(on_path) > MAX_DEPTH:
            raise Refused(f"it is nested more than {MAX_DEPTH} deep")
        work.append((item, True))
        work.extend((child, False) for child in (item.values() if isinstance(item, dict) else item))
