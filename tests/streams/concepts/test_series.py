import json

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams.concepts import SourceSpec, concepts_of_rows
from recollect.streams.concepts.series import read_nab, read_skab
from recollect.streams.concepts.windows import lagged
from tests.streams.concepts.files import write_nab, write_skab

pytest.importorskip("pandas")


def test_lags_like_a_loop():
    x = np.arange(10.0).reshape(5, 2)
    for window in (1, 2, 3):
        slow = [np.concatenate([x[t - lag] for lag in range(window)]).tolist() for t in range(window - 1, 5)]
        assert lagged(x, window).tolist() == slow


def test_skab_by_folder(tmp_path):
    write_skab(tmp_path)
    rows = read_skab(tmp_path, SourceSpec())
    assert rows.groups == ("valve1", "valve2", "other")
    assert rows.x.shape == (2000, 2)
    # 2.csv comes before 10.csv; the first 400 rows of each are for training.
    assert rows.x[[0, 500], 0].tolist() == [1000, 2000]
    made = concepts_of_rows(rows, SourceSpec(), default="folders")
    assert [len(train) for train in made.train] == [800, 400, 400]
    assert [made.y_test[test].tolist() for test in made.test] == [[1] * 200, [1] * 100, [1] * 100]


def test_skab_by_file_with_a_window_and_a_fraction(tmp_path):
    write_skab(tmp_path)
    spec = SourceSpec(concepts="files", window=3, test_fraction=0.5)
    rows = read_skab(tmp_path, spec)
    assert rows.groups == ("valve1/2", "valve1/10", "valve2/0", "other/1")
    assert rows.columns == ("Current", "Pressure", "Current -1", "Pressure -1", "Current -2", "Pressure -2")
    assert rows.x[0, [0, 2, 4]].tolist() == [1002, 1001, 1000]
    made = concepts_of_rows(rows, spec)
    assert [(len(a), len(b)) for a, b in zip(made.train, made.test, strict=True)] == [(248, 248)] * 4


def test_nab(tmp_path):
    write_nab(tmp_path)
    rows = read_nab(tmp_path, SourceSpec())
    # The series without an anomaly is left out. 15 % of 200 rows are 30; 9 rows of either part only fill a window.
    assert rows.groups == ("realA", "realB")
    assert rows.x.shape == (2 * 182, 10)
    made = concepts_of_rows(rows, SourceSpec(), default="folders")
    assert [(len(a), len(b)) for a, b in zip(made.train, made.test, strict=True)] == [(21, 161)] * 2
    assert [int(rows.y[test].sum()) for test in made.test] == [10, 10]
    assert np.flatnonzero(rows.y[:182]).tolist() == list(range(150 - 18, 160 - 18))
    by_file = read_nab(tmp_path, SourceSpec(concepts="files", window=1, test_fraction=0.5))
    assert by_file.groups == ("realA/one", "realB/two")
    assert by_file.test is not None
    assert by_file.test.sum() == 200


def test_files_that_are_not(tmp_path):
    write_nab(tmp_path / "nab")
    with pytest.raises(UsageError, match="window = 31 rows make a sample; realA/one has 200 rows"):
        read_nab(tmp_path / "nab", SourceSpec(window=31))
    (tmp_path / "nab" / "data" / "realA" / "one.csv").write_text("time,value\n1,2\n")
    with pytest.raises(UsageError, match="needs the columns timestamp and value"):
        read_nab(tmp_path / "nab", SourceSpec())
    labels = tmp_path / "nab" / "labels" / "combined_windows.json"
    labels.write_text(json.dumps({}))
    with pytest.raises(UsageError, match="No labelled series of nab"):
        read_nab(tmp_path / "nab", SourceSpec())
    labels.write_text("{")
    with pytest.raises(UsageError, match="Cannot read the label windows"):
        read_nab(tmp_path / "nab", SourceSpec())
    write_skab(tmp_path / "skab")
    path = tmp_path / "skab" / "other" / "1.csv"
    path.write_text(path.read_text().replace("Pressure", "Voltage"))
    with pytest.raises(UsageError, match="have the same sensors"):
        read_skab(tmp_path / "skab", SourceSpec())
    path.write_text("datetime;Current\n1;2\n")
    with pytest.raises(UsageError, match="not a file of SKAB"):
        read_skab(tmp_path / "skab", SourceSpec())
