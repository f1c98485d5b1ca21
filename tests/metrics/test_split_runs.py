"""Forgetting split in two, on whole runs: the parts add up in counts, and a random classifier loses nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

import recollect as rc
from recollect.learners import Setting, make_learner
from recollect.protocol import describe, iter_protocol
from recollect.runs import Run
from recollect.runs.seeds import derive
from recollect.streams import make_stream

pytest.importorskip("sklearn")
pytest.importorskip("torch")

T = 5


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
