"""Forgetting split on whole runs: the parts add up in counts, and are what the learner's own scores give."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import recollect as rc
from recollect.learners import Setting, make_learner
from recollect.protocol import describe, iter_protocol
from recollect.runs import Run, load
from recollect.runs.seeds import derive
from recollect.streams import make_stream

pytest.importorskip("sklearn")
pytest.importorskip("torch")

T = 5
THREE = ("split.within", "split.older", "split.newer")


@cache
def run(learner: str, seed: int) -> Run:
    stream = make_stream("digits", tasks=T, class_order_seed=derive(seed).class_order)
    options = {"memory": 100} if learner == "er" else {}
    made = make_learner(learner, options, Setting.of(stream), derive(seed), "cpu")
    rows = tuple(iter_protocol(made, stream, seed=derive(seed).stream))
    return replace(describe(stream, name=learner, seed=seed), rows=rows)


def right(one: Run, k: int, j: int, m: int | None = None) -> int:
    """Right answers on task j after task k; among the classes of tasks up to m. Row 0 is the untrained one."""
    row = one.rows[k + 1]
    return row.correct[j] if m is None else row.restricted[j][m]


@pytest.mark.parametrize("learner", ["finetune", "er", "ncm", "slda", "random"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_parts_add_up_to_forgetting_without_a_rounding_error(learner, seed):
    one = run(learner, seed)
    curves = [rc.score(one.matrix, id, curve=True) for id in ("split.lost", "split.confusion")]
    forgetting = rc.score(one.matrix, "forgetting.chaudhry2018", curve=True)
    for k in range(1, T):
        lost = confusion = whole = Fraction(0)
        for j in range(k):
            n = one.tasks[j].n_samples
            p = max(range(j, k), key=lambda row: (right(one, row, j), -row))
            assert right(one, k, j, k) == right(one, k, j)
            lost += Fraction(right(one, p, j, p) - right(one, k, j, p), n) / k
            confusion += Fraction(right(one, k, j, p) - right(one, k, j, k), n) / k
            whole += Fraction(right(one, p, j) - right(one, k, j), n) / k
        assert lost + confusion == whole
        printed = [curve[k] for curve in (*curves, forgetting)]
        assert printed == pytest.approx([float(lost), float(confusion), float(whole)], abs=1e-15)


def in_counts(one: Run, k: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Within, older, newer and forgetting after task k, from the counts of the record."""
    totals = [Fraction(0)] * 4
    rows = {row.after: row for row in one.rows if row.task_end and row.after >= 0}
    for j in range(k):
        best = max(range(j, k), key=lambda row: (rows[row].correct[j], -row))
        (W_p, A_p, R_p), (W_k, A_k, R_k) = (
            (rows[row].masked[j], rows[row].restricted[j][j], rows[row].correct[j]) for row in (best, k)
        )
        parts = (W_p - W_k, (W_k - A_k) - (W_p - A_p), (A_k - R_k) - (A_p - R_p), R_p - R_k)
        totals = [total + Fraction(part, one.tasks[j].n_samples * k) for total, part in zip(totals, parts, strict=True)]
    return tuple(totals)


@pytest.mark.parametrize("learner", ["finetune", "er", "slda", "random"])
def test_within_older_and_newer_add_up_in_counts(learner):
    one = run(learner, 0)
    curves = [rc.score(one.matrix, id, curve=True) for id in THREE]
    for k in range(1, T):
        *parts, forgetting = in_counts(one, k)
        assert sum(parts) == forgetting
        assert [curve[k] for curve in curves] == pytest.approx([float(part) for part in parts], abs=1e-15)


def test_a_network_whose_own_class_accuracy_really_falls():
    """Asked again, sample by sample, after each task: within is the fall among the task's own classes."""
    stream = make_stream("digits", tasks=T)
    made = make_learner("finetune", {"lr": 0.5, "iterations": 5}, Setting.of(stream), derive(0), "cpu")
    own: list[list[float]] = []
    rows = []
    for row in iter_protocol(made, stream, seed=derive(0).stream):
        rows.append(row)
        if row.after < 0:
            continue
        own.append([])
        for j, task in enumerate(stream.tasks):
            x, y = stream.test_of(j)
            classes = np.array([int(c) for c in task.classes])
            scores = np.asarray(made.score(x))[:, classes]
            own[-1].append(float((classes[scores.argmax(1)] == y).mean()))
    one = replace(describe(stream, name="finetune", seed=0), rows=tuple(rows))
    np.testing.assert_allclose(one.matrix.masked, own, atol=1e-12)
    R = one.matrix.R
    peaks = [max(range(j, T - 1), key=lambda row: (R[row, j], -row)) for j in range(T - 1)]
    fall = np.mean([own[p][j] - own[T - 1][j] for j, p in enumerate(peaks)])
    assert fall > 0.05
    assert rc.score(one.matrix, "split.within") == pytest.approx(fall, abs=1e-12)


COMMITTED = sorted(path.parent for path in (Path(__file__).parents[2] / "results").glob("*/*/run.json"))


def test_the_sums_hold_to_the_last_count_on_every_committed_run_with_class_scores():
    checked = 0
    for one in (member for folder in {path.parent for path in COMMITTED} for member in load(folder)):
        matrix = one.matrix
        if matrix.masked is None or matrix.asked is None:
            continue
        parts = [rc.score(matrix, id, curve=True) for id in THREE]
        forgetting = rc.score(matrix, "forgetting.chaudhry2018", curve=True)
        np.testing.assert_array_equal(np.isnan(sum(parts)), np.isnan(forgetting))
        # A count is 1 / n of one task over all tasks; half of the smallest would be a count that is lost.
        count = 1 / (max(task.n_samples for task in one.tasks) * one.T)
        assert np.nanmax(np.abs(sum(parts) - forgetting)) < 1e-6 * count
        checked += 1
    assert checked >= 20


def test_random_loses_nothing_and_its_confusion_is_that_of_the_question():
    """From the row of learning, where nothing is chosen by its score: 0, and 1/C_j - 1/C_k, within four deviations."""
    lost = confusion = expected = lost_variance = confusion_variance = 0.0
    for seed in range(10):
        one = run("random", seed)
        k = T - 1
        for j in range(k):
            n, share, gone = one.tasks[j].n_samples, 1 / (2 * j + 2), 1 / (2 * j + 2) - 1 / (2 * T)
            lost += (right(one, j, j, j) - right(one, k, j, j)) / n
            confusion += (right(one, k, j, j) - right(one, k, j, k)) / n
            expected += gone
            lost_variance += 2 * share * (1 - share) / n
            confusion_variance += gone * (1 - gone) / n
    assert abs(lost) < 4 * lost_variance**0.5
    assert abs(confusion - expected) < 4 * confusion_variance**0.5
