import json

import numpy as np
import pytest
from typer.testing import CliRunner

from recollect.cli.data import app
from recollect.errors import NotComputable, UsageError
from recollect.streams import load_dataset, make_stream, stream_names
from recollect.streams.catalogue import CATALOGUE
from recollect.streams.concepts import named
from recollect.streams.verify import verify
from tests.streams.concepts.files import write_adbench, write_nab, write_nsl_kdd, write_pyclad, write_skab, write_unsw

pytest.importorskip("pandas")
pytest.importorskip("sklearn")


@pytest.fixture
def folder(tmp_path, shrink):
    """All sources, small, under the names of their folders."""
    write_nsl_kdd(tmp_path / "NSL-KDD")
    write_unsw(tmp_path / "unsw_nb15")
    write_skab(tmp_path / "SKAB" / "data")
    write_nab(tmp_path / "anomaly" / "nab")
    write_adbench(tmp_path / "adbench_classical")
    write_pyclad(tmp_path / "pyclad" / CATALOGUE["pyclad-nsl-kdd"].files[0].name)
    shrink("nsl-kdd", n_train=80, n_test=40)
    shrink("unsw-nb15", n_train=60, n_test=30)
    shrink("skab", n_train=2000)
    shrink("nab", n_train=600)
    shrink("pyclad-nsl-kdd", n_train=18, n_test=24)
    return tmp_path


def names(stream):
    return [task.name for task in stream.tasks]


def test_every_name_makes_a_stream(folder):
    for name, concepts in (
        ("nsl-kdd", [f"cluster {k}" for k in range(5)]),
        ("unsw-nb15", [f"cluster {k}" for k in range(5)]),
        ("skab", ["valve1", "valve2", "other"]),
        ("nab", ["realA", "realB"]),
        ("adbench:cardio", [f"cluster {k}" for k in range(5)]),
        ("pyclad-nsl-kdd", ["Cluster_0", "Cluster_1", "Cluster_2"]),
    ):
        stream = make_stream(name, data=folder)
        assert (stream.name, stream.problem, names(stream)) == (name, "detection", concepts)
        assert make_stream(name, data=folder, order="random", class_order_seed=1).family == stream.family


def test_the_names_are_listed():
    assert {"nsl-kdd", "unsw-nb15", "skab", "nab", "adbench", "pyclad-nsl-kdd"} <= {*stream_names()}


def test_options_of_both_specs(folder):
    stream = make_stream(
        "nsl-kdd", data=folder, concepts="families", scenario="concept-agnostic", batch=7, test_fraction=0.5, subset=6
    )
    assert names(stream) == ["DoS", "Probe", "R2L", "U2R"]
    assert (stream.n_samples, stream.n_sections, stream.learned_at) == (24, 4, (0, 1, 2, 3))


def test_network_data_come_in_their_range(folder):
    stream = make_stream("nsl-kdd", data=folder)
    x = np.concatenate([batch.x for batch in stream.batches(0)])
    assert (x.min(), x.max()) == (0, 1)
    assert any("features brought to 0 .. 1" in note for note in stream.notes)
    raw = make_stream("nsl-kdd", data=folder, unit_range=False)
    assert raw.fingerprint != stream.fingerprint


def test_the_second_time_comes_from_the_cache(folder, monkeypatch):
    first = make_stream("nsl-kdd", data=folder, standardize=True)

    def never(*_):
        raise AssertionError("read again")

    monkeypatch.setitem(named.SOURCES, "nsl-kdd", named.Source(never, ("clusters",), ("n_concepts",), unit_range=True))
    again = make_stream("nsl-kdd", data=folder, standardize=True)
    assert again.fingerprint == first.fingerprint
    assert again.notes == first.notes
    with pytest.raises(AssertionError, match="read again"):
        make_stream("nsl-kdd", data=folder, n_concepts=2)
    path = folder / "NSL-KDD" / "KDDTest+.txt"
    path.write_text(path.read_text() + "\n")
    with pytest.raises(AssertionError, match="read again"):
        make_stream("nsl-kdd", data=folder)


