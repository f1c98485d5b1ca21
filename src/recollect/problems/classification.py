"""Classification: which of the classes is it? Answers are counted, among all classes seen and among fewer."""

from __future__ import annotations

from recollect.problems.base import Focus, Problem
from recollect.problems.targets import Target

CLASSIFICATION = Problem(
    name="classification",
    asks="classes",
    tasks_stand_alone=False,
    scenarios=("class-incremental", "task-incremental", "domain-incremental", "time-incremental"),
    targets=(Target("accuracy", "accuracy", unit="fraction"),),
    examiner="recollect.problems.counting:Counting",
    objective="recollect.learners.objectives:Classes",
    focus=Focus(
        headline="acc.average",
        compared=(
            "acc.average",
            "forgetting.chaudhry2018",
            "acc.incremental",
            "raf.michel2023",
            "split.within",
            "split.older",
            "split.newer",
            "bwt.lopezpaz2017",
            "intransigence.begin",
        ),
        panels=(
            ("acc.average", "acc.incremental"),
            ("forgetting.chaudhry2018", "raf.michel2023"),
            ("raa.michel2023",),
        ),
        # RAA and RAF are curves: at the last task they are AA and AF by construction.
        shown=(
            "acc.average",
            "acc.incremental",
            "forgetting.chaudhry2018",
            "split.within",
            "split.older",
            "split.newer",
            "bwt.lopezpaz2017",
            "fwt.lopezpaz2017",
        ),
        titles={
            "acc.average": "AA",
            "acc.incremental": "AIA",
            "raa.michel2023": "RAA",
            "forgetting.chaudhry2018": "AF",
            "raf.michel2023": "RAF",
        },
    ),
)
