"""CGLB's published tables beside the nearest experiments here, for docs/graphs.md.

The published numbers are those of the figures in CGLB's README (Zhang et al. 2022; GCN; AP and AF, for nodes in
percent). AF there is `bwt.lopezpaz2017`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from recollect.metrics import evaluate, registry
from recollect.runs import Group, group, load

HERE = Path(__file__).parent
LEARNERS = {
    "bare": "finetune",
    "EWC": "ewc",
    "MAS": "mas",
    "GEM": "gem",
    "TWP": "twp",
    "LwF": "lwf",
    "ER-GNN": "er_gnn",
    "joint": "joint_incremental",
}
CLASS = {
    "CoraFull-CL, 35 tasks": "2.9/-94.7, 15.2/-81.1, 12.3/-83.7, 7.9/-84.8, 20.9/-73.3, 2.0/-95.0, 3.0/-93.8, 80.6/-",
    "Arxiv-CL, 20 tasks": "4.9/-87.0, 4.9/-88.9, 4.9/-86.8, 4.8/-87.8, 4.9/-89.0, 4.9/-87.9, 30.3/-54.0, 46.4/-",
}
TASK = {
    "CoraFull-CL, 35 tasks": "58.0/-38.4, 78.9/-15.5, 93.0/-0.6, 91.6/-1.8, 92.2/-0.9, 56.1/-37.5, 90.6/-3.7, 95.2/-",
    "Arxiv-CL, 20 tasks": "61.7/-28.2, 78.8/-5.0, 88.4/-0.0, 87.3/2.8, 86.0/-2.8, 84.2/-3.7, 86.7/11.4, 90.3/-",
}
TOX21 = {"Tox21-tIL, 12 tasks": "71.7/-13.8, 81.1/-1.5, 79.8/-2.2, 82.5/2.4, 72.0/-3.7, 83.5/-1.9, -/-, 82.6/-"}
# What is published, ours (experiment, stream), and how it is headed.
TABLES = (
    ("class-incremental", CLASS, (("coauthor-cs", "coauthor-cs-class-separate", "Coauthor CS, 7 tasks"),)),
    ("task-incremental", TASK, (("coauthor-cs", "coauthor-cs-task-separate", "Coauthor CS, 7 tasks"),)),
    ("task-incremental, ROC-AUC", TOX21, (("tox21", "tox21", "Tox21, 12 tasks"),)),
)


def tables() -> str:
    """One table for each scenario, AP / AF in percent; a learner that was not run has no number."""
    made = []
    for scenario, published, own in TABLES:
        columns = {f"CGLB, {name}": row.replace("/", " / ").split(", ") for name, row in published.items()}
        for experiment, stream, name in own:
            columns[f"ours, {name}"] = ours(HERE / f"graphs-{experiment}", stream)
        lines = [f"| {scenario}: AP / AF | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
        for place, learner in enumerate(LEARNERS):
            lines.append(f"| {learner} | {' | '.join(cells[place] for cells in columns.values())} |")
        made.append("\n".join(lines))
    return "\n\n".join(made)


def ours(folder: Path, stream: str) -> list[str]:
    """AP / AF of each learner in percent, means over seeds."""
    runs = [run for run in load(folder) if run.stream == stream and run.status == "finished"] if folder.exists() else []
    by_name = {members.learner: members for members in group(runs)} if runs else {}
    return [_cell(by_name.get(name)) for name in LEARNERS.values()]


def _cell(members: Group | None) -> str:
    if members is None:
        return "not run"
    values = (evaluate(members.matrix, registry.get(id)).value for id in ("acc.average", "bwt.lopezpaz2017"))
    return " / ".join(f"{100 * float(np.mean(value)):.1f}" for value in values)
