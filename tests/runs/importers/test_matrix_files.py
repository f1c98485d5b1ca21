"""CSV, JSON, .npy and .npz of no particular tool."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs.importers import csv_file, json_file, npy, npz


@pytest.mark.parametrize(
    ("file", "R", "names"),
    [
        (
            "plain.csv",
            [[0.9, None, None], [0.5, 0.8, None], [0.25, 0.0, 0.75]],
            ["task 0", "task 1", "task 2"],
        ),
        ("pandas_index.csv", [[0.8, None], [0.605, 0.9]], ["0", "1"]),
        ("named.csv", [[0.9, 0.15], [0.45, 0.8]], ["dogs", "cats"]),
        ("decimal_comma.csv", [[0.9, None], [0.5, 0.8]], ["hund", "katze"]),
        ("blanks.txt", [[0.9, None], [0.5, 0.8]], ["task 0", "task 1"]),
    ],
)
def test_csv_matrices(fixtures, same, file, R, names):
    (run,) = csv_file.read(fixtures / "csv" / file)
    same(run.matrix.R, R)
    assert [task.name for task in run.tasks] == names


def test_csv_a_named_untrained_row_is_b(fixtures, same):
    same(csv_file.read(fixtures / "csv" / "named.csv")[0].matrix.b, [0.1, 0.2])


def test_csv_long(fixtures, same):
    first, second = csv_file.read(fixtures / "csv" / "long.csv")
    same(first.matrix.R, [[0.9, None], [0.5, 0.8]])
    same(first.matrix.b, [0.1, 0.2])
    same(second.matrix.R, [[1.0, None], [None, 0.75]])
    assert (first.learner, first.stream, first.seed, second.seed) == ("er", "toy", 0, 1)
    assert [task.n_samples for task in first.tasks] == [10, 20]


def test_csv_long_names_are_in_the_order_of_learning(fixtures, same):
    (run,) = csv_file.read(fixtures / "csv" / "long_names.csv")
    assert [task.name for task in run.tasks] == ["zebra", "ant"]
    same(run.matrix.R, [[0.9, None], [0.5, 0.8]])


def test_csv_long_counted_from_one(fixtures, same):
    (run,) = csv_file.read(fixtures / "csv" / "long_from_one.csv")
    same(run.matrix.R, [[0.9, 0.2], [0.5, 0.8]])
    same(run.matrix.b, [0.1, 0.15])
    assert any("numbered from 1" in note for note in run.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.9,x\n0.5,0.8\n", "'x' is not a score|rows for"),
        ("0.9,0.1\n", "1 rows for 2 tasks"),
        ("after,on,score\n0,0,0.9\n0,0,0.8\n", "comes twice"),
        ("after,on,score\n0,0\n", "row 2 has 2 fields"),
        ("after,on,score\n", "no rows"),
        ("after,on,score\n0,99999999,1\n", "numbers tasks"),
        ("0.9,inf\n0.5,0.8\n", "inf"),
        ("", "empty"),
        (",\n,\n", "neither"),
    ],
)
def test_csv_refuses(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        csv_file.read(path)


def test_json_nested_lists_with_null_and_ragged_rows(fixtures, same):
    same(json_file.read(fixtures / "json" / "matrix.json")[0].matrix.R, [[0.9, None], [0.5, 0.8]])
    first, second = json_file.read(fixtures / "json" / "ragged_seeds.json")
    same(first.matrix.R, [[0.905, None], [0.5, 0.8]])
    same(second.matrix.R, [[0.91, None], [None, 0.81]])
    assert (first.seed, second.seed) == (0, 1)
    same(json_file.read(fixtures / "json" / "records.json")[0].matrix.R, [[0.9, None], [None, 0.8]])


def test_json_object_with_companions(fixtures, same):
    (run,) = json_file.read(fixtures / "json" / "object.json")
    matrix = run.matrix
    same(matrix.R, [[0.9, 0.1], [0.5, 0.8]])
    same(matrix.b, [0.05, 0.1])
    same(matrix.joint, [[0.9, 0.1], [0.85, 0.9]])
    assert matrix.n_classes.tolist() == [2, 3]
    assert matrix.n_samples.tolist() == [100, 150]
    assert (run.learner, run.stream, run.seed, matrix.names) == ("er", "toy", 7, ("a", "b"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[0.9, "x"]], "nested lists of numbers"),
        ([[0.9, True], [1, 1]], "nested lists of numbers"),
        ([0.9, [0.1]], "nested lists of numbers"),
        ({"S": [[1]]}, "no score matrix called R"),
        ({"R": [[1]], "matrix": [[1]]}, "both stand for R"),
        ({"R": [[0.9]], "names": ["a", "b"]}, "1 names"),
        ({"R": [[0.9]], "n_classes": [1.5]}, "n_classes"),
        ({"R": [[0.9]], "b": [1, 2]}, "b has shape"),
        ({"R": [[0.9, 0.1]]}, "learned_at"),
        ({"R": [[0.9]], "unit": "permille"}, "unit"),
        ([[10**400]], "R"),
        (3, "nested"),
    ],
)
def test_json_refuses(tmp_path, value, message):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    with pytest.raises(UsageError, match=message):
        json_file.read(path)


def test_json_depth_bomb(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[" * 200_000)
    with pytest.raises(UsageError, match="not JSON"):
        json_file.read(path)
    assert not json_file.sniff(path)


def test_npy(fixtures, same):
    same(npy.read(fixtures / "npy" / "one.npy")[0].matrix.R, [[0.9, None], [0.5, 0.8]])
    same(npy.read(fixtures / "npy" / "fortran.npy")[0].matrix.R, [[0.9, 0.0], [0.5, 0.8]])
    second = npy.read(fixtures / "npy" / "seeds.npy")[1]
    same(second.matrix.R, [[1.0, None], [0.25, 0.75]])
    assert second.seed == 1


def test_npz_with_rows_that_are_not_task_ends(fixtures, same):
    (run,) = npz.read(fixtures / "npz" / "full.npz")
    matrix = run.matrix
    same(matrix.R, [[0.8, 0.1], [0.9, 0.2], [0.5, 0.7]])
    same(matrix.b, [0.05, 0.1])
    same(matrix.joint, [[0.9, 0.2], [0.8, 0.85]])
    assert matrix.learned_at.tolist() == [1, 2]
    assert matrix.steps.tolist() == [50, 100, 200]
    assert run.learner == "er"
    same(npz.read(fixtures / "npz" / "lone.npz")[0].matrix.R, [[0.9, None], [0.5, 0.8]])


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (type(self.path).touch, (self.path,))


def test_an_array_of_objects_is_refused_and_its_code_does_not_run(tmp_path):
    sentinel = tmp_path / "ran"
    hostile = np.array([Touch(sentinel)], dtype=object)
    np.save(tmp_path / "a.npy", hostile, allow_pickle=True)
    np.savez(tmp_path / "a.npz", R=hostile)
    for importer, name in ((npy, "a.npy"), (npz, "a.npz")):
        with pytest.raises(UsageError, match="objects never"):
            importer.read(tmp_path / name)
    assert not sentinel.exists()
    pickle.loads(pickle.dumps(Touch(sentinel)))
    assert sentinel.exists(), "the object would have run its code"


def header(shape, descr="<f8"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "shape", ["(1000000000, 1000000000)", "(2, 2)", "(-1, 2)", "(1.5,)", "(0, 99999999999999999999)"]
)
def test_a_declared_shape_that_the_file_does_not_hold(tmp_path, shape):
    path = tmp_path / "a.npy"
    path.write_bytes(header(shape) + b"\0" * 8)
    with pytest.raises(UsageError):
        npy.read(path)


@pytest.mark.parametrize("descr", ["O", "|O", "V8", "c16", "M8[s]", "S8", "f8', 'x': '"])
def test_dtypes_that_are_no_numbers(tmp_path, descr):
    path = tmp_path / "a.npy"
    path.write_bytes(header("(1, 1)", descr) + b"\0" * 16)
    with pytest.raises(UsageError):
        npy.read(path)


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("R.npy", b"\0" * (npz.MAX_UNPACKED + 1))
    path = tmp_path / "a.npz"
    path.write_bytes(bomb.getvalue())
    with pytest.raises(UsageError, match="unpacks to"):
        npz.read(path)


def test_too_many_scores(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((4500, 4500), dtype=np.int8))
    with pytest.raises(UsageError, match="20,000,000 scores"):
        npy.read(path)


def test_ragged_lists_are_measured_before_they_are_filled(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[[" + "0," * 5000 + "0]" + ",[]" * 5000 + "]")
    with pytest.raises(UsageError, match="rows of 5,001 tasks"):
        json_file.read(path)


def test_csv_a_row_of_0_and_1_is_a_row_where_the_matrix_is_square(tmp_path, same):
    path = tmp_path / "a.csv"
    path.write_text("0,1\n0.5,0.8\n")
    same(csv_file.read(path)[0].matrix.R, [[0.0, 1.0], [0.5, 0.8]])
    path.write_text("0,1\n0.9,\n0.5,0.8\n")
    same(csv_file.read(path)[0].matrix.R, [[0.9, None], [0.5, 0.8]])


def test_csv_a_task_named_like_a_number_is_a_name(tmp_path, same):
    path = tmp_path / "a.csv"
    path.write_text("after,on,score\ntask 01,task 01,0.9\ntask 1,task 01,0.5\ntask 1,task 1,0.8\n")
    (run,) = csv_file.read(path)
    assert [task.name for task in run.tasks] == ["task 01", "task 1"]
    same(run.matrix.R, [[0.9, None], [0.5, 0.8]])


def test_strings_that_are_no_characters_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(header("(1,)", "<U1") + b"\xff\xff\xff\xff")
    with pytest.raises(UsageError, match="strings with broken characters"):
        npy.read(path)
