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
    assert [task.name for task in kinds.tasks] == ["DDoS", "Web Attack - XSS"]
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


def cic_day(folder: Path, name: str, header: bytes, lines: list[bytes]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(header + b"".join(lines))


def test_one_attack_has_one_name_whichever_dash_a_copy_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    dashes = (b"\x96", "\u2013".encode(), "\ufffd".encode(), "\u00ef\u00bf\u00bd".encode(), b"-", b"\xe2\x80\x93")
    lines = [lines_2017(rng, 9, b"Web Attack " + dash + b" Brute Force") for dash in dashes]
    # A label with blanks around it, lines without any value, a line without a label: as in the labelled flows.
    lines += [lines_2017(rng, 60, b" BENIGN "), b",,,,,,,\n" * 5, b"80,1,2,20,1.0,2.0,20,\n"]
    cic_day(tmp_path / "CIC-IDS2017", "Thursday-WorkingHours-Morning-WebAttacks.pcap_ISCX.csv", HEADER_2017, lines)
    stream = make_stream("cic-ids2017", data=tmp_path, concepts="families")
    assert [task.name for task in stream.tasks] == ["Web Attack - Brute Force"]
    assert sum(stream.data.y_test[stream.tasks[0].test]) == 54
    assert any(note.startswith("6 of 120 rows have a value that is missing") for note in stream.notes)


def test_twin_columns_whatever_their_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    for day, second in (
        ("Monday", b" Fwd Header Length"),
        ("Tuesday", b"Fwd Header Length"),
        ("Friday", b"Fwd Header Length.1"),
    ):
        header = HEADER_2017.replace(b" Fwd Header Length, Label", second + b", label")
        lines = [lines_2017(rng, 30, b"BENIGN"), lines_2017(rng, 9, b"DDoS")]
        cic_day(tmp_path / "CIC-IDS2017", f"{day}-WorkingHours.pcap_ISCX.csv", header, lines)
    stream = make_stream("cic-ids2017", data=tmp_path, concepts="files")
    assert stream.input_shape == (6,)
    assert [task.name.partition("-")[0] for task in stream.tasks] == ["Monday", "Tuesday", "Friday"]


def test_names_with_the_month_first_and_a_day_with_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    for day in ("02-14-2018", "02-20-2018", "03-01-2018", "03-02-2018"):
        flows = [
            b"443,6,16/02/2018 08:27:23,%d,%d,%.2f,Infinity,%s\n" % (*rng.integers(1, 99, 2), rng.random(), label)
            if k == 7
            else b"443,6,16/02/2018 08:27:23,%d,%d,%.2f,%.2f,%s\n" % (*rng.integers(1, 99, 2), *rng.random(2), label)
            for k, label in enumerate([b"Benign"] * 30 + [b"Bot"] * 9)
        ]
        header = HEADER_2018
        if day == "02-20-2018":  # this day alone says who talked to whom
            header = b"Flow ID,Src IP,Src Port,Dst IP," + HEADER_2018
            flows = [b"a-b-6,172.31.69.25,94,10.0.0.1," + flow for flow in flows]
        cic_day(tmp_path / "cic-ids2018", f"{day}.csv", header, flows)
    stream = make_stream("cic-ids2018", data=tmp_path, concepts="files")
    assert [task.name for task in stream.tasks] == ["02-14-2018", "02-20-2018", "03-01-2018", "03-02-2018"]
    assert stream.input_shape == (6,)
    assert any(note.startswith("4 of 156 rows") for note in stream.notes)


def test_files_of_two_releases_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    write_2017(tmp_path / "CIC-IDS2017")
    other = HEADER_2017.replace(b"Flow Duration", b"Flow Duration, Flow IAT Mean")
    cic_day(tmp_path / "CIC-IDS2017", "Monday-x.csv", other, [b"80,1,1,2,20,1.0,2.0,20,BENIGN\n"])
    with pytest.raises(UsageError, match=r"'Flow IAT Mean', which .* has"):
        make_stream("cic-ids2017", data=tmp_path)