def test_the_testing_set_counts_when_it_comes(folder):
    alone = make_stream("unsw-nb15", data=folder)
    write_unsw(folder / "unsw_nb15", "UNSW_NB15_testing-set.csv", n=30)
    both = make_stream("unsw-nb15", data=folder)
    assert "alone" in alone.notes[0]
    assert "alone" not in " ".join(both.notes)
    assert sum(len(task.test) for task in both.tasks) == 30


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nsl-kdd", {"window": 3}, "nsl-kdd does not take the option window; it has concepts"),
        ("nsl-kdd", {"concepts": "files"}, "The concepts of nsl-kdd are clusters or families; got files"),
        ("nsl-kdd", {"tasks": 5}, "The stream nsl-kdd has no option 'tasks'"),
        ("nsl-kdd", {"size": 5}, "The option size belongs to tiny-imagenet"),
        ("skab", {"concepts": "families"}, "The concepts of skab are folders or files or clusters"),
        ("pyclad-nsl-kdd", {"n_concepts": 2}, "its concepts are made already"),
        ("adbench", {}, "Which table of ADBench.*adbench:cardio, adbench:magic.gamma, adbench:shuttle"),
        ("adbench:shutle", {}, "did you mean 'shuttle'"),
        ("adbench:cardio", {"concepts": "families"}, "The concepts of adbench:cardio are clusters"),
        ("nslkdd", {}, "did you mean 'nsl-kdd'"),
    ],
)
def test_wrong_use(folder, name, options, message):
    with pytest.raises(UsageError, match=message):
        make_stream(name, data=folder, **options)


def test_absent_data_say_where_they_are_published(tmp_path):
    with pytest.raises(NotComputable, match=r"NSL_KDD .*unb\.ca/cic/datasets/nsl\.html; put it into nsl_kdd") as told:
        make_stream("nsl-kdd", data=tmp_path)
    assert "data get" not in str(told.value)
    for name in ("unsw-nb15", "skab", "nab", "adbench:shuttle", "pyclad-nsl-kdd"):
        with pytest.raises(NotComputable, match="It is published at https://"):
            make_stream(name, data=tmp_path)


def test_other_counts_are_refused(folder, shrink):
    shrink("nsl-kdd", n_train=81)
    with pytest.raises(UsageError, match=r"120 rows; the published nsl-kdd has 81 \+ 40\. Unpack it again"):
        make_stream("nsl-kdd", data=folder)
    shrink("unsw-nb15", n_train=61)
    with pytest.raises(UsageError, match="the published unsw-nb15 has 61"):
        make_stream("unsw-nb15", data=folder)


def test_they_are_not_classification_sets(folder):
    with pytest.raises(UsageError, match=r"made concepts by make_stream\('nsl-kdd'\)"):
        load_dataset("nsl-kdd", data=folder)


def test_verify(folder, shrink):
    told = {name: verify(CATALOGUE[name], folder) for name in CATALOGUE if CATALOGUE[name].problem == "detection"}
    assert {name for name, verdict in told.items() if not verdict.good} == {
        "cic-ids2017",
        "cic-ids2018",
    }  # not in the folder
    assert told["nsl-kdd"].message == "80 + 40 rows"
    assert told["unsw-nb15"].message == "60 rows"
    assert told["skab"].message == "2,000 rows"
    assert told["nab"].message == "600 rows"
    assert told["adbench"].message.startswith("3 tables")
    assert told["pyclad-nsl-kdd"].message == "3 concepts, 18 + 24 rows"
    shrink("skab", n_train=2001)
    assert not verify(CATALOGUE["skab"], folder).good
    shrink("nsl-kdd", n_test=41)
    assert verify(CATALOGUE["nsl-kdd"], folder).message == "80 + 40 rows; the published nsl-kdd has 80 + 41."


def test_the_command(folder):
    run = CliRunner()
    shown = json.loads(run.invoke(app, ["list", "--data", str(folder), "--json"]).output)
    found = {entry["name"]: entry for entry in shown}
    assert found["nsl-kdd"]["folder"] == str(folder / "NSL-KDD")
    assert found["skab"]["problem"] == "detection"
    assert "2,000" in run.invoke(app, ["list", "--data", str(folder)]).output
    assert run.invoke(app, ["verify", "nsl-kdd", "nab", "--data", str(folder)]).exit_code == 0


def test_paths_of_pyclad_files(folder):
    path = folder / "pyclad" / CATALOGUE["pyclad-nsl-kdd"].files[0].name
    by_path = make_stream(str(path))
    assert by_path.fingerprint == make_stream("pyclad-nsl-kdd", data=folder).fingerprint
    with pytest.raises(UsageError, match="its concepts are made already"):
        make_stream(str(path), n_concepts=3)
