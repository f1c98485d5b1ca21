import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import make_stream, stream_from_table

pandas = pytest.importorskip("pandas")


def table():
    """Two plants of ten rows; every fifth row is an anomaly. b begins first."""
    n = 20
    return pandas.DataFrame(
        {
            "plant": ["a", "b"] * 10,
            "load": np.arange(n, dtype=np.float64),
            "wind": np.arange(n) % 3,
            "fault": [int(i % 10 in (6, 7)) for i in range(n)],
            "when": np.where(np.arange(n) % 2, np.arange(n), 100 - np.arange(n)),
        }
    )


def make(frame=None, **options):
    columns = {"concept_column": "plant", "label_column": "fault", "time_column": "when"}
    return stream_from_table(table() if frame is None else frame, **{**columns, **options})


def loads(stream, rows):
    return stream.data.x_train[rows][:, 0].astype(int).tolist()


def test_with_a_time_the_past_is_trained_on():
    stream = make(test_fraction=0.4)
    assert [task.name for task in stream.tasks] == ["b", "a"]
    # b has rows 1, 3, .., 19 in this order (anomalies 7, 17); a's go back in time: 18, 16, .., 0 (16 and 6).
    assert loads(stream, stream.tasks[0].train) == [1, 3, 5, 9, 11]
    assert loads(stream, stream.tasks[0].test) == [7, 13, 15, 17, 19]
    assert loads(stream, stream.tasks[1].train) == [18, 14, 12, 10, 8]
    assert loads(stream, stream.tasks[1].test) == [16, 6, 4, 2, 0]
    assert stream.test_of(1)[1].tolist() == [1, 1, 0, 0, 0]
    assert "2 of 4 anomalies lie in the training period: they are tested with the others" in stream.notes
    assert stream.input_shape == (2,)


def test_without_a_time_a_fixed_draw_is_tested_with_all_anomalies():
    stream = make(table().drop(columns="when"), time_column=None, test_fraction=0.25)
    assert [task.name for task in stream.tasks] == ["a", "b"]
    assert [(len(t.train), len(t.test)) for t in stream.tasks] == [(6, 4), (6, 4)]
    assert stream.test_of(0)[1].sum() == 2
    assert make(table().drop(columns="when"), time_column=None, test_fraction=0.25).fingerprint == stream.fingerprint


def test_contaminated():
    stream = make(contaminated=True)
    assert loads(stream, stream.tasks[0].train) == [1, 3, 5, 7, 9, 11]
    assert {label for b in stream.batches(0) for label in b.y.tolist()} == {-1}


def test_a_column_may_say_what_is_for_testing():
    frame = table().assign(part=["train"] * 12 + ["test"] * 8)
    stream = make(frame, split_column="part", time_column=None, features=["load"])
    assert loads(stream, stream.tasks[0].train) == [0, 2, 4, 8, 10]
    assert loads(stream, stream.tasks[0].test) == [12, 14, 16, 18]


def test_dates_and_names_that_are_numbers():
    frame = table().assign(when=pandas.date_range("2020-01-01", periods=20).astype(str)[::-1], plant=[3, 10] * 10)
    stream = make(frame)
    assert [task.name for task in stream.tasks] == ["10", "3"]
    assert [task.name for task in make(frame, order=[3, 10]).tasks] == ["3", "10"]


def test_float32_stays():
    frame = table()[["plant", "fault", "load"]].astype({"load": np.float32})
    assert make(frame, time_column=None).data.x_train.dtype == np.float32


def test_files_are_the_same_stream(tmp_path):
    wanted = make()
    for name, separator in (("t.csv", ","), ("s.csv", ";"), ("tab.csv", "\t")):
        table().to_csv(tmp_path / name, index=False, sep=separator)
        options = {"concept_column": "plant", "label_column": "fault", "time_column": "when"}
        assert make(str(tmp_path / name)).fingerprint == wanted.fingerprint
        assert make_stream(str(tmp_path / name), **options).fingerprint == wanted.fingerprint
        assert make_stream(name, data=tmp_path, **options).name == name.removesuffix(".csv")


