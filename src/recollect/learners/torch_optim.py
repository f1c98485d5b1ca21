"""Any optimiser of torch.optim, and any of its learning-rate schedules, by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import lr_scheduler

from recollect.errors import UsageError
from recollect.learners.base import State
from recollect.learners.devices import to_array
from recollect.learners.optimisers import Optimiser
from recollect.nearest import nearest
from recollect.options import number_in

# These ask for more than gradients: a function of the loss, sparse gradients, a measured score, other schedules.
_NOT_OPTIMISERS = ("Optimizer", "LBFGS", "SparseAdam")
_NOT_SCHEDULES = (
    "LRScheduler",
    "ReduceLROnPlateau",
    "LambdaLR",
    "MultiplicativeLR",
    "SequentialLR",
    "ChainedScheduler",
)


class TorchOptimiser(Optimiser):
    """One of torch.optim's, with a schedule that goes on after every step.

    >>> line = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.ones_(line.weight)
    >>> TorchOptimiser(line, {"name": "SGD", "lr": 0.5}).step(3 * line.weight.sum())
    >>> line.weight.item()
    -0.5
    """

    def __init__(
        self,
        network: nn.Module,
        asked: Mapping[str, Any],
        schedule: Mapping[str, Any] | None = None,
        given: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(network, 0.0, 0.0)
        takes = _takes(_found("optimiser", asked["name"], _optimisers()))
        # What the learner's own options say; 0 is not said, for some optimisers have another default.
        self._asked = {**{key: value for key, value in (given or {}).items() if key in takes and value}, **asked}
        self._schedule_asked = schedule
        self.forget()

    def forget(self) -> None:
        """Be as new."""
        self.steps = 0
        self._inner: torch.optim.Optimizer = _made("optimiser", self._asked, _optimisers(), self.parameters)
        self._schedule = None
        if self._schedule_asked is not None:
            self._schedule = _made("scheduler", self._schedule_asked, _schedules(), self._inner)
        self.lr = float(self._inner.param_groups[0]["lr"])

    def apply(self, gradients: Sequence[Tensor | None]) -> None:
        """One step along these gradients; a parameter without one stays."""
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient
        self._inner.step()
        self._inner.zero_grad(set_to_none=True)
        self.steps += 1
        if self._schedule is not None:
            try:
                self._schedule.step()
            except ValueError as error:
                raise UsageError(f"The scheduler stops after {self.steps} steps: {error}") from None
        self.lr = float(self._inner.param_groups[0]["lr"])

    def state(self) -> State:
        """What optimiser and schedule remember."""
        schedule = None if self._schedule is None else _plain(self._schedule.state_dict())
        return {"steps": self.steps, "inner": _plain(self._inner.state_dict()), "schedule": schedule}

    def restore(self, state: State) -> None:
        """Become the optimiser whose state this is."""
        self.forget()
        self.steps = int(state["steps"])
        if self._schedule is not None:
            self._schedule.load_state_dict(_tensors(state["schedule"]))
        self._inner.load_state_dict(_tensors(state["inner"]))
        self.lr = float(self._inner.param_groups[0]["lr"])


def _optimisers() -> dict[str, type]:
    known = {name: one for name, one in vars(torch.optim).items() if inspect.isclass(one)}
    return {n: o for n, o in known.items() if issubclass(o, torch.optim.Optimizer) and n not in _NOT_OPTIMISERS}


def _schedules() -> dict[str, type]:
    known = {name: one for name, one in vars(lr_scheduler).items() if inspect.isclass(one) and not name.startswith("_")}
    return {n: o for n, o in known.items() if issubclass(o, lr_scheduler.LRScheduler) and n not in _NOT_SCHEDULES}


def _found(what: str, name: str, known: Mapping[str, type]) -> type:
    by_lower = {one.lower(): one for one in known}
    if name.lower() not in by_lower:
        raise UsageError(
            f"There is no {what} {name!r} here; the nearest is {nearest(name, known)!r}. There are, of torch:"
            f" {', '.join(sorted(known))}."
        )
    return known[by_lower[name.lower()]]


def _takes(made: type) -> list[str]:
    return [one for one in inspect.signature(made).parameters if one not in ("params", "optimizer")]


def _made(what: str, asked: Mapping[str, Any], known: Mapping[str, type], first: Any) -> Any:
    """The thing of this name, with its options; what is wrong with them is said as torch says it."""
    name = asked["name"]
    made = _found(what, name, known)
    given = {key: _number(value) for key, value in asked.items() if key != "name"}
    takes = _takes(made)
    stray = next((key for key in given if key not in takes), None)
    if stray is not None:
        near = nearest(stray, takes)
        raise UsageError(
            f"The {what} {name} takes no {stray!r}; the nearest is {near!r}. It takes: {', '.join(takes)}."
        )
    try:
        return made(first, **given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"The {what} {name} cannot be made with {given}: {error}.") from None


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [_number(one) for one in value]
    return number_in(value) if isinstance(value, str) and value[:1] in "+-.0123456789" else value


def _plain(value: Any) -> Any:
    """Tensors as arrays, through containers; what belongs to the class and not to its state is left out."""
    if isinstance(value, Tensor):
        return to_array(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if not callable(item)}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value))
    if isinstance(value, Mapping):
        return {key: _tensors(item) for key, item in value.items()}
    return [_tensors(item) for item in value] if isinstance(value, list) else value
