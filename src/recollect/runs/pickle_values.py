"""What a pickle may hold, made by our own code: arrays, numbers, bytes, dictionaries, sets and sparse matrices.

A name in the file is compared with a short list and never imported; what a call of it would give is built
here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

# Arrays are views of the file's bytes; only strings of Python 2 are copied, and that is bounded.
MAX_COPIED = 2**30

_PLAIN_DTYPE = re.compile(r"[<>=|]?(b1|[iu][1248]|f[248]|f16|[SU]\d{1,6})")
_CONTAINERS = {"OrderedDict", "defaultdict"}
_BUILTINS = {
    "set",
    "frozenset",
    "list",
    "tuple",
    "dict",
    "bytearray",
    "bytes",
    "int",
    "float",
    "str",
    "complex",
}
_ARRAY_MAKERS = {"_reconstruct", "scalar", "_frombuffer"}
# The modules in which scipy has kept its matrix of rows.
_SPARSE = ("scipy.sparse.csr", "scipy.sparse._csr", "scipy.sparse")

_STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "|i1",
    "ByteStorage": "|u1",
    "BoolStorage": "|b1",
}


class Refused(Exception):
    """What is wrong with the pickle, in words; `safe_pickle.load` turns it into a UsageError."""


class RefusedName(Refused):
    """A name that the file asks for and does not get."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"it asks for {name}, which is neither a numpy array nor a plain container. Nothing of it was run"
        )
        self.name = name


class Name:
    """A module.name of the file, admitted but not imported."""

    def __init__(self, name: str) -> None:
        self.name = name


class Maker:
    """Something that a file of our own may call, or make an object of."""

    def __init__(self, thing: Callable[..., Any], is_class: bool = False) -> None:
        self.thing: Any = thing
        self.is_class = is_class

    def made(self, arguments: tuple[Any, ...]) -> Any:
        """What it gives; a type among the arguments (of a defaultdict) stands for itself."""
        given = [one.thing if isinstance(one, Maker) and isinstance(one.thing, type) else one for one in arguments]
        try:
            return self.thing(*given)
        except (ArithmeticError, RuntimeError, MemoryError) as error:
            raise Refused(f"it cannot be made again ({error})") from None


class Dtype:
    """A numpy dtype: the letter and size that were asked for, then the byte order that came as its state."""

    def __init__(self, text: str) -> None:
        self.text = text

    def take_byte_order(self, state: Any) -> None:
        """Of the dtype's state: (version, order, subdtype, names, fields, ...)."""
        if not (isinstance(state, tuple) and len(state) >= 5 and isinstance(state[1], str) and state[1] in "<>=|"):
            raise Refused("it holds a dtype without a byte order")
        if any(part is not None for part in state[2:5]):
            raise Refused("it holds a structured array; only arrays of numbers are read")
        self.text = state[1] + self.text.lstrip("<>=|")

    @property
    def kind(self) -> np.dtype[Any]:
        """The one of numpy, if it is one of numbers or of short strings."""
        if not _PLAIN_DTYPE.fullmatch(self.text):
            raise Refused(
                f"it holds an array of dtype {short(self.text)}; only numbers and fixed-length strings are read"
            )
        try:
            kind = np.dtype(self.text)
        except TypeError:
            raise Refused(f"it holds an array of dtype {short(self.text)}, unknown here") from None
        if kind.itemsize == 0:
            raise Refused("it holds an array of empty strings")
        return kind


class Budget:
    """How many bytes may still be copied: a shared string must not unfold without end."""

    def __init__(self) -> None:
        self.left = MAX_COPIED

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise Refused("it unfolds to more than a gigabyte")


def admit(module: str, name: str, torch: bool = False) -> Name:
    """The short list. Nothing is imported: a `Name` is only ever compared."""
    in_core = module.startswith(("numpy.core.", "numpy._core.")) and module.endswith((".multiarray", ".numeric"))
    if (
        (module == "collections" and name in _CONTAINERS)
        or (module in ("builtins", "__builtin__") and name in _BUILTINS)
        or (module == "numpy" and name in ("ndarray", "dtype"))
        or (in_core and name in _ARRAY_MAKERS)
        or (module in _SPARSE and name == "csr_matrix")
        or (module, name) == ("_codecs", "encode")
        or (torch and (module, name) == ("torch._utils", "_rebuild_tensor_v2"))
        or (torch and module == "torch" and name in _STORAGES)
    ):
        return Name(name)
    raise RefusedName(f"{short(module)}.{short(name)}")


