"""The attributes of somebody's object as bytes and back, for objects that have no `state` of their own.

The bytes are a pickle. `thaw` reads it with the one safe unpickler (`recollect.runs.safe_pickle`): arrays, plain
containers, numbers of torch, random generators, and the few objects that scikit-learn's incremental learners keep. None
of these runs anything that is in its state: each is made by a function below from values that it checks, or takes its
state as attributes. What needs more is refused when it is saved, or is signed: then Python's unpickler reads it, after
the signature was found to be the user's own.

The bytes are those of the values alone. Pickle writes an object that is met twice as a reference, and which equal
strings, dtypes or tuples are one object differs between a learner that was restored and one that was not; here such
values stand in a table, each once, and sets in a sorted order. So the two have the same bytes.
"""

from __future__ import annotations

import io
import math
import pickle
import random
import re
import sys
from ast import literal_eval
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.learners.base import Array
from recollect.runs import safe_pickle
from recollect.runs.pickle_values import Refused, RefusedName

# What incremental learners of scikit-learn keep beside arrays and numbers: objects whose state is their attributes,
_SKLEARN_OBJECTS = {
    "sklearn.neural_network._stochastic_optimizers": ("AdamOptimizer", "SGDOptimizer"),
    "sklearn.preprocessing._label": ("LabelBinarizer",),
}
# and losses in C that are made of a number or of nothing.
_SKLEARN_LOSSES = {
    "sklearn.linear_model._sgd_fast": (
        *("Hinge", "SquaredHinge", "ModifiedHuber", "EpsilonInsensitive", "SquaredEpsilonInsensitive"),
    ),
    "sklearn._loss._loss": ("CyHalfBinomialLoss", "CyHalfSquaredError", "CyHuberLoss"),
}
_SELF = -1
_FLAT = (int, str, bool, type(None))
_SORTABLE = (*_FLAT, float, bytes)
# Longer ones are never looked up by value: the data of arrays are bytes too.
_SHORT = 256


def freeze(thing: Any, is_signed: bool = False) -> bytes:
    """The attributes of an object, as bytes that `thaw` reads; UsageError, naming the type, if it could not.

    Two objects with equal attributes have equal bytes, whichever of them was thawed. `is_signed`: the bytes will be
    signed, so that `thaw` may look up whatever they name.
    """
    try:
        file = io.BytesIO()
        pickler = _Freeze(file, thing)
        pickler.dump(dict(sorted(vars(thing).items())))
        if pickler.has_views():
            raise _cannot(thing, "two of its arrays share their numbers, and would not after they were read")
        frozen = pickle.dumps((pickler.values, file.getvalue()), protocol=4)
        _load(frozen, thing, is_signed)
    except RefusedName as refused:
        raise _cannot(thing, f"it holds {refused.name}, which a checkpoint cannot bring back") from None
    except (pickle.PicklingError, *_BROKEN) as error:
        raise _cannot(thing, str(error)) from None
    return frozen


def thaw(frozen: bytes, thing: Any, is_signed: bool = False) -> dict[str, Any]:
    """The attributes in `frozen`: plain values, arrays, and what else this module makes.

    With `is_signed` anything is looked up and called: only for bytes whose signature was found to be the user's own.
    """
    name = type(thing).__name__
    try:
        return _load(frozen, thing, is_signed)
    except RefusedName as refused:
        raise UsageError(
            f"The checkpoint asks for {refused.name}, which is no part of the learner's state: {name} would never have"
            " saved it. It was made by another learner, or changed since. Remove the run's folder and run from the"
            " start."
        ) from None
    except (pickle.UnpicklingError, EOFError, LookupError, SyntaxError, *_BROKEN) as error:
        raise UsageError(
            f"The checkpoint of {name} cannot be read ({error}): it was made by another version of {name} or of a"
            " package that it uses, or is damaged. Remove the run's folder and run from the start."
        ) from None


_BROKEN = (TypeError, AttributeError, ValueError, RuntimeError, ImportError, MemoryError, Refused)


def _cannot(thing: Any, reason: str) -> UsageError:
    return UsageError(
        f"The state of {type(thing).__name__} cannot be saved ({reason}), so a run of it could not be resumed. Give it"
        " state() and restore(state), of plain containers, numbers and numpy arrays; or run it with checkpoints: off,"
        " and a run that is killed starts anew."
    )


