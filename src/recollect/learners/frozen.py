"""The attributes of somebody's object as bytes and back, for objects that have no `state` of their own.

A pickle is a program, so `thaw` looks up types of a short list and no function but those that rebuild numpy's and
torch's values. What it would refuse, `freeze` refuses first: no checkpoint is written that cannot be read.

The bytes are those of the values alone. Pickle writes an object that is met twice as a reference, and which equal
strings, dtypes or tuples are one object differs between a learner that was restored and one that was not; here such
values stand in a table, each once, and sets in a sorted order. So the two have the same bytes.
"""

from __future__ import annotations

import io
import pickle
import sys
from ast import literal_eval
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.learners.base import Array

_TRUSTED = ("numpy", "scipy", "sklearn")
# Parts of them whose types open files, fetch or call things.
_NOT_VALUES = ("numpy.lib", "numpy.testing", "numpy.f2py", "scipy.io", "sklearn.datasets", "sklearn.externals")
_PLAIN = {
    "builtins": (
        *("set", "frozenset", "bytearray", "complex", "range", "slice", "object"),
        *("int", "float", "bool", "str", "bytes", "list", "tuple", "dict"),  # a defaultdict names them
    ),
    "collections": ("OrderedDict", "defaultdict", "deque", "Counter"),
    "copyreg": ("_reconstructor",),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "random": ("Random",),
    "types": ("SimpleNamespace",),
    __name__: ("tensor", "generator"),
}
# Functions by which numpy rebuilds its arrays, numbers and generators.
_MAKERS = frozenset(
    (
        "_reconstruct",
        "_frombuffer",
        "scalar",
        "__randomstate_ctor",
        "__bit_generator_ctor",
        "__generator_ctor",
    )
)
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
        frozen = pickle.dumps((pickler.values, file.getvalue()), protocol=4)
        _load(frozen, thing, is_signed)
    except _Refused as refused:
        raise _cannot(thing, f"it holds {refused}, which a checkpoint cannot bring back") from None
    except (pickle.PicklingError, *_BROKEN) as error:
        raise _cannot(thing, str(error)) from None
    return frozen


def thaw(frozen: bytes, thing: Any, is_signed: bool = False) -> dict[str, Any]:
    """The attributes in `frozen`: values of Python, numpy, scipy, scikit-learn, torch and the object's own package.

    With `is_signed` anything is looked up and called: only for bytes whose signature was found to be the user's own.
    """
    name = type(thing).__name__
    try:
        return _load(frozen, thing, is_signed)
    except _Refused as refused:
        raise UsageError(
            f"The checkpoint asks for {refused}, which is no part of the learner's state: {name} would never have"
            " saved it. It was made by another learner, or changed since. Remove the run's folder and run from the"
            " start."
        ) from None
    except (pickle.UnpicklingError, EOFError, LookupError, SyntaxError, *_BROKEN) as error:
        raise UsageError(
            f"The checkpoint of {name} cannot be read ({error}): it was made by another version of {name} or of a"
            " package that it uses, or is damaged. Remove the run's folder and run from the start."
        ) from None


_BROKEN = (TypeError, AttributeError, ValueError, RuntimeError, ImportError)


class _Refused(Exception):
    """A name that is looked up by no checkpoint of ours."""


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

    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None:
            return NotImplemented
        if type(obj) in (torch.Tensor, torch.nn.Parameter) and obj.layout is torch.strided and not obj.is_quantized:
            raw = obj.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy() if obj.numel() else None
            shape = tuple(obj.shape)
            kind = str(obj.dtype).removeprefix("torch."), shape, _own_stride(shape, obj.stride()), str(obj.device)
            return tensor, (raw, *kind, obj.requires_grad, type(obj) is torch.nn.Parameter)
        if isinstance(obj, torch.Generator):
            return generator, (obj.get_state().numpy(), str(obj.device))
        return NotImplemented


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
    "d": np.dtype,
    "o": lambda text: _of_torch(text),
}


