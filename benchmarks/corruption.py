"""One flipped bit in a run's folder: is it found when the folder is read?

Six learners run on digits and are stopped after two of five tasks. One random bit of the checkpoint is flipped, and the
run is told to go on: it must be refused. Should a flip be accepted, the run goes on to its end, and its rows are
compared with those of the undisturbed one. Then the rows and the header of finished runs: one random bit is flipped and
the folder is read. A flip that is accepted and changes a score, a count, the status, the learner, the stream or the
seed is an error; none may be.

Command: python benchmarks/corruption.py
"""

from __future__ import annotations

import platform
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from recollect.errors import RecollectError
from recollect.learners import Setting, make_learner
from recollect.protocol import iter_run
from recollect.runs import derive
from recollect.runs.reading import read_run
from recollect.streams import make_stream

LEARNERS: dict[str, dict[str, Any]] = {
    "finetune": {"network": "mlp"},
    "er": {"network": "mlp", "memory": 50},
    "ewc": {"network": "mlp"},
    "lwf": {"network": "mlp"},
    "gdumb": {"network": "mlp", "memory": 50, "epochs": 1},
    "slda": {},
}
CHECKPOINT_FLIPS = 2_400
FILE_FLIPS = 20_400
RESULTS = Path(__file__).parent / "results" / "corruption.md"


def rows_of(name: str, folder: Path, most: int | None = None) -> None:
    """Run or go on, and stop after so many rows."""
    stream = make_stream("split-digits")
    learner = make_learner(name, LEARNERS[name], Setting.of(stream), derive(0))
    for made, _ in enumerate(iter_run(learner, stream, folder, name=name, seed=0), 1):
        if made == most:
            break


def flipped(data: bytes, draw: random.Random) -> bytes:
    """The data with one bit turned."""
    changed = bytearray(data)
    changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def told(folder: Path) -> Any:
    """What a reader takes from a run."""
    run = read_run(folder)
    rows = [(row.after, row.step, row.scores, row.correct, row.n, row.masked, row.restricted) for row in run.rows]
    return run.status, run.learner, run.stream, run.seed, run.metric, run.unit, rows


def try_flips(place: Path, count: int, draw: random.Random, read: Callable[[], Any], right: Any) -> Counter[str]:
    """Flip a bit of a file so often; the file is as it was afterwards."""
    whole, found = place.read_bytes(), Counter[str]()
    for _ in range(count):
        place.write_bytes(flipped(whole, draw))
        try:
            found["accepted, the same" if read() == right else "accepted, OTHER NUMBERS"] += 1
        except RecollectError:
            found["refused"] += 1
        except Exception as error:
            found[f"TRACEBACK {type(error).__name__}"] += 1
    place.write_bytes(whole)
    return found


def try_learner(name: str, temporary: Path, draw: random.Random) -> dict[str, Counter[str]]:
    """All flips of one learner's files."""
    whole, half, again = (temporary / f"{name}-{what}" for what in ("whole", "half", "again"))
    rows_of(name, whole)
    rows_of(name, half, most=3)
    right = told(whole)

    def go_on() -> Any:
        shutil.rmtree(again, ignore_errors=True)
        shutil.copytree(half, again)
        rows_of(name, again)
        return told(again)

    share = FILE_FLIPS // (3 * len(LEARNERS))
    return {
        "checkpoint": try_flips(half / "checkpoint.bin", CHECKPOINT_FLIPS // len(LEARNERS), draw, go_on, right),
        "rows.jsonl": try_flips(whole / "rows.jsonl", 2 * share, draw, lambda: told(whole), right),
        "run.json": try_flips(whole / "run.json", share, draw, lambda: told(whole), right),
    }


def main() -> None:
    """Flip, count, write the table."""
    draw = random.Random(0)
    lines = []
    totals: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in LEARNERS:
            for file, found in try_learner(name, Path(temporary), draw).items():
                totals.setdefault(file, Counter()).update(found)
                outcome = ", ".join(f"{what}: {count:,}" for what, count in sorted(found.items()))
                lines.append(f"| {name} | {file} | {found.total():,} | {outcome} |")
                print(lines[-1], flush=True)
    summary = [
        f"{file}: {found.total():,} flips, {found['refused']:,} refused,"
        f" {found['accepted, the same']:,} accepted without a change of any number,"
        f" {found.total() - found['refused'] - found['accepted, the same']:,} accepted with one or failed otherwise."
        for file, found in totals.items()
    ]
    RESULTS.write_text(
        "# One flipped bit in a run's folder\n\n"
        f"`python benchmarks/corruption.py`; split digits, seed 0; numpy {np.__version__}, Python"
        f" {platform.python_version()}.\n\n" + "\n".join(f"- {line}" for line in summary) + "\n\n"
        "| learner | file | flips | outcome |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )
    if any(set(found) - {"refused", "accepted, the same"} for found in totals.values()):
        raise SystemExit("a flipped bit was accepted with other numbers")


if __name__ == "__main__":
    main()
