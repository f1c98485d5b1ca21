"""What training and evaluation cost: seconds, processor seconds, energy, and the highest memory of the process."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from recollect.protocol import energy

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
# What is not kept of each row.
_SMALL = re.compile(r"^save_|_cpu_seconds$")


class Meter:
    """Seconds, energy and peak memory of named phases, one at a time, added up over a run; `laps` are by row.

    Where the system can reset the peak (Linux), each phase has its own; elsewhere every phase has the peak
    of the process so far.

    >>> meter = Meter({"train_seconds": 2.0})
    >>> meter.start("train")
    >>> meter.stop()
    >>> meter.totals["train_seconds"] >= 2.0
    True
    """

    def __init__(self, totals: Mapping[str, float] | None = None, laps: Sequence[Mapping[str, float]] = ()) -> None:
        self.totals: dict[str, float] = dict(totals or {})
        self.laps: list[dict[str, float]] = [dict(lap) for lap in laps]
        self._lap: dict[str, float] = {}
        self._energy = energy.counters()
        self._estimated = energy.estimated()
        self._phase: str | None = None
        self._began = (0.0, 0.0)
        self._lent = [0.0, 0.0]

    def start(self, phase: str) -> None:
        """Begin a phase; the one before ends."""
        self.stop()
        self._phase = phase
        reset_peak()
        self._began, self._lent = _of_process(), [0.0, 0.0]
        if self._energy:
            self._energy = energy.counters()
        if self._estimated:
            self._estimated.start()

    @contextmanager
    def aside(self, phase: str) -> Iterator[None]:
        """Count what is done here as another phase, not as the one that is under way; it has no peak of its own."""
        began = _of_process()
        yield
        for place, kind in enumerate(("seconds", "cpu_seconds")):
            spent = _of_process()[place] - began[place]
            self._lent[place] += spent
            self._add(f"{phase}_{kind}", spent)

    def stop(self) -> None:
        """End the phase that is under way, if any."""
        if self._phase is None:
            return
        phase, self._phase = self._phase, None
        parts = zip(("seconds", "cpu_seconds"), _of_process(), self._began, self._lent, strict=True)
        for kind, now, began, lent in parts:
            self._add(f"{phase}_{kind}", now - began - lent)
        if self._energy:
            self._add(f"{phase}_joules", energy.joules(self._energy, energy.counters()))
        if self._estimated:
            self._add(f"{phase}_{energy.CODECARBON}_joules", self._estimated.stop())
        peak, highest = f"{phase}_peak_bytes", peak_bytes()
        for counted in (self.totals, self._lap):
            counted[peak] = max(counted.get(peak, 0), highest)

    def end_lap(self) -> None:
        """A row is made: what was counted since the last one is its cost."""
        self.laps.append({key: value for key, value in self._lap.items() if not _SMALL.search(key)})
        self._lap = {}

    def _add(self, key: str, amount: float) -> None:
        for counted in (self.totals, self._lap):
            counted[key] = round(counted.get(key, 0.0) + amount, 6)


def _of_process() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def peak_bytes() -> int:
    """The highest resident memory of this process since `reset_peak`, or since it began."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())
        if found:
            return int(found[1]) * 1024
    except OSError:
        pass
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def reset_peak() -> None:
    """Forget the peak so far, where the system can."""
    try:
        _RESET.write_text("5")
    except OSError:
        return
