import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import concept_stream, concepts_from_arrays, stream_from_concepts
from recollect.streams.concepts import concepts_from_parts

GOOD = [[0.0, 1.0], [2.0, 3.0]]


def part(name="a", x_train=GOOD, x_test=GOOD, y_test=(0, 1)):
    return (name, x_train, x_test, list(y_test))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "has no concepts"),
        ([("a", GOOD)], r"A concept is \(name, x_train, x_test, y_test\)"),
        ([part(), part()], "'a' comes twice"),
        ([part(x_train=np.empty((0, 2)))], "x_train of concept 'a' is a table of numbers"),
        ([part(x_train=[1.0, 2.0])], r"got shape \(2,\)"),
        ([part(x_train=[["x", "y"]])], "table of numbers"),
        ([part(x_test=[[0.0, np.nan], [np.inf, 1]])], "not finite: 1 in column 0, 1 in column 1. Drop those rows"),
        ([part(y_test=[0, 2])], "y_test of concept 'a' holds 0 for a normal row and 1 for an anomaly; got 0, 2"),
        ([part(y_test=[0])], r"one label per row, 2; got shape \(1,\)"),
        ([part(), part("b", [[1.0]], [[1.0], [2.0]])], r"same features; got tables with \[1, 2\] columns"),
    ],
)
def test_wrong_parts(parts, message):
    with pytest.raises(UsageError, match=message):
        concepts_from_parts(parts)


def test_types_stay_as_they_are():
    for kind in (np.float32, np.float64):
        made = concepts_from_parts([part(x_train=np.array(GOOD, kind), x_test=np.array(GOOD, kind))])
        assert made.x_train.dtype == made.x_test.dtype == kind
    assert concepts_from_parts([part(x_train=[[1, 2]], x_test=[[3, 4], [5, 6]])]).x_train.dtype == np.float64


def test_numbers_as_objects_are_numbers():
    mixed = np.array([[1, 0.5], [True, np.int8(3)]], dtype=object)
    made = concepts_from_parts([part(x_train=mixed)])
    assert made.x_train.tolist() == [[1, 0.5], [1, 3]]
    with pytest.raises(UsageError, match=r"x_train of concept 'a' has values that are not finite: 1 in column 1"):
        concepts_from_parts([part(x_train=np.array([[1, None]], dtype=object))])
    with pytest.raises(UsageError, match=r"x_train of concept 'a' is an array of numbers; row 0, column 1 holds '2'"):
        concepts_from_parts([part(x_train=np.array([[1, "2"]], dtype=object))])


def test_a_stream_of_concepts_is_called_something():
    with pytest.raises(UsageError, match="name is a text, not empty"):
        stream_from_concepts([part()], name="")


def test_whole_arrays_are_not_copied(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12, dtype=np.float32).reshape(6, 2))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    made = concepts_from_arrays(x, [7, 7, 3, 3, 7, 3], x, [0, 1, 0, 1, 0, 1], [7, 7, 3, 3, 3, 7])
    assert np.shares_memory(made.x_train, x)
    assert made.names == ("7", "3")
    assert [rows.tolist() for rows in made.train] == [[0, 1, 4], [2, 3, 5]]
    assert [rows.tolist() for rows in made.test] == [[0, 1, 5], [2, 3, 4]]
    batches = list(concept_stream(made, scenario="concept-agnostic", batch=4).batches(0))
    assert [b.x[:, 0].tolist() for b in batches] == [[0, 2, 8, 4], [6, 10]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((GOOD, ["a"], GOOD, [0, 1], ["a", "a"]), "concept_train has one concept per row, 2"),
        ((GOOD, ["a", "a"], GOOD, [0, 1], ["a", "b"]), "'b' has test rows only"),
        ((GOOD, ["a", "b"], GOOD, [0, 1], ["a", "a"]), "needs test rows; 'b' of arrays has none"),
        ((GOOD, ["a", "a"], [[1.0]], [0], ["a"]), "same features of one type; got 2 of float64 and 1 of float64"),
    ],
)
def test_wrong_arrays(arguments, message):
    with pytest.raises(UsageError, match=message):
        concept_stream(concepts_from_arrays(*arguments))


def test_a_concept_that_is_left_out_may_lack_rows():
    made = concepts_from_arrays(GOOD * 2, ["a", "b"] * 2, GOOD, [0, 1], ["a", "a"])
    assert [task.name for task in concept_stream(made, order=["a"]).tasks] == ["a"]


def test_constant_columns_are_kept_with_a_note():
    stream = stream_from_concepts([part(x_train=[[1.0, 5.0], [2.0, 5.0]])])
    assert stream.input_shape == (2,)
    assert stream.notes == ("kept, though of one value in all training rows: 1 (1 features)",)


def test_where_all_columns_are_constant_nothing_can_be_learned():
    with pytest.raises(UsageError, match="nothing can be learned"):
        stream_from_concepts([part(x_train=[[1.0, 5.0], [1.0, 5.0]])])


def test_one_class_in_a_test_set_is_allowed_and_said():
    stream = stream_from_concepts([part(), part("calm", y_test=[0, 0])])
    assert stream.notes == ("the test rows of 'calm' are of one class: scores of ranking are undefined",)