def test_npz(tmp_path):
    frame = table()
    x = frame[["load", "wind"]].to_numpy()
    np.savez(tmp_path / "t.npz", X=x, y=frame["fault"], concept=frame["plant"].to_numpy(str), when=frame["when"])
    path = str(tmp_path / "t.npz")
    assert make_stream(path, scenario="concept-incremental", time_column="when").fingerprint == make().fingerprint
    clusters = make_stream(path, concepts="clusters", n_concepts=2)
    assert [task.name for task in clusters.tasks] == ["cluster 0", "cluster 1"]
    # Without an option of concepts an .npz file is a classification stream, as ever.
    assert make_stream(path, tasks=2).problem == "classification"


def test_a_table_is_called_something():
    with pytest.raises(UsageError, match="name is a text, not empty"):
        stream_from_table(table(), name="", concept_column="plant", label_column="fault")


def test_every_row_is_for_training_or_testing():
    frame = table()
    parts = pandas.Series(["train", "test"] * len(frame), dtype="string")[: len(frame)]
    parts[3] = None
    with pytest.raises(UsageError, match="'part' of table says 'train' or 'test' in every row; 1 rows have neither"):
        stream_from_table(
            frame.assign(part=parts.array), concept_column="plant", label_column="fault", split_column="part"
        )


def test_clusters_of_a_table():
    stream = stream_from_table(table(), concepts="clusters", n_concepts=2, label_column="fault", features=["load"])
    assert len(stream.tasks) == 2


def changed(**columns):
    return table().assign(**columns)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (table().iloc[:0], {}, "has no rows"),
        (table(), {"concept_column": "plnat"}, "no column for concept_column = 'plnat'; did you mean 'plant'"),
        (table(), {"label_column": "anomaly"}, "no column for label_column = 'anomaly'; there are 'plant', 'load'"),
        (table(), {"features": ["load", "speed"]}, "no column for the feature 'speed'"),
        (changed(site="x"), {}, r"'site' of table hold something else \('x'\). Name the columns that are features"),
        (changed(wind=[np.nan] * 2 + [0.0] * 18), {}, "not finite: 2 in column 'wind'. Drop those rows or fill them"),
        (changed(load=[np.inf] + [0.0] * 19), {}, "not finite: 1 in column 'load'"),
        (changed(fault=[-1, 1] * 10), {}, "'fault' of table holds 0 for a normal row and 1 for an anomaly; got -1, 1"),
        (changed(fault=["no", "yes"] * 10), {}, "got no, yes"),
        (changed(fault=[0.0, np.nan] * 10), {}, "got 0.0, nan"),
        (changed(fault=[0, 1] * 10), {}, "needs normal training rows; 'b' of table has no training rows"),
        (changed(fault=[0, 1] * 10), {"contaminated": True}, "'b' of table has only 6 anomalies"),
        (changed(plant=[None, "b"] * 10), {}, "Every row has a concept; 10 rows of table have none in 'plant'"),
        (changed(when=["soon"] * 20), {}, "'when' of table is a time: numbers, or dates of one form"),
        (changed(when=[np.nan] * 20), {}, "Every row has a time"),
        (changed(part=["valid"] * 20), {"split_column": "part"}, "says 'train' or 'test'; got 'valid'"),
        (table(), {"order": ["a", "c"]}, "order names concepts of table; 'c'"),
        (table(), {"batch": 100}, "batch = 100 is more than the whole stream"),
        (table(), {"concepts": "folders"}, "The concepts of a table are a column or clusters"),
        (table(), {"window": 7}, "the longest stretch of table without a break .* has 6. Give a smaller window"),
        (table(), {"window": 2, "time_column": None, "features": ["load"]}, "name the column that tells them apart"),
        (changed(when=["2020-01-01"] * 19 + ["soon"]), {}, "got 'soon' in row 20"),
        ([[1, 2]], {}, "A table is a pandas DataFrame or the path"),
    ],
)
def test_bad_input(frame, options, message):
    with pytest.raises(UsageError, match=message):
        make(frame, **options)


def test_constant_columns_are_noted():
    assert "'wind' (1 features)" in " ".join(make(changed(wind=5)).notes)
    with pytest.raises(UsageError, match="nothing can be learned"):
        make(changed(wind=5, load=1.0))


