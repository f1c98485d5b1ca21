"""Retraining on drift: a monitor watches the scores of samples before they are learned, and says when they change."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import MissingExtra, UsageError
from recollect.learners.base import Array, Setting, State
from recollect.learners.detection import options as available
from recollect.learners.detection.strategies import Naive
from recollect.learners.keeping import bring_back, keep
from recollect.nearest import nearest
from recollect.paths import import_path
from recollect.runs.seeds import Seeds

if TYPE_CHECKING:
    from recollect.streams import Batch


class DriftDetector(Naive):
    """One detector, fitted at the start and after every drift on the samples since; between drifts it stays, or is
    updated if it can be.

    The monitor is given the score of each sample before it is learned, as deviations from the mean of the first scores
    after a fit. After a signal the detector is fitted on the samples since, after each unit until it has `recent`.
    """

    options: available.DriftDetection

    def __init__(self, options: available.DriftDetection, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.signals: tuple[int, ...] = ()
        self._monitor = make_monitor(options.monitor, seeds.learner)
        self._since = np.empty((0, setting.n_features))
        self._first: list[float] = []
        self._scale: tuple[float, float] | None = None
        self._step = 0

    def learn(self, batch: Batch) -> None:
        """Collect the batch, or take it as a unit where no boundaries are told."""
        if not self._collected and not batch.repeat:
            self._step = batch.samples_seen - len(batch.x)
        super().learn(batch)

    def _unit(self, rows: Array, concept: int | None) -> None:
        place = self._drift_in(rows)
        is_new = place is not None or not len(self._since)
        if is_new:
            self._since = rows[place or 0 :]
        elif len(self._since) < self.options.recent:
            self._since = np.concatenate([self._since, rows])
        elif not self.lazy.detector.can_update:
            return
        if self.lazy.detector.can_update and not is_new:
            self.lazy.take(rows)
            return
        self.lazy.begin(self._since)
        self._first, self._scale = [], None

    def _drift_in(self, rows: Array) -> int | None:
        """The place of the first sample at which the monitor signals a drift; None where it does not."""
        if not len(self._since):
            return None
        for place, score in enumerate(self.lazy.score(rows).tolist()):
            if self._scale is None:
                self._first.append(score)
                if len(self._first) >= self.options.settling:
                    self._scale = _scale_of(self._first)
                continue
            mean, deviation = self._scale
            self._monitor.update((score - mean) / deviation)
            if self._monitor.drift_detected:
                self.signals = (*self.signals, self._step + place + 1)
                self._monitor = make_monitor(self.options.monitor, self._seeds.learner)
                return place
        return None

    def state(self) -> State:
        """The unit under way, the detector, the monitor, and the samples since the last drift."""
        return {
            **super().state(),
            "signals": list(self.signals),
            "monitor": keep(self._monitor),
            "since": np.array(self._since),
            "first": list(self._first),
            "scale": self._scale,
            "step": self._step,
        }

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.signals = tuple(map(int, state["signals"]))
        self._monitor = bring_back(state["monitor"], make_monitor(self.options.monitor, self._seeds.learner))
        self._since, self._first = np.array(state["since"]), list(state["first"])
        self._scale = None if state["scale"] is None else (float(state["scale"][0]), float(state["scale"][1]))
        self._step = int(state["step"])


def _scale_of(scores: list[float]) -> tuple[float, float]:
    deviation = float(np.std(scores))
    return float(np.mean(scores)), deviation if deviation > 0 else 1.0


def make_monitor(value: Any, seed: int) -> Any:
    """A new monitor: one of river's by name, with parameters, 'package.module:Class', or a class.

    >>> make_monitor("ADWINN", 0)
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: There is no monitor named 'ADWINN'; the nearest is 'ADWIN'. There are river's ADWIN, \
KSWIN, PageHinkley; one of your own is 'package.module:Class', with update(x) and drift_detected.
    """
    (name, parameters), *more = value.items() if isinstance(value, Mapping) else ((value, {}),)
    if more or not isinstance(parameters, Mapping | None):
        raise UsageError(f"A monitor is a name, or {{ADWIN: {{delta: 0.01}}}}; got {value!r}.")
    thing = name
    if isinstance(name, str):
        if ":" not in name and name not in available.MONITORS:
            raise UsageError(
                f"There is no monitor named {name!r}; the nearest is {nearest(name, available.MONITORS)!r}. There are"
                f" river's {', '.join(available.MONITORS)}; one of your own is 'package.module:Class', with update(x)"
                " and drift_detected."
            )
        if ":" not in name and find_spec("river") is None:
            raise MissingExtra.of("river", "streaming")
        thing = import_path(name if ":" in name else f"river.drift:{name}", "monitor")
    seeded = {"seed": seed} if name == "KSWIN" else {}
    try:
        made = thing(**{**seeded, **(parameters or {})})
    except (TypeError, ValueError) as error:
        raise UsageError(f"The monitor {name} cannot be made with {dict(parameters or {})}: {error}.") from None
    if not callable(getattr(made, "update", None)) or not hasattr(made, "drift_detected"):
        raise UsageError(f"A monitor has update(x) and drift_detected; {name} lacks one of them.")
    return made
