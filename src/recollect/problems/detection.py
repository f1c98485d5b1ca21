"""Anomaly detection: how anomalous is it? One score per sample; a concept's test set is scored as a whole."""

from __future__ import annotations

from recollect.problems.base import Focus, Problem
from recollect.problems.targets import Target, f1, of_sklearn

# pyCLAD's three numbers, as its metric page defines them, then forgetting and where the learner ends.
_SHOWN = (
    "acc.continual_average",
    "bwt.diazrodriguez2018",
    "fwt.diazrodriguez2018",
    "forgetting.chaudhry2018",
    "acc.average",
)

DETECTION = Problem(
    name="detection",
    asks="anomaly scores",
    task="concept",
    tasks="concepts",
    scenarios=("concept-aware", "concept-incremental", "concept-agnostic"),
    targets=(
        Target("roc_auc", "ROC-AUC", of_sklearn("roc_auc_score"), unit="fraction"),
        Target("average_precision", "average precision", of_sklearn("average_precision_score"), unit="fraction"),
        Target("f1", "F1", f1, takes="alarms", unit="fraction"),
    ),
    examiner="recollect.problems.scoring:Scoring",
    focus=Focus(
        headline="acc.continual_average",
        compared=(
            "acc.continual_average",
            "acc.average",
            "bwt.diazrodriguez2018",
            "fwt.diazrodriguez2018",
            "forgetting.chaudhry2018",
            "intransigence.begin",
        ),
        panels=(("acc.average",), ("forgetting.chaudhry2018",)),
        bwt="bwt.diazrodriguez2018",
        fwt="fwt.diazrodriguez2018",
        shown=_SHOWN,
    ),
    not_shown={
        "difficulty": "its difficulty does not follow from a number of classes",
        "split": "a detector gives one score per sample, whatever it has learned since",
        "errors": "a detector gives every sample a score, not one of several answers",
    },
)
