"""Anomaly detection: how anomalous is it? One score per sample; a concept's test set is scored as a whole."""

from __future__ import annotations

from recollect.problems import alarms, ranges
from recollect.problems.base import Focus, Problem, no_classes
from recollect.problems.ranking import Ranking
from recollect.problems.targets import Target

# pyCLAD's three numbers, as its metric page defines them, then forgetting and where the learner ends.
_SHOWN = (
    "acc.continual_average",
    "bwt.diazrodriguez2018",
    "fwt.diazrodriguez2018",
    "forgetting.chaudhry2018",
    "acc.average",
)

_IN_TIME = "anomalies are runs of samples in the test set's own order: of use where that is the order of time"


def _of_runs(name: str) -> Target:
    return Target(
        name,
        name.replace("range_", "range-based "),
        getattr(ranges, name),
        takes="alarms",
        unit="fraction",
        beside=False,
        undefined="it raises no alarm",
        warning=_IN_TIME,
    )


DETECTION = Problem(
    name="detection",
    asks="anomaly scores",
    task="concept",
    tasks="concepts",
    scenarios=("concept-aware", "concept-incremental", "concept-agnostic"),
    targets=(
        Target("roc_auc", "ROC-AUC", Ranking.roc_auc, takes="ranking", unit="fraction", weighted=True),
        Target(
            "average_precision",
            "average precision",
            Ranking.average_precision,
            takes="ranking",
            unit="fraction",
            weighted=True,
        ),
        Target("f1", "F1", alarms.f1, takes="alarms", unit="fraction", weighted=True),
        Target(
            "precision",
            "precision of alarms",
            alarms.precision,
            takes="alarms",
            unit="fraction",
            undefined="it raises no alarm",
            weighted=True,
        ),
        Target("recall", "recall of alarms", alarms.recall, takes="alarms", unit="fraction", weighted=True),
        Target(
            "false_alarm_rate",
            "false-alarm rate",
            alarms.false_alarm_rate,
            takes="alarms",
            unit="fraction",
            higher_is_better=False,
            weighted=True,
        ),
        Target(
            "best_f1",
            "best F1",
            Ranking.best_f1,
            takes="ranking",
            unit="fraction",
            beside=False,
            warning="the threshold is chosen with the test labels: no detector in use reaches it",
        ),
        Target(
            "f1_point_adjusted",
            "F1, point-adjusted",
            ranges.f1_point_adjusted,
            takes="alarms",
            unit="fraction",
            beside=False,
            warning="one alarm in a run of anomalies counts for the whole run, so that random alarms score high",
        ),
        *map(_of_runs, ("range_f1", "range_precision", "range_recall")),
        Target("nab", "NAB score", ranges.nab, takes="alarms", beside=False, warning=_IN_TIME),
        Target(
            "detection_delay",
            "delay of detection",
            ranges.detection_delay,
            takes="alarms",
            higher_is_better=False,
            beside=False,
            warning=f"in samples; {_IN_TIME}",
        ),
    ),
    examiner="recollect.problems.online:Watching",
    per_class=False,
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
        titles={"acc.continual_average": "CA", "acc.average": "average"},
        level="continual average of {score}",
        close=True,
    ),
    rows={
        "concept-agnostic": ("batch", "batches"),
        "concept-incremental": ("visit", "visits"),
        "concept-aware": ("visit", "visits"),
        None: ("visit", "visits"),
    },
    not_shown=no_classes("a detector gives one score per sample, not one of several answers"),
)
