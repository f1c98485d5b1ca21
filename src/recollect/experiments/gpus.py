"""Which GPUs the worker processes of this machine have: each its own, as far as they reach."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence

from recollect.experiments.grid import Job

# What CUDA reads; a process sees no others, and calls the first of them cuda:0.
VARIABLE = "CUDA_VISIBLE_DEVICES"
_TO_ANSWER = 20.0


def gpus_for(jobs: Iterable[Job]) -> tuple[str, ...]:
    """The GPUs that these runs may be spread over; none if their device is the CPU, or one GPU by its number."""
    return visible_gpus() if any(job.device in ("auto", "cuda") for job in jobs) else ()


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that this process may use, by the names that CUDA takes: of the environment, else all of nvidia-smi."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        names = [name.strip() for name in given.split(",")]
        return tuple(names[: next((k for k, name in enumerate(names) if name in ("", "-1")), len(names))])
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        told = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=_TO_ANSWER).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(str(k) for k in range(sum(line.startswith("GPU ") for line in told.splitlines())))


def least_used(gpus: Sequence[str], used: Iterable[str | None]) -> str | None:
    """The GPU for the next worker: the first of those that the fewest have; None if there is none.

    >>> least_used(["0", "1"], []), least_used(["0", "1"], ["0"]), least_used(["0", "1"], ["0", "1"])
    ('0', '1', '0')
    """
    counts = Counter(used)
    return min(gpus, key=lambda gpu: counts[gpu], default=None)
