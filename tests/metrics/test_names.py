"""Names that people type, arrays instead of matrices, and counts that contradict."""

from __future__ import annotations

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.metrics import registry
from recollect.runs import Plan, Row, Run, Task

R = [[0.8, 0.1], [0.6, 0.9]]
TYPED = {
    "acc.average": ("AA", "ACC", "AP", "Last", "MFN", "aa", "last"),
    "acc.incremental": ("AIA", "MAA", "A-bar", "a-Bar"),
    "acc.learning": ("LA", "MFT"),
    "acc.continual_average": ("CA",),
    "forgetting.chaudhry2018": ("AF", "FM", "Forgetting.AF"),
    "intransigence.begin": ("INT",),
    "raa.michel2023": ("RAA",),
    "raf.michel2023": ("RAF",),
}


@pytest.mark.parametrize(("id", "name"), [(id, name) for id, names in TYPED.items() for name in names])
def test_names_resolve_and_say_so(id, name):
    assert registry.get(name).card.id == id
    score = rc.score(rc.ScoreMatrix(R, n_classes=[2, 2], joint=R), name)
    assert score.id == id
    assert score.notes[0] == f"{name} is an alias of {id}"


@pytest.mark.parametrize("name", ["BWT", "FWT", "fwt", "forgetting", "Forgetting"])
def test_a_name_of_several_definitions_lists_them(name):
    with pytest.raises(UsageError, match=r"is a family, not a definition: choose one of .*\..*, "):
        rc.score(R, name)
    assert len(registry.resolve(name)) > 5


def test_no_alias_hides_an_id_and_each_leads_to_one():
    from recollect.metrics.registry import ALIASES

    assert not set(map(str.casefold, ALIASES)) & set(registry.all_ids())
    assert len({name.casefold() for name in ALIASES}) + 2 >= len(ALIASES)
    assert set(ALIASES.values()) <= set(registry.all_ids())


def test_an_array_is_scored_as_a_matrix_is():
    assert rc.score(R, "AA") == 0.75
    assert rc.score(np.array(R) * 100, "AA") == pytest.approx(0.75)
    assert rc.score([[80], [60, 90]], "AF") == pytest.approx(0.2)
    assert rc.score(np.stack([R, R]), "AA").tolist() == [0.75, 0.75]
    np.testing.assert_allclose(rc.score(R, "AA", curve=True), [0.8, 0.75])


@pytest.mark.parametrize(
    ("correct", "message"),
    [
        ([[8, 1], [6, 11]], "row 1, task 1 says 11 of 10"),
        ([[8, 1], [6, -1]], "row 1, task 1 says -1 of 10"),
        ([[8, 1], [7, 9]], "row 1, task 0 counts 0.7, and R says 0.6"),
    ],
)
def test_counts_that_contradict_are_refused(correct, message):
    with pytest.raises(UsageError, match=message):
        rc.ScoreMatrix(R, correct=correct, n_samples=[10, 10])


def test_rounded_scores_and_absent_cells_do_not_contradict():
    rc.ScoreMatrix([[0.667, np.nan], [0.333, 0.5]], correct=[[2, np.nan], [1, 1]], n_samples=[3, 2])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Row(0, correct=(11,), n=(10,)), "says 11 of 10"),
        (Row(0, correct=(8,), n=(12,)), "counts 12 answers, and the task has 10"),
        (Row(0, correct=(8,), n=(9,)), "counts 9 answers, and the task has 10"),
        (Row(0, scores={"accuracy": (0.7,)}, correct=(8,), n=(10,)), "says 8 of 10 and 0.7"),
        (Row(0, correct=(8,), masked=(7,)), "masked does not belong to"),
    ],
)
def test_records_that_contradict_themselves_are_refused(row, message):
    run = Run(learner="er", stream="toy", tasks=(Task("a", n_samples=10),), rows=(row,))
    with pytest.raises(UsageError, match=message):
        _ = run.matrix


def test_a_planned_part_of_a_test_set_is_no_contradiction():
    row = Row(0, correct=(8,), n=(9,))
    run = Run(learner="er", stream="toy", tasks=(Task("a", n_samples=10),), rows=(row,), plan=Plan(subsample=9))
    assert run.matrix.R[0, 0] == pytest.approx(8 / 9)
