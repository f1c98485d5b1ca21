"""The split of forgetting of every committed run: the parts as they were (lost, confusion) and as they are.

`split.within + split.older + split.newer` must be `forgetting.chaudhry2018` of every run, checked in the counts of the
record as exact fractions, by a loop of its own. Exits with 1 if a sum is off by one count.

    python benchmarks/split_committed.py
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

import recollect as rc
from recollect.runs import Run, group, load

HERE = Path(__file__).parent
IDS = ("forgetting.chaudhry2018", "split.lost", "split.confusion", "split.within", "split.older", "split.newer")


def exact(run: Run) -> bool:
    """Whether the three parts add up to forgetting in counts, and the printed values are those counts."""
    rows, own = run.timeline.rows, run.timeline
    now = len(rows) - 1
    totals, tasks = [Fraction(0)] * 4, 0
    for j, at in enumerate(own.learned_at):
        if not own.own[j] or not 0 <= at < now:
            continue
        there = [k for k in range(at, now) if rows[k] is not None]
        best = max(there, key=lambda k: (rows[k].correct[j], -k))
        (W_p, A_p, R_p), (W_k, A_k, R_k) = (
            (rows[k].masked[j], rows[k].restricted[j][j], rows[k].correct[j]) for k in (best, now)
        )
        parts = (W_p - W_k, (W_k - A_k) - (W_p - A_p), (A_k - R_k) - (A_p - R_p), R_p - R_k)
        n = run.rows[-1].n[j] if run.rows[-1].n else run.tasks[j].n_samples
        totals = [total + Fraction(part, n) for total, part in zip(totals, parts, strict=True)]
        tasks += 1
    if not tasks:
        return True
    counted = [float(total / tasks) for total in totals]
    printed = [float(rc.score(run.matrix, id)) for id in (*IDS[3:], IDS[0])]
    return sum(totals[:3]) == totals[3] and bool(np.allclose(counted, printed, atol=1e-14))


def main() -> None:
    lines = [
        "| runs of | stream | learner | n | AF | lost | confusion | within | older | newer | exact |",
        "|---" * 11 + "|",
    ]
    failed = 0
    for folder in sorted(path for path in (HERE.parent / "results").iterdir() if path.is_dir()):
        for members in group([run for run in load(folder) if run.status == "finished"]):
            if members.matrix.masked is None or members.matrix.asked is None:
                continue
            values = [f"{np.mean(rc.score(members.matrix, id)):.4f}" for id in IDS]
            good = [exact(run) for run in members.runs]
            failed += len(good) - sum(good)
            of = f"{sum(good)} of {len(good)}"
            stream = members.runs[0].stream
            lines.append(
                f"| {folder.name} | {stream} | {members.learner} | {len(good)} | {' | '.join(values)} | {of} |"
            )
    text = "\n\n".join(
        [
            "# Forgetting of every committed run, split",
            "`python benchmarks/split_committed.py`. Means over seeds after the last task. AF is"
            " `forgetting.chaudhry2018` over the tasks that have a row of their own. *lost* and *confusion* are parts"
            " that were shown before: at the peak the newest classes are favoured, and when that bias moves on, *lost*"
            " rises although nothing about the task was lost. *within*, *older* and *newer* are changes of one quantity"
            " each. *exact*: the parts add up to AF in the counts of the record, as fractions. Detectors give no scores"
            " of classes and have no split.",
            "\n".join(lines),
            "A SUM IS OFF." if failed else "No sum is off.",
        ]
    )
    print(text)
    (HERE / "results" / "split_committed.md").write_text(text + "\n", encoding="utf-8")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
