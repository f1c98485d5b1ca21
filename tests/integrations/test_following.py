"""Runs that are sent to a tracker while they are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import recollect as rc
from recollect.integrations.following import follow
from recollect.integrations.trackers import Mlflow, Opens, Result, TensorBoard, Wandb
from recollect.learners import Setting, make_learner
from recollect.protocol import iter_run
from recollect.runs.reading import read_run
from recollect.runs.seeds import derive
from recollect.streams import make_stream

IDS = ["acc.average", "forgetting.chaudhry2018"]


@dataclass
class Fake:
    """A tracker in memory."""

    name: str
    logged: dict[int, dict[str, float]] = field(default_factory=dict)
    ended: list[Any] = field(default_factory=list)
    place: str = "here"

    def log(self, values: Mapping[str, float], step: int) -> None:
        assert step not in self.logged, "sent twice"
        self.logged[step] = dict(values)

    def close(self, result: Result | None, *, failed: bool = False) -> None:
        self.ended.append((result, failed))


class Making:
    """An experiment that goes on whenever the follower sleeps: two seeds, the second fails if wanted."""

    def __init__(self, folder: Path, fails: bool = False) -> None:
        self.folder, self.fails = folder, fails
        self.steps = self._all()
        self.looks = 0

    def _all(self) -> Any:
        stream = make_stream("digits", tasks=5, subset=40)
        for seed in (0, 1):
            learner = make_learner("er", {"memory": 20, "hidden": [8]}, Setting.of(stream), derive(seed))
            if self.fails and seed:
                learner.learn = None  # type: ignore[method-assign, assignment]
            place = self.folder / f"er-{seed}"
            try:
                yield from iter_run(
                    learner, stream, place, name="er", seed=seed, config={"memory": 20}, planned_seeds=(0, 1)
                )
            except TypeError:
                yield None

    def __call__(self, seconds: float) -> None:
        self.looks += 1
        assert self.looks < 40
        next(self.steps, None)


def followed(
    folder: Path, making: Making | None = None, opens: Any = None, **more: Any
) -> tuple[list[Fake], list[str]]:
    runs: list[Fake] = []
    said: list[str] = []

    def fake(name: str, parameters: Mapping[str, str], where: str | None, project: str) -> Fake:
        runs.append(Fake(name))
        assert parameters["option.memory"] == "20"
        return runs[-1]

    follow([folder], IDS, opens or fake, say=said.append, sleep=making or (lambda seconds: None), **more)
    return runs, said


def test_rows_are_sent_as_they_come_and_the_result_at_the_end(tmp_path: Path) -> None:
    making = Making(tmp_path)
    runs, said = followed(tmp_path, making)
    assert [run.name for run in runs] == ["er on digits, seed 0", "er on digits, seed 1"]
    assert making.looks > 8  # not all at the end
    for seed, run in enumerate(runs):
        there = read_run(tmp_path / f"er-{seed}")
        curve = rc.score(there.matrix, "acc.average", curve=True)
        assert [run.logged[k]["acc.average.curve"] for k in range(5)] == pytest.approx(list(curve))
        assert "forgetting.chaudhry2018.curve" not in run.logged[0]
        ((result, failed),) = run.ended
        assert not failed
        assert result.scalars["acc.average"] == pytest.approx(curve[-1])
    assert len(said) == 2


def test_a_run_that_fails_is_told_and_closed(tmp_path: Path) -> None:
    runs, said = followed(tmp_path, Making(tmp_path, fails=True))
    assert [run.ended[0][1] for run in runs] == [False, True]
    assert any(line.startswith("failed er on digits, seed 1: TypeError") for line in said)


def test_a_run_that_stopped_is_left_after_a_while(tmp_path: Path) -> None:
    making = Making(tmp_path)
    for _ in range(3):
        making(0)
    making.steps.close()
    runs, said = followed(tmp_path, patience=3)
    assert sorted(runs[0].logged) == [0, 1]
    assert runs[0].ended == [(None, True)]
    assert "left as it is" in said[-1]


def test_damage_is_told_once(tmp_path: Path) -> None:
    making = Making(tmp_path)
    for _ in range(12):
        making(0)
    file = tmp_path / "er-1" / "rows.jsonl"
    file.write_bytes(file.read_bytes().replace(b"1", b"2"))
    runs, said = followed(tmp_path, patience=3)
    assert [run.name for run in runs] == ["er on digits, seed 0"]
    assert sum("cannot be read" in line for line in said) == 1


def test_nothing_to_follow_ends(tmp_path: Path) -> None:
    assert followed(tmp_path, patience=2) == ([], [])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("package", "opens"), [("tensorboard", TensorBoard), ("mlflow", Mlflow), ("wandb", Wandb)])
def test_the_trackers_themselves(tmp_path: Path, package: str, opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(package, reason=f"{package} is tested in an environment of its own")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.chdir(tmp_path)
    where = f"sqlite:///{tmp_path}/mlflow.db" if package == "mlflow" else str(tmp_path / "sent")
    (tmp_path / "sent").mkdir()
    folder = tmp_path / "runs"
    folder.mkdir()
    followed(folder, Making(folder), opens, where=where)
    if package == "tensorboard":
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        found = EventAccumulator(str(tmp_path / "sent" / "recollect" / "er_on_digits__seed_1")).Reload()
        assert [event.step for event in found.Scalars("acc.average.curve")] == [0, 1, 2, 3, 4]
        assert len(found.Scalars("acc.average")) == 1
    elif package == "mlflow":
        import mlflow

        client = mlflow.MlflowClient()
        experiment = client.get_experiment_by_name("recollect")
        runs = client.search_runs([experiment.experiment_id])
        assert {run.info.status for run in runs} == {"FINISHED"}
        assert len(client.get_metric_history(runs[0].info.run_id, "acc.average.curve")) == 5
    else:
        assert len(list((tmp_path / "sent" / "wandb").glob("offline-run-*"))) == 2
