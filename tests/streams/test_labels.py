"""Labels of every kind that is plainly a number or a name; the others are refused with what to do."""

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import stream_from_arrays
from recollect.streams.labels import class_labels


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (objects("b", "a"), ["b", "a"]),
        (objects("b", np.str_("a")), ["b", "a"]),
        (objects(b"b", b"a"), ["b", "a"]),
        (objects(2, np.int8(1)), [2, 1]),
        (objects(2.0, 1.0), [2, 1]),
        (objects(True, np.False_), [True, False]),
        (objects("b", "a")[:, None], ["b", "a"]),
        (["b", "a"], ["b", "a"]),
        (np.array(["é".encode(), b"a"]), ["é", "a"]),
        (np.array([2, 1], dtype=np.float16), [2, 1]),
        (np.array([2**60, -(2**63)], dtype=np.float64), [2**60, -(2**63)]),
        (np.array([2**63 - 1, 1], dtype=np.uint64), [2**63 - 1, 1]),
        (np.array([2**63 - 1, 2**63 - 2]), [2**63 - 1, 2**63 - 2]),
    ],
)
def test_what_is_plainly_a_number_or_a_name(given, expected):
    assert class_labels(given, "y").tolist() == expected


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("given", "match"),
    [
        ([1e300, 2.0], r"class number 1e\+300; class numbers are from -2\*\*63"),
        ([np.inf, 1.0], "class number inf"),
        (np.array([1, -np.inf], dtype=np.float16), "class number -inf"),
        ([2.0**63, 1.0], "class number 9"),
        (np.array([2**63], dtype=np.uint64), "class number 9223372036854775808"),
        ([2**70, 1], "class number 1180591620717411303424"),
        ([np.nan, 1.0, np.nan], r"y has no label \(None, NaN or NA\) for 2 of 3 samples\. Drop"),
        (objects("a", None), "no label .* for 1 of 2"),
        (["a", np.nan], "no label .* for 1 of 2"),
        ([0.5, 1], "class numbers or names, one per sample; 0.5 is not a whole number"),
        (objects("a", 1), "several kinds: text, whole numbers. Make them all of one kind"),
        (["a", 1], "several kinds: text, whole numbers"),
        (objects(True, 2), "several kinds: true or false, whole numbers"),
        (objects({}, {}), "class numbers or names, one per sample; got objects of type dict"),
        (np.array([b"\xff"]), "not UTF-8 text"),
        ([[0, 1], [1]], "y cannot be made an array"),
        ([[0, 1], [1, 0]], r"shape \(2, 2\)"),
        (3, r"shape \(\)"),
    ],
)
def test_what_is_not(given, match):
    with pytest.raises(UsageError, match=match):
        class_labels(given, "y")


def test_numbers_beyond_the_range_do_not_become_one_class():
    x = np.zeros((4, 2))
    with pytest.raises(UsageError, match="y_train has the class number"):
        stream_from_arrays(x, [1e300, 1e200, 1e300, 1e200], x, [1e300, 1e200, 1e300, 1e200], tasks=2)


class TestPandas:
    """Columns as they come out of a data frame."""

    @pytest.mark.parametrize("dtype", [None, "object", "string", "category"])
    def test_text(self, dtype):
        pandas = pytest.importorskip("pandas")
        labels = pandas.Series(["b", "a", "b"], dtype=dtype)
        assert class_labels(labels, "y").tolist() == ["b", "a", "b"]
        assert class_labels(labels.to_frame(), "y").tolist() == ["b", "a", "b"]
        with pytest.raises(UsageError, match=r"no label .* for 1 of 2"):
            class_labels(pandas.Series(["b", None], dtype=dtype), "y")

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "category"])
    def test_numbers(self, dtype):
        pandas = pytest.importorskip("pandas")
        assert class_labels(pandas.Series([2, 1], dtype=dtype), "y").tolist() == [2, 1]
        with pytest.raises(UsageError, match=r"no label .* for 1 of 2"):
            class_labels(pandas.Series([2, None], dtype=dtype), "y")

    def test_features_of_nullable_columns(self):
        pandas = pytest.importorskip("pandas")
        columns = {"a": pandas.Series([1, 2], dtype="Int64"), "b": pandas.Series([0.5, 1.5], dtype="Float64")}
        frame = pandas.DataFrame({**columns, "c": pandas.Series([True, False], dtype="boolean")})
        stream = stream_from_arrays(frame, ["b", "a"], frame, ["b", "a"], tasks=2)
        assert stream.data.x_train.dtype == np.float32
        assert stream.data.x_train.tolist() == [[1, 0.5, 1], [2, 1.5, 0]]

        gap = frame.assign(a=pandas.Series([1, None], dtype="Int64"))
        with pytest.raises(UsageError, match="x_train has values that are not finite"):
            stream_from_arrays(gap, ["b", "a"], frame, ["b", "a"], tasks=2)
        text = frame.assign(b=["red", "blue"])
        with pytest.raises(UsageError, match=r"row 0, column 1 holds 'red'\. Drop that column"):
            stream_from_arrays(text, ["b", "a"], frame, ["b", "a"], tasks=2)