def test_bad_files(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "bad.npz").write_bytes(b"no")
    np.savez(tmp_path / "other.npz", a=[1])
    np.savez(tmp_path / "plain.npz", X=[[1.0], [2.0]], y=[0, 1])
    np.savez(tmp_path / "both.npz", X=[[1.0], [2.0]], x=[[1.0], [2.0]], y=[0, 1], concept=["a", "a"])
    np.savez(tmp_path / "objects.npz", X=[[1.0], [2.0]], y=[0, 1], concept=np.array(["a", "b"], dtype=object))
    with open(tmp_path / "npy.npz", "wb") as file:
        np.save(file, [[1.0], [2.0]])
    for name, message in (
        ("empty.csv", "is empty"),
        ("bytes.csv", "Cannot read"),
        ("absent.csv", "Cannot read"),
        ("bad.npz", "plain arrays"),
        ("other.npz", "holds X"),
        ("plain.npz", "give it, or concepts = clusters"),
        ("both.npz", "has both X and x"),
        ("objects.npz", "concept in .* Python objects, .* Save text as concept.astype"),
        ("npy.npz", "is an .npy file, whatever its name"),
    ):
        with pytest.raises(UsageError, match=message):
            stream_from_table(tmp_path / name)
    with pytest.raises(UsageError, match=r"There is no file absent\.csv"):
        make_stream("absent.csv")


def test_windows_stay_inside_concepts_and_on_one_side_of_the_border() -> None:
    stream = make(window=3, window_label="any", features=["load"])
    rows = [stream.data.x_train[task.train].astype(int).tolist() for task in stream.tasks]
    # b: rows 1 .. 11 are trained on; 7 is an anomaly, so the three windows that hold it are tested.
    assert rows[0] == [[5, 3, 1]]
    tested = stream.data.x_test[stream.tasks[0].test].astype(int).tolist()
    assert tested == [[7, 5, 3], [9, 7, 5], [11, 9, 7], [17, 15, 13], [19, 17, 15]]
    assert stream.test_of(0)[1].tolist() == [1, 1, 1, 1, 1]
    assert "a sample is a window of 3 rows, one every 1; its label: any" in stream.notes


def test_a_training_window_with_an_anomaly_inside_is_not_normal() -> None:
    stream = make(window=3, window_label="last", features=["load"])
    rows = stream.data.x_train[stream.tasks[0].train].astype(int).tolist()
    assert rows == [[5, 3, 1]]  # [9, 7, 5] and [11, 9, 7] hold 7
    tested = stream.data.x_test[stream.tasks[0].test].astype(int).tolist()
    assert tested == [[7, 5, 3], [17, 15, 13], [19, 17, 15]]
    assert any("4 training windows hold an anomaly, are not labelled one" in note for note in stream.notes)


def test_a_stride_and_a_share() -> None:
    every = make(window=2, window_label=1.0, features=["load"])
    some = make(window=2, window_label=1.0, stride=2, features=["load"])
    assert sum(len(task.test) for task in some.tasks) < sum(len(task.test) for task in every.tasks)
    assert every.test_of(0)[1].sum() == 0  # no two anomalies follow each other


def test_series_that_stand_mixed_in_one_table() -> None:
    frame = table().assign(plant="one", site=["a", "b"] * 10)
    stream = make(frame, time_column=None, window=2, series_column="site", features=["load"])
    for part in (stream.tasks[0].train, stream.tasks[0].test):
        assert {int(row[0] - row[1]) for row in stream.data.x_train[part]} == {2}


def test_the_columns_of_pyclad_are_known_and_its_number_is_no_feature() -> None:
    frame = table().rename(columns={"plant": "concept_name", "fault": "label"}).drop(columns="when")
    frame["concept_id"] = (frame["concept_name"] == "b").astype(int)
    stream = stream_from_table(frame)
    assert [task.name for task in stream.tasks] == ["a", "b"]
    assert stream.input_shape == (2,)
    told = stream_from_table(frame, concept_column="concept_name", features=["load"])
    assert told.input_shape == (1,)


def test_a_plain_npy_file_is_refused_with_what_to_do(tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(UsageError, match=r"Expected pyCLAD's concepts .* or an \.npz file with x_train"):
        make_stream(str(tmp_path / "x.npy"))