def _load(frozen: bytes, thing: Any, is_signed: bool = False) -> dict[str, Any]:
    values, body = _Thaw(frozen, thing, []).load()
    reader = _ThawAll if is_signed else _Thaw
    attributes: dict[str, Any] = reader(body, thing, [_READ[text[0]](text[1:]) for text in values]).load()
    return attributes


class _Thaw(pickle.Unpickler):
    """An unpickler that looks up types of values and of a learner's packages, and no function but their makers."""

    def __init__(self, frozen: bytes, thing: Any, values: list[Any]) -> None:
        super().__init__(io.BytesIO(frozen))
        self._thing = thing
        self._package = type(thing).__module__.split(".")[0]
        self._values = values
        self._sets: dict[int, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        if isinstance(pid, int):
            return self._thing if pid == _SELF else self._values[pid]
        number, *content = pid
        if content:
            is_set, items = content
            self._sets[number] = set(items) if is_set else frozenset(items)
        return self._sets[number]

    def find_class(self, module: str, name: str) -> Any:
        package = module.split(".")[0]
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        if package in (*_TRUSTED, "torch", self._package):
            found = super().find_class(module, name)
            if isinstance(found, type) and self._admits(found):
                return found
            if _is_maker(package, name):
                return found
        raise _Refused(f"{module}.{name}")

    def _admits(self, found: type) -> bool:
        """Judged by where a type is defined: a module has the types that it imported, too."""
        home = found.__module__
        package = home.split(".")[0]
        if package == "torch":
            return _is_torchs_value(found)
        if package == self._package:
            return True
        if package not in _TRUSTED or home.startswith(_NOT_VALUES) or found is np.memmap:
            return False
        if package == "scipy":  # scipy's distributions write code from their state and run it
            return home.startswith("scipy.sparse")
        return package == "numpy" or _sets_state_as_plain(found)


class _ThawAll(_Thaw):
    """An unpickler of what the user's own runs have signed."""

    def find_class(self, module: str, name: str) -> Any:
        return pickle.Unpickler.find_class(self, module, name)


def _sets_state_as_plain(found: type) -> bool:
    """Whether an object of scikit-learn takes its state as attributes: an estimator, or no Python code of its own."""
    base = getattr(sys.modules.get("sklearn.base"), "BaseEstimator", None)
    own = getattr(found, "__setstate__", None)
    return not isinstance(own, FunctionType) or (base is not None and own is base.__setstate__)


def _is_maker(package: str, name: str) -> bool:
    by_cython = package in _TRUSTED and name.startswith("__pyx_unpickle_") and "." not in name
    return by_cython or (package == "numpy" and name in _MAKERS)


def _is_torchs_value(found: type) -> bool:
    """Layers, optimisers and their schedules; of the rest what describes a tensor."""
    import torch

    if found in (torch.Size, torch.device) or issubclass(found, torch.nn.Module):
        return True
    optim = sys.modules.get("torch.optim")
    return optim is not None and issubclass(found, (optim.Optimizer, optim.lr_scheduler.LRScheduler))


def tensor(
    raw: Array | None,
    dtype: str,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    device: str,
    requires_grad: bool,
    is_parameter: bool,
) -> Any:
    """A torch tensor or parameter of these bytes, in the memory layout that it had."""
    import torch

    made = torch.empty_strided(shape, stride, dtype=_of_torch(dtype), device=device)
    if raw is not None:
        made.copy_(torch.from_numpy(np.array(raw)).view(made.dtype).reshape(shape))
    if is_parameter:
        return torch.nn.Parameter(made, requires_grad=requires_grad)
    return made.requires_grad_(requires_grad)


def generator(state: Array, device: str) -> Any:
    """A torch generator that goes on from this state."""
    import torch

    made = torch.Generator(device)
    made.set_state(torch.from_numpy(np.array(state)))
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


def _of_torch(name: str) -> Any:
    import torch

    found = getattr(torch, name)
    if not isinstance(found, (torch.dtype, torch.memory_format, torch.layout)):
        raise _Refused(f"torch.{name}")
    return found