def key(value: Any) -> Hashable:
    """A dictionary key or set member. Nothing nested: hashing a deep tuple would overflow the C stack."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bytes | bool | int | float):
        return value
    raise Refused("it has a dictionary key (or a member of a set) that is not a string or a number")


def array_state(state: Any, budget: Budget) -> tuple[Any, ...]:
    """The state of an array, (version, shape, dtype, is_fortran, data), if its bytes are just what it declares."""
    if not (isinstance(state, tuple) and len(state) in (4, 5)):
        raise Refused("it holds an array without shape and data")
    shape, dtype, fortran, data = state[-4:]
    raw = _bytes_of(data, budget)
    made = view(raw, dtype, shape, bool(fortran), budget)
    return 1, shape, made.dtype, bool(fortran), raw


def view(data: Any, dtype: Any, shape: Any, fortran: bool, budget: Budget) -> Any:
    """An array over the given bytes, if they are just what dtype and shape need."""
    if isinstance(dtype, np.dtype):
        dtype = Dtype(dtype.str)
    if not isinstance(dtype, Dtype):
        raise Refused("it holds an array without a dtype")
    kind, data = dtype.kind, _bytes_of(data, budget)
    if not isinstance(shape, tuple) or len(shape) > 8 or not all(_is_length(n) for n in shape):
        raise Refused("it holds an array whose shape is not a few whole numbers")
    if math.prod(shape) * kind.itemsize != len(data):
        raise Refused(f"it declares an array of {math.prod(shape):,} numbers and holds {len(data):,} bytes for it")
    if not is_text(data, kind):
        raise Refused("it holds an array of strings with broken characters")
    try:
        return np.frombuffer(data, dtype=kind).reshape(shape, order="F" if fortran else "C")
    except ValueError:
        raise Refused("it holds an array whose shape does not fit its data") from None


def _bytes_of(data: Any, budget: Budget) -> bytes:
    """The data of an array; Python 2 kept raw bytes in its strings, and latin-1 gives them back one for one."""
    if isinstance(data, str):
        return _encoded(data, budget)
    if not isinstance(data, bytes):
        raise Refused("it holds an array of objects; only arrays of numbers are read")
    return data


def is_text(data: bytes | memoryview, kind: np.dtype[Any]) -> bool:
    """Whether the bytes of a unicode array are characters: numpy makes broken strings of any others."""
    if kind.kind != "U" or not len(data):
        return True
    return bool(np.frombuffer(data, dtype=np.dtype("u4").newbyteorder(kind.byteorder)).max() <= 0x10FFFF)


def _is_length(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**40


def _encoded(text: str, budget: Budget) -> bytes:
    budget.spend(len(text))
    try:
        return text.encode("latin-1")
    except UnicodeError:
        raise Refused("it holds text where bytes belong") from None


def call(name: str, arguments: tuple[Any, ...], budget: Budget) -> tuple[Any, bool]:
    """What calling an admitted name would give, built here; False if it is an array whose data are still to come."""
    if name not in _CALLS:
        raise Refused(f"it calls {name}, which plain data does not need")
    return _CALLS[name](arguments, name, budget), name != "_reconstruct"


def _dtype(arguments: tuple[Any, ...], name: str, budget: Budget) -> Dtype:
    if not arguments or not isinstance(arguments[0], str):
        raise Refused("it holds a dtype that is not named by a string")
    return Dtype(arguments[0])


def _empty(arguments: tuple[Any, ...], name: str, budget: Budget) -> Any:
    first = arguments[0] if arguments else None
    if not (isinstance(first, Name) and first.name == "ndarray"):
        raise Refused("it reconstructs something that is not a plain numpy array")
    return np.empty(0)


def _scalar(arguments: tuple[Any, ...], name: str, budget: Budget) -> Any:
    if len(arguments) != 2:
        raise Refused("it holds a numpy number without a value")
    return view(arguments[1], arguments[0], (1,), False, budget)[0]


def _from_buffer(arguments: tuple[Any, ...], name: str, budget: Budget) -> Any:
    if len(arguments) != 4:
        raise Refused("it holds an array without shape and data")
    data, dtype, shape, order = arguments
    return view(data, dtype, shape, isinstance(order, str) and order == "F", budget)


def _dictionary(arguments: tuple[Any, ...], name: str, budget: Budget) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for pairs in arguments[1:] if name == "defaultdict" else arguments:
        if isinstance(pairs, dict):
            made.update(pairs)
            continue
        if not isinstance(pairs, list | tuple):
            raise Refused("it makes a dictionary of something else")
        for pair in pairs:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise Refused("it makes a dictionary of something else")
            made[key(pair[0])] = pair[1]
    return made


def _set(arguments: tuple[Any, ...], name: str, budget: Budget) -> Any:
    if len(arguments) > 1 or not all(isinstance(a, list | tuple | set | frozenset) for a in arguments):
        raise Refused("it makes a set of something else")
    members = {key(item) for part in arguments for item in part}
    return frozenset(members) if name == "frozenset" else members


def _bytes(arguments: tuple[Any, ...], name: str, budget: Budget) -> bytes:
    """`bytes`, `bytearray` or `_codecs.encode(text, 'latin1')`: how bytes are written for older Pythons."""
    if not arguments:
        return b""
    text = arguments[0]
    if isinstance(text, bytes) and len(arguments) == 1:
        return text
    if isinstance(text, str) and name != "bytes" and arguments[1:] in ((), ("latin1",), ("latin-1",)):
        return _encoded(text, budget)
    raise Refused("it makes bytes of something else")


def storage(pid: Any, members: Callable[[str], bytes | None]) -> Any:
    """The numbers of a tensor's storage, which torch keeps beside the pickle: ("storage", type, key, device, count)."""
    if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage" or not isinstance(pid[1], Name):
        raise Refused("it refers to something outside the file")
    kind, place = _STORAGES.get(pid[1].name), pid[2]
    data = members(place) if isinstance(place, str) and place.isdigit() else None
    if kind is None or data is None or len(data) % np.dtype(kind).itemsize:
        raise Refused("it refers to numbers of a tensor that are not there")
    return np.frombuffer(data, kind)


