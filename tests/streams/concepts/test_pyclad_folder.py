"""The published form of pyCLAD's energy, wind, CAD and MCAD sets, from files made to the letter of its loaders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import make_stream

pandas = pytest.importorskip("pandas")


def frame(part: str, seed: int = 0):
    """Three concepts, numbered from 2 on, whose rows stand mixed; the middle one is first in the file."""
    rng = np.random.default_rng([seed, part == "test"])
    number = np.tile([3, 2, 4], 8)
    return pandas.DataFrame(
        {
            "power": rng.random(24) + number,
            "wind_speed": rng.random(24),
            "concept_id": number,
            "concept_name": [{2: "Spain", 3: "France", 4: "Poland"}[k] for k in number],
            "label": (np.arange(24) % 4 == 1).astype(int) if part == "test" else 0,
        }
    )


def publish(folder: Path, **frames) -> Path:
    folder.mkdir(parents=True)
    for part in ("train", "test"):
        frames.get(part, frame(part)).to_csv(folder / f"{part}.csv", index=False)
    return folder


def test_concepts_come_by_their_numbers_with_the_rows_that_pyclad_gives_them(tmp_path: Path) -> None:
    folder = publish(tmp_path / "wind" / "wind_random_anomalies")
    stream = make_stream(str(folder))
    assert [task.name for task in stream.tasks] == ["Spain", "France", "Poland"]
    for task, number in zip(stream.tasks, (2, 3, 4), strict=True):
        for part, x in (("train", stream.data.x_train), ("test", stream.data.x_test)):
            own = frame(part)[frame(part)["concept_id"] == number]
            rows = getattr(task, part)
            np.testing.assert_array_equal(x[rows], own[["power", "wind_speed"]])
            if part == "test":
                np.testing.assert_array_equal(stream.data.y_test[rows], own["label"])
    # Relative to the data folder, as any folder.
    again = make_stream("wind/wind_random_anomalies", data=tmp_path)
    assert again.fingerprint == stream.fingerprint


def test_shards_and_folders_of_parts_are_one_table(tmp_path: Path) -> None:
    whole = make_stream(str(publish(tmp_path / "a" / "energy")))
    parts = tmp_path / "b" / "energy"
    for part in ("train", "test"):
        (parts / part).mkdir(parents=True)
        frame(part)[:9].to_csv(parts / part / "0.csv", index=False)
        frame(part)[9:].to_csv(parts / part / "1.csv", index=False)
    assert make_stream(str(parts)).fingerprint == whole.fingerprint
    shards = tmp_path / "c" / "energy"
    shards.mkdir(parents=True)
    for part in ("train", "test"):
        for k, rows in enumerate((slice(0, 5), slice(5, None))):
            frame(part)[rows].to_csv(shards / f"energy_{part}-0000{k}-of-00002.csv", index=False)
    assert make_stream(str(shards)).fingerprint == whole.fingerprint


def test_parquet_is_the_same_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    whole = make_stream(str(publish(tmp_path / "a" / "energy")))
    other = tmp_path / "b" / "energy"
    other.mkdir(parents=True)
    for part in ("train", "test"):
        frame(part).to_parquet(other / f"{part}-00000-of-00001.parquet")
    assert make_stream(str(other)).fingerprint == whole.fingerprint


def test_windows_are_those_of_each_concept_and_part(tmp_path: Path) -> None:
    stream = make_stream(str(publish(tmp_path / "energy")), window=3, stride=2, window_label="any")
    assert stream.input_shape == (6,)
    assert [(len(task.train), len(task.test)) for task in stream.tasks] == [(3, 3)] * 3
    spain = frame("test").query("concept_id == 2")
    expected = [int(spain["label"][a : a + 3].any()) for a in (0, 2, 4)]
    assert stream.data.y_test[stream.tasks[0].test].tolist() == expected


def test_anomalies_among_training_rows_are_said_and_trained_on_when_asked(tmp_path: Path) -> None:
    train = frame("train").assign(label=lambda table: (table.index == 0).astype(int))
    folder = publish(tmp_path / "energy", train=train)
    stream = make_stream(str(folder))
    assert "1 anomalies of the training part are neither trained on nor tested" in stream.notes
    assert [len(task.train) for task in stream.tasks] == [8, 7, 8]
    assert [len(task.train) for task in make_stream(str(folder), contaminated=True).tasks] == [8, 8, 8]


def cad(folder: Path) -> Path:
    folder.mkdir()
    both = pandas.concat([frame(part).assign(task_split=part) for part in ("test", "train")])
    both = both.rename(columns={"concept_id": "task_id", "concept_name": "task_name"})
    both.to_csv(folder / "data.csv", index=False)
    orderings = [{"name": "curriculum_asc", "task_sequence": ["Poland", "Spain", "France"]}]
    (folder / "orderings.json").write_text(json.dumps({"orderings": orderings}))
    return folder


def test_one_table_with_orderings(tmp_path: Path) -> None:
    folder = cad(tmp_path / "CAD")
    assert [task.name for task in make_stream(str(folder)).tasks] == ["Spain", "France", "Poland"]
    named = make_stream(str(folder), order="curriculum_asc")
    assert [task.name for task in named.tasks] == ["Poland", "Spain", "France"]
    assert named.input_shape == (2,)  # the number of the task is no feature
    assert named.fingerprint == make_stream(str(folder), order=["Poland", "Spain", "France"]).fingerprint
    with pytest.raises(UsageError, match=r"ordering of orderings.json; 'curriculum_desc'\? did you mean"):
        make_stream(str(folder), order="curriculum_desc")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop(columns="concept_name"), "no column 'concept_name'"),
        (lambda t: t.assign(concept_name=["x", *t["concept_name"][1:]]), "3 is both 'x' and 'France'"),
        (lambda t: t.assign(concept_id=t["concept_id"] + 0.5), "a whole number"),
        (lambda t: t.assign(wind_speed=np.nan), "not finite: 24 in column 'wind_speed'"),
        (lambda t: t.drop(columns="wind_speed"), "the same features"),
        (lambda t: t.assign(label="normal"), "0 for a normal row and 1 for an anomaly"),
        (lambda t: t[t["concept_id"] != 4], "'Poland' of energy has no training rows"),
        (lambda t: t.assign(concept_id=t["concept_id"].replace(4, 7)), "'Poland' comes twice"),
    ],
)
def test_wrong_tables_are_one_paragraph(tmp_path: Path, change, said: str) -> None:
    folder = publish(tmp_path / "energy", train=change(frame("train")))
    with pytest.raises(UsageError, match=said) as caught:
        make_stream(str(folder))
    assert "\n" not in str(caught.value)


def test_options_that_make_concepts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="made already: it does not take the option n_concepts"):
        make_stream(str(publish(tmp_path / "energy")), n_concepts=3)
    with pytest.raises(UsageError, match="how many rows make one"):
        make_stream(str(tmp_path / "energy"), stride=3)
