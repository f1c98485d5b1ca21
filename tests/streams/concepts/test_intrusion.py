import pytest

from recollect.errors import UsageError
from recollect.streams.concepts.intrusion import KDD_COLUMNS, KDD_FAMILIES, read_nsl_kdd, read_unsw_nb15
from tests.streams.concepts.files import write_nsl_kdd, write_unsw

pytest.importorskip("pandas")


def test_nsl_kdd(tmp_path):
    write_nsl_kdd(tmp_path / "k")
    rows = read_nsl_kdd(tmp_path / "k")
    # 38 numbers, 2 protocols, 3 services, and the one flag that the training file has.
    assert rows.x.shape == (120, 38 + 2 + 3 + 1)
    assert rows.test is not None
    assert (~rows.test[:80]).all()
    assert rows.test[80:].all()
    place = {name: k for k, name in enumerate(rows.columns)}
    assert rows.x[:3, place["protocol_type=tcp"]].tolist() == [1, 0, 1]
    assert rows.x[:4, place["service=smtp"]].tolist() == [0, 0, 1, 0]
    # The flag that only the test file knows is none of the columns.
    assert rows.x[80, place["flag=SF"]] == 0
    assert rows.x[81, place["flag=SF"]] == 1
    assert rows.y[:8].tolist() == [0, 0, 1, 1, 0, 1, 0, 1]
    assert [rows.groups[k] for k in rows.group[[2, 3, 5, 7]]] == ["DoS", "Probe", "R2L", "U2R"]
    assert rows.group[0] == -1
    line = (tmp_path / "k" / "KDDTrain+.txt").read_text().splitlines()[0].split(",")
    assert rows.x[0, place["src_bytes"]] == float(line[KDD_COLUMNS.index("src_bytes")])
    assert not any("difficulty" in column for column in rows.columns)


def test_the_families_hold_every_attack_once():
    attacks = [attack for family in KDD_FAMILIES.values() for attack in family.split()]
    assert len(attacks) == len(set(attacks)) == 39
    assert len(KDD_COLUMNS) == 41


def test_nsl_kdd_that_is_not(tmp_path):
    write_nsl_kdd(tmp_path / "k", last=",".join(["0"] * 41 + ["wormhole", "1"]) + "\n")
    with pytest.raises(UsageError, match="an attack of NSL-KDD; got 'wormhole'"):
        read_nsl_kdd(tmp_path / "k")
    (tmp_path / "k" / "KDDTrain+.txt").write_text("1,2,3\n")
    with pytest.raises(UsageError, match="a line has 41 features, the attack and its difficulty; got 3 columns"):
        read_nsl_kdd(tmp_path / "k")


def test_unsw_with_one_file(tmp_path):
    write_unsw(tmp_path)
    rows = read_unsw_nb15(tmp_path)
    assert rows.columns == ("dur", "proto=tcp", "proto=udp", "service=-", "state=FIN", "rate")
    assert rows.groups == ("Exploits", "Fuzzers")
    assert rows.test is None
    assert "it is split into training and test" in rows.notes[0]
    assert rows.y[:6].tolist() == [0, 0, 1, 0, 1, 0]
    assert rows.group[:6].tolist() == [-1, -1, 1, -1, 0, -1]


def test_unsw_with_both_files(tmp_path):
    write_unsw(tmp_path)
    write_unsw(tmp_path, "UNSW_NB15_testing-set.csv", n=30)
    rows = read_unsw_nb15(tmp_path)
    assert rows.test is not None
    assert (int((~rows.test).sum()), int(rows.test.sum()), rows.notes) == (60, 30, ())


def test_unsw_that_is_not(tmp_path):
    (tmp_path / "UNSW_NB15_training-set.csv").write_text("id,dur,label\n1,2,0\n")
    with pytest.raises(UsageError, match="not a partition of UNSW-NB15: it has no column 'proto'"):
        read_unsw_nb15(tmp_path)


def test_values_that_are_not_finite_are_named(tmp_path):
    write_unsw(tmp_path)
    path = tmp_path / "UNSW_NB15_training-set.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    first = lines[1].split(",")
    first[5] = ""
    path.write_text("\n".join([lines[0], ",".join(first), *lines[2:]]), encoding="utf-8")
    with pytest.raises(UsageError, match="UNSW-NB15 has values that are not finite: 1 in column 'rate'"):
        read_unsw_nb15(tmp_path)
