"""The toy: both tasks are easy, and what is forgotten splits exactly."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.reproduce import toy


@pytest.fixture(scope="module")
def made() -> toy.Toy:
    return toy.run_toy(2)


def test_a_vertical_line_solves_either_task() -> None:
    x, y = toy.half_moons(500, np.random.default_rng(0))
    assert ((x[:, 0] > 0) == (y % 2 == 1)).all()


def test_shifted_no_line_solves_both() -> None:
    x, y = toy.half_moons(500, np.random.default_rng(0), toy.SHIFT)
    assert x[y == 2, 0].max() > x[y == 1, 0].min()


def test_the_network_kept_both_tasks_and_confuses_them(made: toy.Toy) -> None:
    for number in (made.learned, made.first_kept, made.second_kept):
        assert float(number.value) > 0.95
    assert float(made.first_all.value) < 0.05
    assert float(made.within.value) + float(made.newer.value) == pytest.approx(float(made.forgetting.value))


def test_the_union_is_harder(made: toy.Toy) -> None:
    assert float(made.joint.value) < float(made.learned.value) - 0.02


def test_the_picture_answers_what_was_asked(made: toy.Toy) -> None:
    assert set(np.unique(made.picture.first)) == {0, 1}
    assert set(np.unique(made.picture.second)) == {2, 3}
    assert made.picture.union.shape == (toy.POINTS[1], toy.POINTS[0])
