"""What only Python takes for a number, what comes twice, what is a record: refused, never read as something else."""

from __future__ import annotations

import json
import pickle
import zipfile

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.inputs import plain_number, plain_whole
from recollect.matrix import ScoreMatrix
from recollect.metrics import identify
from recollect.runs import load
from recollect.runs.importers import begin, l2metrics


@pytest.mark.parametrize("word", ["1_0", "0x1p3", "１", "٣", "1e", "", "--1", "1 0", "infinit", "nan(1)"])
def test_what_is_no_number(word):
    with pytest.raises(ValueError, match="not a"):
        plain_number(word)
    with pytest.raises(ValueError, match="not a"):
        plain_whole(word)


@pytest.mark.parametrize("cell", ["1_0", "１", "0.5_1", "0x1", "infinity"])
def test_csv_cells(tmp_path, cell):
    path = tmp_path / "a.csv"
    path.write_text(f"0.9,0.1\n{cell},0.8\n")
    with pytest.raises(UsageError):
        load(path)
    path.write_text(f"after,on,score\n0,0,0.9\n1,0,{cell}\n1,1,0.8\n")
    with pytest.raises(UsageError):
        load(path)
    (tmp_path / "b.txt").write_text(f"0.1 {cell}")
    path.write_text("0.9,0.1\n0.5,0.8\n")
    with pytest.raises(UsageError):
        load(path, untrained=tmp_path / "b.txt").pop().matrix  # noqa: B018


def test_a_published_value():
    with pytest.raises(UsageError, match="must be a number"):
        identify(ScoreMatrix([[0.9, 0.1], [0.5, 0.8]]), "1_5")


def test_keys_that_come_twice(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"R": [[0.9, 0.1], [0.5, 0.8]], "R": [[0.1, 0.1], [0.1, 0.1]]}')
    with pytest.raises(UsageError, match="'R' comes twice"):
        load(path)


def test_arrays_that_come_twice(tmp_path):
    np.save(tmp_path / "R.npy", np.array([[0.9, 0.1], [0.5, 0.8]]))
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tmp_path / "R.npy", "R.npy")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.write(tmp_path / "R.npy", "R.npy")
    with pytest.raises(UsageError, match="one name"):
        load(path)


@pytest.mark.parametrize("dtype", [[("a", "f8")], [("a", "f8"), ("b", "f8")]])
def test_records_are_no_scores(tmp_path, dtype):
    records = np.ones((2, 2), dtype=dtype)
    with pytest.raises(UsageError, match="numbers"):
        ScoreMatrix(records)
    np.save(tmp_path / "a.npy", records)
    with pytest.raises(UsageError, match=r"structured|dtype"):
        load(tmp_path / "a.npy")


@pytest.mark.parametrize(("increment", "future"), [("time", None), ("class", 0.0), ("task", 0.0)])
def test_zeros_of_begin_are_scores_unless_tasks_are_periods(tmp_path, same, increment, future):
    folder = tmp_path / f"benchmark_NC_arxiv_EWC_{increment}"
    folder.mkdir()
    path = folder / "result_0.pkl"
    test = np.array([[0.9, 0.0, 0.5], [0.5, 0.8, 0.6]])
    path.write_bytes(pickle.dumps({"exp_test": test, "init_test": np.array([0.1, 0.0, 0.1])}))
    (run,) = begin.read(path)
    same(run.matrix.R, [[0.9, future], [0.5, 0.8]])
    same(run.matrix.b, [0.1, future])


def test_recurring_tasks_of_l2metrics_show_the_end(tmp_path):
    blocks = [("test", "a", 0), ("train", "a", 1), ("test", "a", 50), ("train", "b", 2), ("test", "a", 60)]
    blocks += [("train", "a", 1), ("test", "a", 90)]
    header = "block_num\texp_num\tworker_id\tblock_type\ttask_name\ttask_params\texp_status\ttimestamp\tperformance\n"
    for number, (kind, task, score) in enumerate(blocks):
        place = tmp_path / "run" / "0" / f"{number}-{kind}"
        place.mkdir(parents=True)
        lines = [f"{number}\t{number}\t0\t{kind}\t{task}\t{{}}\tcomplete\t0\t{score}\n"]
        if kind == "test":
            lines.append(f"{number}\t{number}\t0\t{kind}\tb\t{{}}\tcomplete\t0\t{score + 1}\n")
        (place / "data-log.tsv").write_text(header + "".join(lines))
    (run,) = l2metrics.read(tmp_path / "run")
    assert run.matrix.R.tolist() == [[50, 51], [60, 61], [90, 91]]
    assert run.matrix.learned_at.tolist() == [0, 1]
    from recollect.metrics import score

    assert float(score(run.matrix, "acc.average")) == 90.5


def test_json_that_is_right_is_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"R": [[0.9, 0.1], [0.5, 0.8]]}))
    assert load(path)[0].matrix.R.tolist() == [[0.9, 0.1], [0.5, 0.8]]
