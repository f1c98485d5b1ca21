"""CGLB's matrices: percent, one run for each repeat, zeros above the diagonal that were not evaluated."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.runs import importers

FIRST = np.array([[90.0, 0, 0], [40, 80, 0], [20, 30, 70]])


def write(place, content, name="te_Cora_ewc.pkl"):
    folder = place / "results" / "class-IL"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(pickle.dumps(content))
    return folder / name


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_each_repeat_is_a_run_and_what_was_not_evaluated_is_absent(tmp_path, protocol):
    path = write(tmp_path, [])
    path.write_bytes(pickle.dumps([FIRST, FIRST + np.tril(np.ones((3, 3)))], protocol=protocol))
    assert importers.detect(path).NAME == "cglb"
    first, second = importers.read(path)
    assert (first.seed, second.seed) == (0, 1)
    assert first.scenario == "class-incremental"
    assert first.rows[0].scores["accuracy"] == (90.0, None, None)
    assert first.unit == "percent"
    assert rc.metrics.bwt.lopezpaz2017(first.matrix) == pytest.approx(-0.6), "CGLB's AF, as a fraction"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"a": FIRST}, "not a list of matrices"),
        ([], "not a list of matrices"),
        ([FIRST, FIRST[:2]], "all of one size"),
        ([FIRST[:2]], "square arrays"),
        (["text"], "square arrays"),
        ([np.full((2, 2), np.inf)], "infinite"),
    ],
)
def test_what_is_no_list_of_matrices_is_one_paragraph(content, said, tmp_path):
    with pytest.raises(UsageError, match=said) as error:
        importers.read(write(tmp_path, content), "cglb")
    assert "\n" not in str(error.value)
