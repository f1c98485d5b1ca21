"""Versions of a model, evaluated from outside: checkpoints, releases; columns may be held out, none need be trained."""

from __future__ import annotations

from dataclasses import replace

from recollect.problems.base import Focus, Problem, no_classes
from recollect.problems.targets import Target

VERSIONS = Problem(
    name="versions",
    asks="whatever the evaluation asks",
    scenarios=(),
    targets=(Target("accuracy", "accuracy"),),
    examiner="",
    focus=Focus(
        headline="held_out.delta",
        compared=("held_out.delta", "held_out.relative", "acc.average", "forgetting.chaudhry2018"),
        panels=(("held_out.delta",), ("held_out.relative",)),
        shown=("held_out.delta", "held_out.relative", "held_out.ratio", "acc.average", "forgetting.chaudhry2018"),
        level="mean change of {score} on held-out {tasks}",
        questions=("changed", "ahead", "lost", "sure"),
    ),
    not_shown=no_classes("versions were evaluated from outside, and single answers are not known"),
)

_HELD_OUT = ("held_out.delta", "held_out.relative", "held_out.ratio")

# Nothing is trained between releases that is evaluated: all columns are measured against the first of them.
RELEASES = replace(
    VERSIONS,
    name="releases",
    task="column",
    tasks="columns",
    focus=replace(
        VERSIONS.focus,
        compared=_HELD_OUT[:2],
        shown=_HELD_OUT,
        level="mean change of {score} on all {tasks}",
        questions=("changed", "ahead", "sure"),
    ),
)

# One version follows the training on each task, and none is held out.
STAGES = replace(VERSIONS, name="stages", focus=Focus(questions=("changed", "ahead", "lost", "sure")))
