import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import concept_stream, make_stream, stream_from_concepts
from recollect.streams.concepts.arrays import adbench_files, is_pyclad, read_adbench, read_pyclad
from tests.streams.concepts.files import write_adbench, write_pyclad


def test_adbench(tmp_path):
    write_adbench(tmp_path / "a")
    assert list(adbench_files(tmp_path / "a")) == ["cardio", "magic.gamma", "shuttle"]
    rows = read_adbench(tmp_path / "a", "Shuttle")
    assert (rows.name, rows.x.shape, int(rows.y.sum()), rows.test) == ("adbench:shuttle", (80, 3), 10, None)
    with pytest.raises(UsageError, match="no data set 'shutle'; did you mean 'shuttle'"):
        read_adbench(tmp_path / "a", "shutle")
    np.savez(tmp_path / "a" / "9_odd.npz", data=[1])
    with pytest.raises(UsageError, match="not a file of ADBench: it holds data"):
        read_adbench(tmp_path / "a", "odd")
    with open(tmp_path / "a" / "9_odd.npz", "wb") as file:
        np.save(file, [1])
    with pytest.raises(UsageError, match=r"is an \.npy file, whatever its name: one array, of shape \(1,\)"):
        read_adbench(tmp_path / "a", "odd")


def test_pyclad_is_passed_through_exactly(tmp_path):
    path = tmp_path / "x_plain.npz"
    arrays = write_pyclad(path)
    assert is_pyclad(path)
    stream = concept_stream(read_pyclad(path))
    assert [task.name for task in stream.tasks] == ["Cluster_0", "Cluster_1", "Cluster_2"]
    for k, batch in enumerate(stream.batches(seed=3)):
        assert batch.x.dtype == np.float64
        assert (batch.x == arrays[f"c{k}_train_data"]).all()
        x, y = stream.test_of(k)
        assert (x == arrays[f"c{k}_test_data"]).all()
        assert (y == arrays[f"c{k}_test_labels"]).all()


def test_pyclad_that_is_not(tmp_path):
    arrays = write_pyclad(tmp_path / "p.npz")
    del arrays["c1_test_labels"]
    np.savez(tmp_path / "half.npz", **arrays)
    with pytest.raises(UsageError, match="lacks c1_test_labels: a concept is c1_name, c1_train_data"):
        read_pyclad(tmp_path / "half.npz")
    np.savez(tmp_path / "other.npz", X=[1])
    assert not is_pyclad(tmp_path / "other.npz")
    assert not is_pyclad(tmp_path / "absent.npz")
    with pytest.raises(UsageError, match="has no concepts: c0_train_data is missing"):
        read_pyclad(tmp_path / "other.npz")
    np.save(tmp_path / "pickled.npy", np.array([{"name": "a"}], dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match="has no concepts: c0_train_data is missing"):
        read_pyclad(tmp_path / "pickled.npy")


def pickled_concepts(path, **changes):
    rng, labels = np.random.default_rng(0), [0, 1, 0, 1]
    made = []
    for name in ("day", "night"):
        train, test = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
        made.append({"name": name, "train_data": train, "test_data": test, "test_labels": labels})
    made[1].update(changes)
    np.save(path, np.array(made, dtype=object), allow_pickle=True)
    return made


def test_pyclads_own_file_is_read_without_running_it(tmp_path):
    made = pickled_concepts(tmp_path / "concepts.npy")
    stream = make_stream(str(tmp_path / "concepts.npy"))
    assert [task.name for task in stream.tasks] == ["day", "night"]
    x, y = stream.test_of(1)
    np.testing.assert_array_equal(x, made[1]["test_data"])
    assert y.tolist() == [0, 1, 0, 1]


class Hostile:
    def __reduce__(self):
        return (print, ("it ran",))


def test_a_hostile_file_of_concepts_runs_nothing(tmp_path, capsys):
    pickled_concepts(tmp_path / "concepts.npy", test_labels=Hostile())
    with pytest.raises(UsageError, match="it asks for"):
        make_stream(str(tmp_path / "concepts.npy"))
    assert capsys.readouterr().out == ""


def test_a_concept_without_its_parts_is_named(tmp_path):
    made = pickled_concepts(tmp_path / "concepts.npy")
    del made[1]["test_labels"]
    np.save(tmp_path / "concepts.npy", np.array(made, dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match="lacks c1_test_labels"):
        make_stream(str(tmp_path / "concepts.npy"))


def test_windows_in_three_dimensions_are_the_windows_of_a_table(tmp_path):
    x = np.arange(60.0).reshape(3, 10, 2) ** 1.5
    windows = np.stack([x[k, a : a + 4] for k in range(3) for a in range(7)])
    y, concept = np.tile([0, 0, 0, 1, 0, 0, 1], 3), np.repeat(["a", "b", "c"], 7)
    np.savez(tmp_path / "windows.npz", X=windows, y=y, concept=concept)
    stream = make_stream(str(tmp_path / "windows.npz"), scenario="concept-incremental")
    assert stream.input_shape == (8,)
    # The newest row first, as the option `window` has it, and as detectors of windows expect.
    assert stream.data.x_train[8].tolist() == x[1, 1:5][::-1].ravel().tolist()
    parts = [(name, windows[concept == name][:5], windows[concept == name][5:], [0, 1]) for name in "abc"]
    given = stream_from_concepts(parts)
    assert given.data.x_test[1].tolist() == x[0, 6:10][::-1].ravel().tolist()
    with pytest.raises(UsageError, match=r"holds windows, \(21, 4, 2\); leave out window"):
        make_stream(str(tmp_path / "windows.npz"), scenario="concept-incremental", window=3)
