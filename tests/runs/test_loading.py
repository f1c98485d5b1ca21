"""One function reads everything."""

import json
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from recollect.errors import RecollectError, UsageError
from recollect.runs import Recorder, Row, Run, Task, load, load_all, save

R = [[0.8, 0.1], [0.6, 0.9]]


def record(folder, seed=0):
    with Recorder(folder, learner="er", stream="toy", tasks=2, seed=seed) as rec:
        for i in range(2):
            for j in range(2):
                rec.log(after=i, on=j, score=R[i][j])


@pytest.fixture
def matrix_file(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("0.8,0.1\n0.6,0.9\n")
    return path


def test_a_run_folder_and_its_files(tmp_path):
    record(tmp_path / "x")
    for path in (tmp_path / "x", tmp_path / "x/run.json", tmp_path / "x/rows.jsonl", str(tmp_path / "x")):
        (run,) = load(path)
        assert_array_equal(run.matrix.R, R)
        assert run.path == tmp_path / "x"


def test_an_experiment_is_its_runs_in_the_order_of_their_names(tmp_path):
    for place, seed in (("b/er-1", 1), ("b/er-0", 0), ("a/deep/er-2", 2), (".hidden/er-3", 3)):
        record(tmp_path / place, seed)
    (tmp_path / "b/notes.txt").write_text("x")
    assert [run.seed for run in load(tmp_path)] == [2, 0, 1]
    assert [run.seed for run in load_all([tmp_path / "b", tmp_path / "a"])] == [0, 1, 2]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed_and_loops_end(tmp_path):
    record(tmp_path / "elsewhere/er-0")
    (tmp_path / "all").mkdir()
    (tmp_path / "all/one").symlink_to(tmp_path / "elsewhere/er-0")
    (tmp_path / "all/loop").symlink_to(tmp_path / "all")
    assert len(load(tmp_path / "all")) == 1


@pytest.mark.parametrize("kind", ["csv", "long", "npy", "npz", "json"])
def test_matrix_files_and_what_they_were_taken_for(tmp_path, kind):
    path = tmp_path / f"mine.{'csv' if kind == 'long' else kind}"
    if kind == "csv":
        path.write_text("0.8,0.1\n0.6,0.9\n")
    elif kind == "long":
        cells = [f"{i},{j},{R[i][j]}" for i in range(2) for j in range(2)]
        path.write_text("after,on,score\n" + "\n".join(cells))
    elif kind == "npy":
        np.save(path, R)
    elif kind == "npz":
        np.savez(path, R=R)
    else:
        path.write_text(json.dumps(R))
    (run,) = load(path)
    assert_array_equal(run.matrix.R, R)
    assert run.learner == "mine"
    assert f"{path.name}: read as" in run.notes[0]


def test_a_seed_in_the_name_of_a_matrix_file(tmp_path):
    for name in ("er_seed3.csv", "er-seed4.csv", "er.seed=5.csv"):
        (tmp_path / name).write_text("0.8,0.1\n0.6,0.9\n")
        (run,) = load(tmp_path / name)
        assert (run.learner, run.seed) == ("er", int(name[-5]))


def test_companions_of_a_matrix_file(tmp_path, matrix_file):
    (tmp_path / "b.csv").write_text("0.5,0.4\n")
    (tmp_path / "joint.csv").write_text("0.8,0.1\n0.85,0.95\n")
    (run,) = load(
        matrix_file,
        classes=[2, 3],
        samples=[10, 20],
        names=["x", "y"],
        untrained=tmp_path / "b.csv",
        joint=tmp_path / "joint.csv",
    )
    matrix = run.matrix
    assert_array_equal(matrix.n_classes, [2, 3])
    assert_array_equal(matrix.n_samples, [10, 20])
    assert_array_equal(matrix.b, [0.5, 0.4])
    assert_array_equal(matrix.joint, [[0.8, 0.1], [0.85, 0.95]])
    assert matrix.names == ("x", "y")


def test_companions_as_values_and_in_other_files(tmp_path, matrix_file):
    (run,) = load(matrix_file, untrained=[0.5, None], joint=np.array([[0.8, 0.1], [0.85, 0.95]]))
    assert_array_equal(run.matrix.b, [0.5, np.nan])
    assert run.matrix.joint[1, 1] == 0.95
    np.save(tmp_path / "b.npy", [0.5, 0.4])
    (tmp_path / "b.json").write_text("[0.5, 0.4]")
    (tmp_path / "b.txt").write_text("0.5\n0.4\n")
    for name in ("b.npy", "b.json", "b.txt"):
        assert_array_equal(load(matrix_file, untrained=tmp_path / name)[0].matrix.b, [0.5, 0.4])


def test_an_untrained_row_replaces_the_one_in_the_file(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("after,on,score\n-1,0,0.3\n-1,1,0.3\n0,0,0.8\n0,1,0.1\n1,0,0.6\n1,1,0.9\n")
    assert_array_equal(load(path)[0].matrix.b, [0.3, 0.3])
    assert_array_equal(load(path, untrained=[0.1, 0.2])[0].matrix.b, [0.1, 0.2])


def test_the_unit_can_be_declared(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("0.8,0.1\n0.6,0.9\n")
    assert load(path, unit="percent")[0].matrix.R[0, 0] == 0.008


@pytest.mark.parametrize(
    ("companions", "words"),
    [
        ({"classes": [2, 2, 2]}, "3 classes were given"),
        ({"samples": [1, 2, 3]}, "3 samples were given"),
        ({"names": ["a"]}, "1 names were given"),
        ({"untrained": [0.1]}, "1 untrained scores"),
        ({"untrained": ["x", "y"]}, "are numbers"),
        ({"joint": [["x"]]}, "rows of numbers"),
        ({"unit": "permille"}, "unit of a run"),
    ],
)
def test_wrong_companions_are_refused(matrix_file, companions, words):
    with pytest.raises(UsageError) as caught:
        load(matrix_file, **companions)
    assert words in str(caught.value)


def test_joint_runs_are_chosen_by_seed(tmp_path, matrix_file):
    np.save(tmp_path / "j.npy", [[[0.8, 0.1], [0.85, 0.95]], [[0.8, 0.1], [0.85, 0.99]]])
    with pytest.raises(UsageError, match="needs one"):
        load(matrix_file, joint=tmp_path / "j.npy")
    seeded = tmp_path / "er_seed1.csv"
    seeded.write_text(matrix_file.read_text())
    assert load(seeded, joint=tmp_path / "j.npy")[0].matrix.joint[1, 1] == 0.99


@pytest.mark.parametrize("content", [b"", b"hello world, this is prose", b"\x00\xff\x00", b"<html>"])
@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.npy", "x.npz", "x.pkl", "x"])
def test_broken_files_are_one_paragraph(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_folders_without_runs_and_paths_to_nowhere(tmp_path):
    with pytest.raises(UsageError, match="holds no runs"):
        load(tmp_path)
    with pytest.raises(UsageError, match="holds no runs"):
        load(tmp_path, "recollect")
    with pytest.raises(UsageError, match="There is no"):
        load(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="at least one"):
        load_all([])


def test_a_named_tool_is_believed(tmp_path, matrix_file):
    assert load(matrix_file, "csv")[0].learner == "mine"
    with pytest.raises(RecollectError):
        load(matrix_file, "mammoth")
    with pytest.raises(UsageError, match="not a file that Recollect knows"):
        load(matrix_file, "recollect")


def test_imported_runs_saved_and_loaded_are_the_same(tmp_path, matrix_file):
    (run,) = load(matrix_file, joint=[[0.8, 0.1], [0.85, 0.95]])
    (folder,) = save([run], tmp_path / "out")
    (back,) = load(folder)
    assert_array_equal(back.matrix.R, R)
    assert_array_equal(back.matrix.joint, run.matrix.joint)
    assert back.status == "imported"
    assert back.source == run.source


def test_one_damaged_run_is_named(tmp_path):
    record(tmp_path / "a")
    record(tmp_path / "b")
    (tmp_path / "b/run.json").write_text("{")
    with pytest.raises(UsageError, match=r"b/run\.json is not JSON"):
        load(tmp_path)


def test_a_run_made_by_hand_needs_no_file():
    run = Run(learner="er", stream="toy", tasks=(Task("a"),), rows=(Row(0, scores={"accuracy": (0.5,)}),))
    assert run.matrix.R[0, 0] == 0.5
