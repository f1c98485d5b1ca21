"""Claims on runs whose curves are known."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.reproduce.claims import (
    CANNOT_TELL,
    NOT_REPRODUCED,
    REPRODUCED,
    Check,
    _between,
    change,
    check_claims,
    judge,
)
from recollect.runs import group
from recollect.stats import estimate
from tests.reproduce.samples import make_run, newest_only, paper_like, rising, saturating

_PLANS = {"er": None, "gdumb": (1, 3, 5, 7, 9)}


def verdicts(checks: tuple[Check, ...]) -> dict[tuple[str, str], str]:
    return {(check.claim, check.learner): check.verdict for check in checks}


def test_runs_that_behave_as_the_paper_says() -> None:
    found = check_claims(group(paper_like()))
    wrong = [check.line for check in found if check.verdict != REPRODUCED]
    assert wrong == []
    assert len(found) == 18


def test_the_numbers_behind_finetune() -> None:
    found = {check.claim: check.number for check in check_claims(group(paper_like())) if check.learner == "finetune"}
    assert found["RAA of finetune is near zero"].value == pytest.approx(0.05, rel=0.02)
    assert found["RAA of finetune is almost constant"].value == pytest.approx(0, abs=1e-9)
    assert found["AF is rather constant or slightly increasing"].value == pytest.approx(0, abs=1e-9)


def test_learners_that_do_the_opposite() -> None:
    behaviour = {
        "finetune": lambda k, j: 0.3 + 0.05 * k,
        "er": saturating,
        "gdumb": rising,
    }
    runs = [make_run(learner, seed, score) for learner, score in behaviour.items() for seed in range(3)]
    found = verdicts(check_claims(group(runs)))
    for claim, learner in (
        ("AA decreases during training", "finetune"),
        ("RAA of finetune is almost constant", "finetune"),
        ("RAA of finetune is near zero", "finetune"),
        ("ER shows no plateau of RAA", "er"),
        ("RAA reaches a plateau", "gdumb"),
        ("RAF increases strongly", "finetune"),
        ("RAF rises more for finetune than for gdumb", "finetune, gdumb"),
    ):
        assert found[claim, learner] == NOT_REPRODUCED, claim


def test_one_seed_never_tells() -> None:
    assert {check.verdict for check in check_claims(group(paper_like(seeds=1)))} == {CANNOT_TELL}


def test_a_learner_that_is_not_there_is_said() -> None:
    runs = [run for run in paper_like() if run.learner != "gdumb"]
    runs += [make_run("er-64", seed, rising) for seed in range(3)]
    found = check_claims(group(runs))
    assert verdicts(found)["all claims about gdumb", "gdumb"] == CANNOT_TELL
    assert all("er-64" not in check.learner for check in found)


def test_tiny_imagenet_has_its_own_claims_and_planned_rows() -> None:
    def late(bend: int):  # type: ignore[no-untyped-def]
        return lambda k, j: 0.4 * min(k, bend) / k

    rows = [((i + 1) * 100) // 12 - 1 for i in range(12)]
    options = {"T": 100, "stream": "split-tiny-imagenet 32x32 (partial)"}
    runs = [make_run("finetune", s, newest_only, **options) for s in range(3)]  # type: ignore[arg-type]
    runs += [make_run("er", s, late(65), **options) for s in range(3)]  # type: ignore[arg-type]
    runs += [make_run("gdumb", s, late(60), rows=rows, **options) for s in range(3)]  # type: ignore[arg-type]
    checks = check_claims(group(runs))
    found = verdicts(checks)
    assert found["RAA reaches a plateau around task 65", "er"] == REPRODUCED
    assert found["RAA reaches a plateau around task 25", "gdumb"] == NOT_REPRODUCED
    assert ("ER shows no plateau of RAA", "er") not in found
    tasks = {check.learner: check.tasks for check in checks}
    assert (tasks["er"], tasks["gdumb"]) == ("100 of 100", "12 of 100")
    assert (tasks["er, finetune"], tasks["er, gdumb"]) == ("100 of 100", "12 of 100")


def test_two_learners_are_compared_at_the_tasks_that_both_were_evaluated_after() -> None:
    """ER's RAF goes up and down between the tasks after which GDumb was evaluated: the comparison does not see it."""
    rows = (1, 3, 5, 7, 9)

    def jagged(k: int, j: int) -> float:
        return 0.6 if j == k else 0.1 if k % 2 else 0.3

    er, gdumb = ([make_run(name, s, jagged, rows=chosen) for s in range(3)] for name, chosen in _PLANS.items())
    thin = [make_run("er", s, jagged, rows=rows) for s in range(3)]
    pair = "RAF rises more for er than for gdumb"
    different, same = (
        next(check for check in check_claims(group([*some, *gdumb])) if check.claim == pair) for some in (er, thin)
    )
    assert different.tasks == same.tasks == "5 of 10"
    np.testing.assert_allclose(float(different.number.value), float(same.number.value))
    alone = {check.tasks for check in check_claims(group([*er, *gdumb])) if check.learner == "er"}
    assert alone == {"10 of 10"}


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((16, 39), CANNOT_TELL), ((15, 35), REPRODUCED), ((36, 50), NOT_REPRODUCED), ((3, 14), NOT_REPRODUCED)],
)
def test_around_a_task_means_the_whole_interval(interval: tuple[int, int], verdict: str) -> None:
    assert _between(*interval, 15, 35) == verdict


def test_a_plateau_that_accuracy_does_not_show() -> None:
    claim = "RAA shows a plateau that AA does not"
    falling = [make_run("gdumb", s, saturating) for s in range(3)]
    assert verdicts(check_claims(group(falling)))[claim, "gdumb"] == REPRODUCED
    no_plateau = [make_run("gdumb", s, rising) for s in range(3)]
    assert verdicts(check_claims(group(no_plateau)))[claim, "gdumb"] == NOT_REPRODUCED


def test_separating_is_relative_to_the_level() -> None:
    """A hundredth of every score is a hundredth of RAA: the verdict is the same."""
    claim = ("RAA separates the regimes of er and finetune", "er, finetune")
    runs = [run for run in paper_like() if run.learner != "gdumb"]
    small = [make_run("finetune", s, lambda k, j: newest_only(k, j) / 100) for s in range(3)]
    small += [make_run("er", s, lambda k, j: rising(k, j) / 100) for s in range(3)]
    numbers = [{(c.claim, c.learner): c for c in check_claims(group(some))}[claim] for some in (runs, small)]
    assert numbers[0].verdict == numbers[1].verdict == REPRODUCED
    assert float(numbers[0].number.value) == pytest.approx(float(numbers[1].number.value))


def test_the_change_of_a_line_and_of_gaps() -> None:
    curves = np.array([[np.nan, 1.0, np.nan, 2.0, 2.5], [np.nan] * 5])
    np.testing.assert_allclose(change(curves), [1.5, np.nan])


def test_a_verdict_needs_the_whole_interval() -> None:
    assert judge(estimate([0.09, 0.10, 0.11]), low=0.05) == REPRODUCED
    assert judge(estimate([0.09, 0.10, 0.11]), low=0.10) == CANNOT_TELL
    assert judge(estimate([0.01, 0.02, 0.03]), low=0.10) == NOT_REPRODUCED
    assert judge(estimate([0.15, 0.16, 0.17]), low=-0.1, high=0.1) == NOT_REPRODUCED
