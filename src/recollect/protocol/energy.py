"""The energy that processors have used, where the kernel counts it (RAPL, Linux's powercap).

The counters are those of whole processor packages: they count whatever else ran on the machine, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

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
