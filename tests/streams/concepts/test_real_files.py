"""The real files, where this machine has them: RECOLLECT_DATA names their folder."""

import numpy as np
import pytest

from recollect.streams.catalogue import CATALOGUE
from recollect.streams.locate import find_folder
from recollect.streams.verify import verify

pytest.importorskip("pandas")
pytest.importorskip("sklearn")


def sizes(stream):
    return {task.name: (len(task.train), len(task.test)) for task in stream.tasks}


def test_nsl_kdd_by_family(real):
    stream = real("nsl-kdd", concepts="families")
    # 67,343 normal training rows in four parts; 9,711 normal test rows in four, and the attacks of KDDTest+.
    anomalies = [int(stream.test_of(k)[1].sum()) for k in range(4)]
    assert anomalies == [7458, 2421, 2754, 200]
    assert sizes(stream) == {
        "DoS": (16836, 2428 + 7458),
        "Probe": (16836, 2428 + 2421),
        "R2L": (16836, 2428 + 2754),
        "U2R": (16835, 2427 + 200),
    }
    assert stream.input_shape == (122,)


def test_nsl_kdd_in_clusters(real):
    stream = real("nsl-kdd")
    assert stream.n_train == 67_343
    assert sum(len(task.test) for task in stream.tasks) == 22_544
    assert all(0 < stream.test_of(k)[1].mean() < 1 for k in range(5))


def test_the_example_of_pyclad_is_passed_through(real):
    stream = real("pyclad-nsl-kdd")
    entry = CATALOGUE["pyclad-nsl-kdd"]
    with np.load(find_folder(entry) / entry.files[0].name) as file:
        for k, batch in enumerate(stream.batches(seed=0)):
            assert batch.x.dtype == np.float64
            assert (batch.x == file[f"c{k}_train_data"]).all()
            assert (stream.test_of(k)[0] == file[f"c{k}_test_data"]).all()
            assert (stream.test_of(k)[1] == file[f"c{k}_test_labels"]).all()
            assert stream.tasks[k].name == str(file[f"c{k}_name"])


def test_unsw_nb15(real):
    stream = real("unsw-nb15", concepts="families")
    assert [task.name for task in stream.tasks][:3] == ["Analysis", "Backdoor", "DoS"]
    assert len(stream.tasks) == 9


def test_the_series(real):
    assert sizes(real("skab")) == {"valve1": (6400, 11760), "valve2": (1600, 2712), "other": (5304, 9329)}
    nab = real("nab")
    assert (len(nab.tasks), nab.input_shape) == (6, (10,))
    assert all(0 < nab.test_of(k)[1].mean() < 0.2 for k in range(6))


def test_a_table_of_adbench(real):
    stream = real("adbench:cardio", n_concepts=3, order="similarity")
    assert sum(len(task.train) + len(task.test) for task in stream.tasks) == 1831


@pytest.mark.parametrize("name", ["nsl-kdd", "unsw-nb15", "skab", "nab", "adbench", "pyclad-nsl-kdd"])
def test_counts(real, name):
    verdict = verify(CATALOGUE[name])
    if verdict.folder is None:
        pytest.skip(verdict.message)
    assert verdict.good, verdict.message
