"""`--rows time|tasks`: every command takes it, and nothing is turned in silence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recollect.runs import load
from tests.cli.conftest import Command
from tests.test_orientation import KEPT

AF = 0.5 * ((0.96 - 0.82) + (0.97 - 0.94))


def written(folder: Path, suffix: str, R: np.ndarray) -> Path:
    path = folder / f"scores{suffix}"
    if suffix == ".npy":
        np.save(path, R)
    elif suffix == ".npz":
        np.savez(path, R=R)
    elif suffix == ".json":
        path.write_text(json.dumps(R.tolist()))
    else:
        path.write_text("\n".join(",".join(map(str, row)) for row in R.tolist()))
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".json", ".csv"])
def test_a_transposed_file_is_doubted_and_turned_when_told(recollect: Command, tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, suffix, KEPT.T)
    words = ("score", path, "-m", "forgetting.chaudhry2018", "--json")
    doubted, turned, taken = (
        recollect(*words),
        recollect(*words, "--rows", "tasks"),
        recollect(*words, "--rows", "time"),
    )
    assert "may be transposed" in doubted.err
    assert "may be transposed" not in turned.err + taken.err
    assert doubted.err.count("may be transposed") == 1
    assert json.loads(turned.out)[0]["value"] == pytest.approx(AF)
    assert "was turned" in turned.err
    assert json.loads(doubted.out)[0]["value"] == json.loads(taken.out)[0]["value"]
    assert "transposed" not in recollect("score", written(tmp_path, suffix, KEPT)).err


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".json", ".csv"])
@pytest.mark.parametrize("empty", [0.0, np.nan])
def test_an_empty_lower_triangle_is_refused_until_told(
    recollect: Command, tmp_path: Path, suffix: str, empty: float
) -> None:
    R = np.where(np.tri(3) == 1, KEPT, empty)
    if suffix == ".json" and np.isnan(empty):
        pytest.skip("JSON has no NaN")
    path = written(tmp_path, suffix, R.T)
    refused = recollect("score", path)
    assert refused.code == 2
    assert "--rows tasks" in refused.paragraph
    turned = recollect("score", path, "-m", "forgetting.chaudhry2018", "--json", "--rows", "tasks")
    assert json.loads(turned.out)[0]["value"] == pytest.approx(AF)


@pytest.mark.parametrize(
    "words",
    [
        ("dialects", "PATH", "-f", "forgetting"),
        ("identify", "PATH", "--value", "0.085"),
        ("check", "PATH", "--max", "forgetting.chaudhry2018=0.1"),
        ("compare", "PATH"),
        ("report", "PATH", "-o", "OUT.html"),
        ("figure", "matrix", "PATH", "-o", "OUT.svg"),
        ("import", "npy", "PATH", "-o", "OUT"),
    ],
)
def test_every_command_takes_rows(recollect: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    runs = np.stack([KEPT.T, KEPT.T - 0.01])
    path = written(tmp_path, ".npy", runs)
    said = [word.replace("PATH", str(path)) for word in words]
    plain = recollect(*(word.replace("OUT", str(tmp_path / "plain")) for word in said))
    assert "may be transposed" in plain.err
    told = recollect(*(word.replace("OUT", str(tmp_path / "told")) for word in said), "--rows", "tasks")
    assert "was turned" in told.err
    assert "may be transposed" not in told.err
    assert told.code == plain.code == 0 or words[0] in ("check", "identify", "compare")
    if words[0] == "check":
        assert (plain.code, told.code) == (1, 0)


def test_rows_tasks_without_a_matrix_file_is_wrong_use(recollect: Command, tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("after,on,score\n0,0,0.9\n1,0,0.8\n1,1,0.9\n")
    result = recollect("score", path, "--rows", "tasks")
    assert result.code == 2
    assert "matrix files" in result.paragraph
    assert recollect("score", path, "--rows", "time").code == 0


def test_names_go_with_their_axis(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("test,untrained,x,y\ndogs,0.1,0.9,0.5\ncats,0.2,0.1,0.8\n")
    (run,) = load(path, rows="tasks")
    assert [task.name for task in run.tasks] == ["dogs", "cats"]
    assert run.matrix.R.tolist() == [[0.9, 0.1], [0.5, 0.8]]
    assert run.matrix.b is not None
    assert run.matrix.b.tolist() == [0.1, 0.2]


def test_columns_named_like_moments_are_refused(recollect: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("task,after 1,after 2\ndogs,0.9,0.5\ncats,0.1,0.8\n")
    assert "moments of training" in recollect("score", path).paragraph
    (run,) = load(path, rows="tasks")
    assert run.matrix.R.tolist() == [[0.9, 0.1], [0.5, 0.8]]
    path.write_text("row,dogs,cats\nafter 1,0.9,0.1\nafter 2,0.5,0.8\n")
    assert load(path)[0].source.rows == "time"


def test_what_was_told_is_in_the_record(recollect: Command, tmp_path: Path) -> None:
    path = written(tmp_path, ".npy", np.where(np.tri(3) == 1, KEPT, 0).T)
    assert recollect("import", "npy", path, "-o", tmp_path / "out", "--rows", "time").code == 0
    again = recollect("score", tmp_path / "out", "-m", "acc.average")
    assert again.code == 0
    assert "transposed" not in again.err