class _Freeze(pickle.Pickler):
    """A pickler whose bytes do not depend on which equal values are one object."""

    def __init__(self, file: io.BytesIO, thing: Any) -> None:
        super().__init__(file, protocol=4)
        self._thing = thing
        self.values: list[str] = []
        self._places: dict[str, int] = {}
        self._sets: dict[int, tuple[int, Any]] = {}
        self._memory: list[tuple[int, int]] = []

    def persistent_id(self, obj: Any) -> Any:
        if obj is self._thing:
            return _SELF
        if type(obj) in (set, frozenset):
            return self._set(obj)
        key = _value(obj)
        if key is None:
            return None
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(key)
        return self._places[key]

    def _set(self, obj: Any) -> Any:
        if not all(type(item) in _SORTABLE for item in obj):
            return None
        if id(obj) in self._sets:
            return (self._sets[id(obj)][0],)
        self._sets[id(obj)] = (len(self._sets), obj)  # kept: an id is one object's while it lives
        return (len(self._sets) - 1, type(obj) is set, sorted(obj, key=lambda item: (type(item).__name__, repr(item))))

    def has_views(self) -> bool:
        """Whether an array lies in another one's memory: what is written to one is then seen in the other."""
        placed = sorted(self._memory)
        return any(low < end for (_, end), (low, _) in pairwise(placed))

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is np.ndarray and obj.size:
            self._memory.append(_extent(obj.ctypes.data, obj.shape, obj.strides, obj.itemsize))
        if kind is SimpleNamespace:
            return namespace, (dict(sorted(vars(obj).items())),)
        if kind is random.Random:
            return python_random, (obj.getstate(),)
        if kind is np.random.RandomState:
            return random_state, (obj.get_state(legacy=False),)
        if kind is np.random.Generator and isinstance(obj.bit_generator.seed_seq, np.random.SeedSequence):
            return numpy_generator, (obj.bit_generator.state, obj.bit_generator.seed_seq.state)
        torch = sys.modules.get("torch")
        if torch is None:
            return NotImplemented
        if type(obj) in (torch.Tensor, torch.nn.Parameter) and obj.layout is torch.strided and not obj.is_quantized:
            flat = obj.detach().cpu().contiguous().reshape(-1)
            raw = flat.view(torch.uint8).numpy().tobytes() if obj.numel() else b""
            shape = tuple(obj.shape)
            if raw:
                steps = [step * obj.itemsize for step in obj.stride()]
                self._memory.append(_extent(obj.data_ptr(), shape, steps, obj.itemsize))
            about = str(obj.dtype).removeprefix("torch."), shape, _own_stride(shape, obj.stride()), str(obj.device)
            return tensor, (raw, *about, obj.requires_grad, type(obj) is torch.nn.Parameter)
        if isinstance(obj, torch.Generator):
            return generator, (obj.get_state().numpy(), str(obj.device))
        return NotImplemented


def _extent(start: int, shape: Sequence[int], steps: Sequence[int], size: int) -> tuple[int, int]:
    """From where to where in memory an array lies."""
    spans = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    return start + sum(min(span, 0) for span in spans), start + sum(max(span, 0) for span in spans) + size


def _value(obj: Any) -> str | None:
    """A text for a value that is the same wherever it is met, its kind the first letter; None for anything else."""
    kind = type(obj)
    if kind is str:
        return f"s{obj}"
    if kind is bytes and len(obj) <= _SHORT:
        return f"b{obj.decode('latin-1')}"
    if kind is tuple and obj and all(type(item) in _FLAT for item in obj):
        return f"t{obj!r}"
    if isinstance(obj, np.dtype) and obj.fields is None and obj.subdtype is None and obj.kind in "biufcmMSUO":
        return f"d{obj.str}" if obj.metadata is None else None
    torch = sys.modules.get("torch")
    if torch is not None and kind in (torch.dtype, torch.memory_format, torch.layout):
        return f"o{str(obj).removeprefix('torch.')}"
    return None


_READ: dict[str, Callable[[str], Any]] = {
    "s": str,
    "b": lambda text: text.encode("latin-1"),
    "t": literal_eval,
    "d": lambda text: _dtype(text),
    "o": lambda text: _of_torch(text),
}


def _load(frozen: bytes, thing: Any, is_signed: bool = False) -> dict[str, Any]:
    plain = safe_pickle.loads(frozen)
    if not (
        isinstance(plain, tuple) and len(plain) == 2 and isinstance(plain[0], list) and isinstance(plain[1], bytes)
    ):
        raise ValueError("it is no state of an object")
    outside = _Outside(thing, [_READ[text[0]](text[1:]) for text in plain[0]])
    if is_signed:
        attributes: Any = _ThawAll(plain[1], outside).load()
    else:
        attributes = safe_pickle.loads(plain[1], more=safe_pickle.More(_makers(), _classes(), outside))
    if not isinstance(attributes, dict):
        raise ValueError("it is no state of an object")
    return attributes


class _Outside:
    """What stands outside the pickle: the object itself, values of the table by their places, sets by their numbers."""

    def __init__(self, thing: Any, values: list[Any]) -> None:
        self._thing = thing
        self._values = values
        self._sets: dict[int, Any] = {}

    def __call__(self, pid: Any) -> Any:
        if isinstance(pid, int):
            return self._thing if pid == _SELF else self._values[pid]
        number, *content = pid
        if content:
            is_set, items = content
            if not all(type(item) in _SORTABLE for item in items):
                raise ValueError("a set holds what is no plain value")
            self._sets[number] = set(items) if is_set else frozenset(items)
        return self._sets[number]


