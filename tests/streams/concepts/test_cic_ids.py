"""CIC-IDS from made-up rows under the published headers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import make_stream

# Spaces, a column that comes twice, and a byte that is no UTF-8 are as in the published files.
HEADER_2017 = (
    b" Destination Port, Flow Duration, Total Fwd Packets, Fwd Header Length,Flow Bytes/s, Flow Packets/s,"
    b" Fwd Header Length, Label\n"
)
HEADER_2018 = b"Dst Port,Protocol,Timestamp,Flow Duration,Tot Fwd Pkts,Flow Byts/s,Flow Pkts/s,Label\n"


def lines_2017(rng: np.random.Generator, n: int, label: bytes) -> bytes:
    made = [b"80,%d,%d,20,%.3f,%.3f,20,%s\n" % (*rng.integers(1, 99, 2), *rng.random(2), label) for _ in range(n)]
    return b"".join(made)


def write_2017(folder: Path) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    friday = (
        HEADER_2017
        + lines_2017(rng, 60, b"BENIGN")
        + lines_2017(rng, 20, b"DDoS")
        + b"80,1,2,20,Infinity,NaN,20,DDoS\n"
    )
    (folder / "Friday-WorkingHours-Afternoon-DDos.pcap_ISCX.csv").write_bytes(friday)
    thursday = HEADER_2017 + lines_2017(rng, 60, b"BENIGN") + lines_2017(rng, 20, b"Web Attack \x96 XSS")
    (folder / "Thursday-WorkingHours-Morning-WebAttacks.pcap_ISCX.csv").write_bytes(thursday)


def test_the_files_of_2017(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    write_2017(tmp_path / "MachineLearningCVE")
    days = make_stream("cic-ids2017", data=tmp_path, concepts="files")
    assert [task.name.partition("-")[0] for task in days.tasks] == ["Thursday", "Friday"]
    assert days.input_shape == (6,)  # the second Fwd Header Length is the first
    assert any("1 of 161 rows" in note for note in days.notes)
    assert [int(days.data.y_test[task.test].sum()) for task in days.tasks] == [20, 20]
    kinds = make_stream("cic-ids2017", data=tmp_path, concepts="families")
    assert [task.name for task in kinds.tasks] == ["DDoS", "Web Attack � XSS"]
    clusters = make_stream("cic-ids2017", data=tmp_path, n_concepts=2)
    assert len(clusters.tasks) == 2


def test_headers_inside_the_files_of_2018_are_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cic-ids2018"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for day, kind in (("Thursday-01-03-2018", b"Infilteration"), ("Friday-16-02-2018", b"DoS attacks-Hulk")):
        lines = [
            b"443,6,16/02/2018 08:27:23,%d,%d,%.2f,%.2f,%s\n" % (*rng.integers(1, 99, 2), *rng.random(2), label)
            for label in [b"Benign"] * 40 + [kind] * 12
        ]
        lines.insert(30, HEADER_2018)
        (folder / f"{day}_TrafficForML_CICFlowMeter.csv").write_bytes(HEADER_2018 + b"".join(lines))
    stream = make_stream("cic-ids2018", data=tmp_path, concepts="files")
    assert [task.name[:8] for task in stream.tasks] == ["Friday-1", "Thursday"]
    assert stream.input_shape == (6,)
    assert sum(len(task.train) + len(task.test) for task in stream.tasks) == 104


def test_other_files_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cic-ids2017"
    folder.mkdir()
    (folder / "Monday.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="no column 'Label'"):
        make_stream("cic-ids2017", data=tmp_path)
    (folder / "Monday.csv").write_bytes(HEADER_2017 + lines_2017(np.random.default_rng(0), 9, b"BENIGN"))
    with pytest.raises(UsageError, match="BENIGN flows only"):
        make_stream("cic-ids2017", data=tmp_path)
