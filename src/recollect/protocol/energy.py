"""The energy that was used: as the kernel counts it (RAPL, Linux's powercap), or as codecarbon estimates it.

The counters are those of whole processor packages: they count whatever else ran on the machine, too. What codecarbon
gives is an estimate from the load of this process, the kind of processor and the size of memory; it is asked for by
the environment variable RECOLLECT_ENERGY=codecarbon, because it is a matter of the machine and not of the experiment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.errors import MissingExtra, UsageError

VARIABLE, CODECARBON = "RECOLLECT_ENERGY", "codecarbon"
_JOULES_PER_KWH = 3.6e6

POWERCAP = Path("/sys/class/powercap")
_PACKAGE = re.compile(r"[\w-]*rapl:\d+")


def counters(folder: Path = POWERCAP) -> dict[str, tuple[int, int]]:
    """The counter of each package in microjoules, and where it begins again; empty where none can be read."""
    found = {}
    try:
        for place in sorted(folder.iterdir()):
            if _PACKAGE.fullmatch(place.name):
                used, largest = (int((place / name).read_text()) for name in ("energy_uj", "max_energy_range_uj"))
                found[place.name] = used, largest
    except (OSError, ValueError):
        return {}
    return found


def joules(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> float:
    """What was used between two readings; a counter that began again in between has gone round once.

    >>> joules({"intel-rapl:0": (9_000_000, 10_000_000)}, {"intel-rapl:0": (1_500_000, 10_000_000)})
    2.5
    """
    used = 0
    for name in before.keys() & after.keys():
        (then, largest), (now, _) = before[name], after[name]
        used += now - then if now >= then else now + largest - then
    return used / 1e6


class Estimated:
    """Joules between `start` and `stop` by codecarbon's tracker: of this process, nothing written, nothing sent."""

    def __init__(self) -> None:
        try:
            from codecarbon import OfflineEmissionsTracker
        except ImportError:
            raise MissingExtra.of("codecarbon", "codecarbon") from None
        self._tracker: Any = OfflineEmissionsTracker(
            country_iso_code="USA",  # for emissions, which are not read
            tracking_mode="process",
            allow_multiple_runs=True,
            output_methods=[],
            log_level="critical",
        )
        self.start()  # the first start looks for the hardware, which takes seconds
        self.stop()

    def start(self) -> None:
        """Begin to measure."""
        self._tracker.start_task()

    def stop(self) -> float:
        """What was used since the start."""
        return float(self._tracker.stop_task().energy_consumed) * _JOULES_PER_KWH


def estimated() -> Estimated | None:
    """The estimate that the environment asks for; None if it asks for none."""
    asked = os.environ.get(VARIABLE, "")
    if asked not in ("", CODECARBON):
        raise UsageError(f"{VARIABLE} is {CODECARBON!r}, or not set; got {asked!r}.")
    return Estimated() if asked else None