def _tensor(arguments: tuple[Any, ...], name: str, budget: Budget) -> Any:
    """A tensor as an array: (storage, offset, size, stride, requires_grad, hooks)."""
    numbers, offset, shape, stride = arguments[:4] if len(arguments) >= 4 else (None,) * 4
    if not isinstance(numbers, np.ndarray) or not isinstance(shape, tuple) or not isinstance(stride, tuple):
        raise Refused("it holds a tensor without numbers")
    lengths = (offset, *shape, *stride)
    if len(shape) != len(stride) or len(shape) > 8 or not all(_is_length(n) for n in lengths):
        raise Refused("it holds a tensor whose shape is not a few whole numbers")
    last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if 0 in shape:
        return np.empty(shape, numbers.dtype)
    if last >= len(numbers) or math.prod(shape) > len(numbers):
        raise Refused("it declares a tensor larger than its numbers")
    steps = [step * numbers.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(numbers[offset:], shape, steps).copy()


_CALLS: dict[str, Callable[[tuple[Any, ...], str, Budget], Any]] = {
    "dtype": _dtype,
    "_reconstruct": _empty,
    "scalar": _scalar,
    "_frombuffer": _from_buffer,
    "OrderedDict": _dictionary,
    "defaultdict": _dictionary,
    "dict": _dictionary,
    "set": _set,
    "frozenset": _set,
    "bytes": _bytes,
    "bytearray": _bytes,
    "encode": _bytes,
    "_rebuild_tensor_v2": _tensor,
}


def short(text: str | bytes) -> str:
    """A piece of the file, fit for a message."""
    shown = text if isinstance(text, str) else text.decode("latin-1")
    shown = "".join(c if c.isprintable() else "?" for c in shown[:80])
    return shown if len(shown) <= 60 else shown[:57] + "..."
