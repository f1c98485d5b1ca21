"""Remarks on what peers print; where it is none of our ids, with a formula, so that the remark is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from peers_worker import Problem


@dataclass(frozen=True)
class Note:
    """What a function computes, in words and, where it is no id of ours, as a formula to compare with."""

    text: str
    formula: Callable[[Problem], float] | None = None


def backward_without_previous(p: Problem) -> float:
    drops = np.tril(p.R - np.diag(p.R), -2)
    return float(drops.sum() / (p.T * (p.T - 1) / 2))


def forgetting_one_task_short(p: Problem) -> float:
    T, R = p.T, p.R
    return float(sum(R[j : T - 2, j].max() - R[T - 1, j] for j in range(T - 2)) / (T - 1))


def peak_from_before_learning(p: Problem) -> float:
    return float(np.mean([p.R[max(j - 1, 0) :, j].max() - p.R[-1, j] for j in range(p.T - 1)]))


def rises_from_record_highs(p: Problem, window: int = 10) -> float:
    """The largest rise in any window whose start is the highest value of the window so far."""
    largest = np.zeros(p.T)
    first = np.arange(p.T) * (len(p.rows) // p.T)
    for j in range(p.T):
        scores = p.rows[first[j] :, j]
        for end in range(1, len(scores) + 1):
            part = scores[max(end - window, 0) : end]
            records = np.maximum.accumulate(part) == part
            rises = [part[a + 1 :].max() - part[a] for a in np.flatnonzero(records[:-1])]
            largest[j] = max([largest[j], *rises])
    return float(largest.mean())


def strict_lower_mean(p: Problem) -> float:
    return float(p.R[np.tril_indices(p.T, -1)].mean())


RELEASE = "Release 1.2.7 is not the main branch: "

NOTES = {
    ("avalanche", "StreamAccuracy"): Note(
        "Pools the samples of all experiences, future ones too, so only its last value is an id of ours."
    ),
    ("avalanche", "StreamForwardTransfer"): Note(
        "After task k it averages up to task k + 1, whose score before learning is known by then."
    ),
    ("continuum", "Logger.backward_transfer"): Note(
        RELEASE + "it leaves out the task learned just before (j = i - 1) and still divides by T(T - 1)/2.",
        backward_without_previous,
    ),
    ("continuum", "Logger.positive_backward_transfer"): Note(
        RELEASE + "made from that backward transfer.", lambda p: max(backward_without_previous(p), 0.0)
    ),
    ("continuum", "Logger.remembering"): Note(
        RELEASE + "made from that backward transfer.",
        lambda p: 1 - abs(min(backward_without_previous(p), 0.0)),
    ),
    ("continuum", "Logger.forward_transfer"): Note(
        RELEASE + "the mean of the strict lower triangle, scores on past tasks.", strict_lower_mean
    ),
    ("continuum", "Logger.forgetting"): Note(
        RELEASE + "the last two tasks and the row before last are left out, and it still divides by T - 1.",
        forgetting_one_task_short,
    ),
    ("continuum", "Logger.accuracy"): Note("Given the seen tasks only; it pools whatever was logged last."),
    ("continuum_main", "Logger.accuracy"): Note("Given the seen tasks only; it pools whatever was logged last."),
    ("capymoa", "accuracy_all_avg"): Note("The mean of every cell of R, future tasks too.", lambda p: p.R.mean()),
    ("capymoa", "anytime_accuracy_all_avg"): Note(
        "The mean over all evaluations and all tasks, future ones too.", lambda p: p.rows.mean()
    ),
    ("capymoa", "anytime_accuracy_seen_avg"): Note("`anytime.auc` too, because evaluations are equally spaced here."),
    ("capymoa", "accuracy_all"): Note("Future tasks count in the mean, so only its last value is an id of ours."),
    ("gem", "Forward"): Note("The sum is divided by T; the paper divides by T - 1."),
    ("raptormai", "single_run_avg_end_fgt"): Note(
        "Takes the maximum over the tasks of a row, not over the rows of a task.",
        lambda p: float(np.mean(p.R.max(axis=1) - p.R[-1])),
    ),
    ("mammoth", "forgetting"): Note("Given the seen tasks, which it pads with 0 in the caller's lists."),
    ("mammoth", "forgetting, as the loop calls it"): Note(
        "The loop has put the score on the next task into each row, so the score just before learning "
        "competes for the peak.",
        peak_from_before_learning,
    ),
    ("mammoth", "forward_transfer, as the loop calls it"): Note(
        "The loop measures a task's random baseline just before training it, on the model trained so far: a "
        "score minus itself, 0.",
        lambda p: 0.0,
    ),
    ("delange", "WP10"): Note(
        "A shortcut written for drops is inherited for rises: a start lower than an earlier value of the "
        "window is skipped, so a rise that begins in the last 9 evaluations can be missed.",
        rises_from_record_highs,
    ),
}


@dataclass(frozen=True)
class Read:
    """A formula read in a peer's source or page, not run."""

    title: str
    version: str
    function: str
    id: str
    note: str = ""


READ = (
    Read("BeGin", "ff3cbdc", "AP", "acc.average"),
    Read("BeGin", "ff3cbdc", "AF", "forgetting.first", "Its page says `forgetting.begin_docs`."),
    Read(
        "BeGin",
        "ff3cbdc",
        "FWT",
        "fwt.lopezpaz2017",
        "Its page says `fwt.begin_docs`. Domain-incremental only.",
    ),
    Read("BeGin", "ff3cbdc", "intransigence", "intransigence.begin"),
    Read("PILOT", "17a8ea4", "Forgetting (CNN)", "forgetting.pycil", "The lines of PyCIL's trainer."),
    Read("PILOT", "17a8ea4", "Average Accuracy (CNN)", "acc.incremental_pooled", "The lines of PyCIL's trainer."),
    Read("CLsurvey", "1599657", "avg_forgetting", "forgetting.clsurvey"),
    Read(
        "i-Blurry",
        "4446d95",
        "A_auc",
        "anytime.auc",
        "Pools the test samples of the classes seen so far: equal when test sets have one size.",
    ),
    Read(
        "contilab",
        "wiki",
        "relative_forgetting",
        "forgetting.relative",
        "From its page; the source was not read.",
    ),
    Read("LibContinual", "a399ed4", "compute_frgt", "forgetting.libcontinual", "0 for fewer than three tasks."),
    Read("LibContinual", "a399ed4", "compute_bwt", "bwt.libcontinual", "0 for fewer than three tasks."),
    Read("Continual World", "73f63bb", "calculate_forgetting_individual", "forgetting.continual_world"),
    Read("Continual World", "73f63bb", "calculate_forward_transfer", "fwt.continual_world"),
    Read(
        "COOM",
        "7929801",
        "calculate_transfer",
        "fwt.continual_world",
        "Areas are means over the seeds. Its `calculate_forgetting` leaves the newest task out and divides by T - 1.",
    ),
    Read("ZSCL", "b96e714", "Transfer (results.ipynb)", "fwt.zscl"),
    Read("ZSCL", "b96e714", "Avg (results.ipynb)", "acc.all_cells"),
    Read("CapyMOA", "0.15.1", "accuracy_all_avg", "acc.all_cells", "Run: the remark above has the difference."),
)
