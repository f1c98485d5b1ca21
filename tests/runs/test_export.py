"""What is written for other programs is read back as the same matrix."""

import builtins

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from recollect.errors import MissingExtra, UsageError
from recollect.runs import Plan, Row, Run, Task, load, to_pandas, to_xarray, write_file

TASKS = (Task("a", 2, 10), Task('b, "quoted"\nüber', 3, 20))
COUNTS = (Row(-1, correct=(1, 2)), Row(0, correct=(9, 1)), Row(1, correct=(7, 18)))
SCORES = (Row(0, step=5, scores={"accuracy": (1 / 3, None)}), Row(1, step=9, scores={"accuracy": (0.1 + 0.2, 0.9)}))


def run(rows=COUNTS, **fields):
    return Run(**{"learner": "er", "stream": "toy", "seed": 0, "tasks": TASKS, "rows": tuple(rows)} | fields)


RUNS = {
    "counts": [run()],
    "scores": [run(SCORES)],
    "seeds": [run(seed=2**70), run(SCORES[:1] + COUNTS[2:], seed=2**71)],
    "no seed": [run(seed=None)],
    "percent": [
        run(
            [Row(0, scores={"accuracy": (90.0, 5.5)}), Row(1, scores={"accuracy": (70.1, 88.8)}, joint=(1.5, 2.5))],
            unit="percent",
        )
    ],
    "lower is better": [run([Row(0, scores={"RMSE": (7.5, 9.5)})], unit="raw", higher_is_better=False, metric="RMSE")],
    "planned": [run(COUNTS[:1] + COUNTS[2:], plan=Plan(rows=(1,)))],
    "crashed": [run(COUNTS[:2], status="failed")],
    "inside": [
        run(
            [
                Row(-1, 3, False, scores={"accuracy": (0.5, 0.1)}),
                Row(0, 5, scores={"accuracy": (0.7, 0.1)}),
                Row(1, 9, scores={"accuracy": (0.5, 0.6)}),
            ]
        )
    ],
    "learned_at": [
        run([Row(i, i * 10, scores={"accuracy": (i / 10, 0.5)}) for i in range(4)], learned_at={0: 1, 1: 3})
    ],
    "joint": [run(joint_run=run(COUNTS, learner="joint"))],
    "restricted": [
        run(
            [
                Row(0, correct=(9, 0), restricted=((9, 8), (None, 1)), masked=(10, 9)),
                Row(1, correct=(7, 18), restricted=((8, 7), (None, 18)), masked=(10, 20)),
            ]
        )
    ],
}


def assert_same_matrix(one, other, but=()):
    for name in ("R", "b", "joint", "restricted", "correct", "n_classes", "n_samples", "learned_at", "steps"):
        if name in but:
            continue
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None), name
        if left is not None:
            assert_array_equal(left, right, err_msg=name)
    assert one.names == other.names
    assert one.higher_is_better == other.higher_is_better


@pytest.mark.parametrize("kind", ["json", "csv", "npz"])
@pytest.mark.parametrize("which", RUNS)
def test_round_trip(tmp_path, which, kind):
    runs = RUNS[which]
    back = load(write_file(runs, tmp_path / f"x.{kind}"))
    assert [r.seed for r in back] == [r.seed for r in runs]
    for one, other in zip(runs, back, strict=True):
        assert (other.learner, other.stream, other.metric) == (one.learner, one.stream, one.metric)
        # A long table has no place for three indices.
        but = ("restricted",) if kind == "csv" else ()
        assert_same_matrix(one.matrix, other.matrix, but)


def test_npz_is_plain_arrays_for_other_programs(tmp_path):
    write_file(RUNS["counts"], tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as arrays:
        assert_array_equal(arrays["R"], [[[0.9, 0.05], [0.7, 0.9]]])
        assert_array_equal(arrays["b"], [[0.1, 0.1]])
        assert arrays["names"].tolist() == [task.name for task in TASKS]


def test_arrays_that_were_changed_count_more_than_the_record_beside_them(tmp_path):
    write_file(RUNS["counts"], tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        changed = dict(arrays)
    changed["R"] = changed["R"] / 2
    np.savez(tmp_path / "x.npz", **changed)
    (back,) = load(tmp_path / "x.npz")
    assert_array_equal(back.matrix.R, [[0.45, 0.025], [0.35, 0.45]])


def test_two_learners_do_not_fit_into_one_npz(tmp_path):
    with pytest.raises(UsageError, match="must agree in the learner"):
        write_file([run(), run(learner="gdumb")], tmp_path / "x.npz")
    assert list(tmp_path.iterdir()) == []


def test_the_name_says_the_format(tmp_path):
    with pytest.raises(UsageError, match=r"ends in \.csv"):
        write_file([run()], tmp_path / "x.xlsx")
    with pytest.raises(UsageError, match="no runs"):
        write_file([], tmp_path / "x.csv")


@pytest.mark.parametrize("cut", [30, 200, 290, 400])
@pytest.mark.parametrize("kind", ["json", "csv", "npz"])
def test_a_cut_file_is_a_usage_error(tmp_path, kind, cut):
    path = write_file(RUNS["restricted"], tmp_path / f"x.{kind}")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(UsageError):
        load(path)


def test_pandas():
    frame = to_pandas([*RUNS["counts"], *RUNS["percent"], *RUNS["planned"]])
    assert frame["run"].nunique() == 3
    cell = frame[(frame.run == 0) & (frame.after == 1) & (frame.on == 1)].iloc[0]
    assert (cell.score, cell.correct, cell.learner, bool(cell.task_end)) == (0.9, 18, "er", True)
    assert frame[(frame.run == 1) & (frame.after == 0)].score.tolist() == [0.9, 0.055]


def test_xarray():
    data = to_xarray([run(seed=1), run(seed=0)])
    assert data.R.dims == ("seed", "row", "task")
    assert data.seed.values.tolist() == ["0", "1"]
    assert data.R.sel(seed="1", task="a").values.tolist() == [0.9, 0.7]
    assert data.attrs["learner"] == "er"


@pytest.mark.parametrize(("package", "convert"), [("pandas", to_pandas), ("xarray", to_xarray)])
def test_a_missing_extra_says_how_to_get_it(monkeypatch, package, convert):
    real = builtins.__import__

    def without(name, *rest):
        if name == package:
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=rf"pip install 'recollect\[{package}\]'"):
        convert([run()])