class _ThawAll(pickle.Unpickler):
    """An unpickler of what the user's own runs have signed: it looks up and calls anything."""

    def __init__(self, frozen: bytes, outside: _Outside) -> None:
        super().__init__(io.BytesIO(frozen))
        self.persistent_load = outside  # type: ignore[method-assign]


def _makers() -> dict[tuple[str, str], Callable[..., Any]]:
    """What may be called by its name, whatever the arguments are."""
    made: dict[tuple[str, str], Callable[..., Any]] = {
        ("builtins", "complex"): complex,
        ("builtins", "bytearray"): _byte_array,
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "defaultdict"): defaultdict,
        ("collections", "deque"): deque,
        ("collections", "Counter"): Counter,
        **{("datetime", kind.__name__): kind for kind in (date, datetime, time, timedelta, timezone)},
        **{(__name__, own.__name__): own for own in (tensor, generator, namespace, python_random, random_state)},
        (__name__, "numpy_generator"): numpy_generator,
    }
    if torch := sys.modules.get("torch"):
        made |= {("torch", "Size"): torch.Size, ("torch", "device"): torch.device}
    losses = _of_loaded(_SKLEARN_LOSSES)
    return made | {name: (lambda *given, kind=kind: kind(*map(float, given))) for name, kind in losses.items()}


def _classes() -> dict[tuple[str, str], type]:
    """Types that an object is made of without a call, and those that a defaultdict may name."""
    plain = (int, float, bool, str, bytes, list, tuple, dict, set)
    return {("builtins", kind.__name__): kind for kind in plain} | _of_loaded(_SKLEARN_OBJECTS)


def _of_loaded(names: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, str], type]:
    """The types of these names in modules that are loaded: a checkpoint imports nothing."""
    found = ((m, n, getattr(sys.modules.get(m), n, None)) for m, group in names.items() for n in group)
    return {(module, name): kind for module, name, kind in found if isinstance(kind, type)}


def tensor(
    raw: bytes,
    dtype: str,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    device: str,
    requires_grad: bool,
    is_parameter: bool,
) -> Any:
    """A torch tensor or parameter of these bytes, in the memory layout that it had."""
    import torch

    kind = _of_torch(dtype)
    count = math.prod(shape) * kind.itemsize
    if min((*shape, 0)) < 0 or count != len(raw) or _own_stride(shape, stride) != stride:
        raise ValueError("a tensor is not what it declares")
    made = torch.empty_strided(shape, stride, dtype=kind, device=device)
    if raw:
        made.copy_(torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(made.dtype).reshape(shape))
    if is_parameter:
        return torch.nn.Parameter(made, requires_grad=requires_grad)
    return made.requires_grad_(requires_grad)


def generator(state: Array, device: str) -> Any:
    """A torch generator that goes on from this state."""
    import torch

    made = torch.Generator(device)
    made.set_state(torch.from_numpy(np.array(state)))
    return made


def namespace(attributes: dict[str, Any]) -> SimpleNamespace:
    """A namespace with these attributes."""
    return SimpleNamespace(**attributes)


def _byte_array(data: bytes = b"") -> bytearray:
    """Bytes that may be changed; a number is not taken for their length."""
    if not isinstance(data, bytes):
        raise TypeError("bytes were expected")
    return bytearray(data)


def python_random(state: Any) -> random.Random:
    """A generator of Python's that goes on from this state."""
    made = random.Random()
    made.setstate(state)
    return made


def random_state(state: dict[str, Any]) -> np.random.RandomState:
    """A RandomState of numpy's that goes on from this state."""
    made = np.random.RandomState(_bit_generator(state, None))
    made.set_state(state)
    return made


def numpy_generator(state: dict[str, Any], seed: dict[str, Any]) -> np.random.Generator:
    """A generator of numpy's that goes on from this state, and spawns what it would have spawned."""
    return np.random.Generator(_bit_generator(state, np.random.SeedSequence(**seed)))


def _bit_generator(state: dict[str, Any], seed: np.random.SeedSequence | None) -> Any:
    name = state["bit_generator"]
    if name not in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
        raise ValueError("an unknown random generator")
    made = getattr(np.random, name)(0 if seed is None else seed)
    made.state = {key: value for key, value in state.items() if key not in ("has_gauss", "gauss")}
    return made


def _own_stride(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """The order of the axes in memory, without the gaps and overlaps of a view of something larger.

    >>> _own_stride((2, 3, 4), (24, 1, 6))
    (12, 1, 3)
    """
    own, step = [0] * len(shape), 1
    for axis in sorted(range(len(shape)), key=lambda axis: (stride[axis], shape[axis], -axis)):
        own[axis] = step
        step *= max(1, shape[axis])
    return tuple(own)


def _dtype(text: str) -> Any:
    if not re.fullmatch(r"[<>|=][biufcmMSUO][0-9]{1,6}(\[\w+\])?|\|O", text):
        raise ValueError("a dtype that is none")
    return np.dtype(text)


def _of_torch(name: str) -> Any:
    import torch

    found = getattr(torch, name)
    if not isinstance(found, (torch.dtype, torch.memory_format, torch.layout)):
        raise RefusedName(f"torch.{name}")
    return found
