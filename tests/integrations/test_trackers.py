"""What is sent to a tracker, and that the trackers' own readers find it there."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from recollect.integrations.trackers import Mlflow, Result, TensorBoard, Wandb, results_of, send
from recollect.runs import Row, Run, Task, group


@pytest.fixture
def results() -> list[Result]:
    rows = (Row(0, scores={"accuracy": (0.9, 0.1)}), Row(1, scores={"accuracy": (0.7, 0.8)}))
    tasks = (Task("a", n_samples=100), Task("b", n_samples=100))
    runs = [
        Run(learner="er", stream="toy", seed=seed, tasks=tasks, rows=rows, learner_config={"memory": 20})
        for seed in (0, 1)
    ]
    return results_of(group(runs), ["acc.average", "forgetting.chaudhry2018", "fwt.lopezpaz2017"])


def test_scalars_are_named_by_id_and_what_has_no_value_is_not_sent(results: list[Result]) -> None:
    (result,) = results
    assert result.name == "er on toy"
    assert result.scalars == {"acc.average": pytest.approx(0.75), "forgetting.chaudhry2018": pytest.approx(0.2)}
    assert result.parameters["option.memory"] == "20"
    assert result.parameters["seeds"] == "0,1"
    assert result.matrix is None or result.matrix.startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_reads_its_event_files(results: list[Result], tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is tested in an environment of its own")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    send(TensorBoard, results, where=str(tmp_path))
    found = EventAccumulator(str(tmp_path / "recollect" / "er_on_toy")).Reload()
    assert found.Scalars("acc.average")[0].value == pytest.approx(0.75)
    assert [event.step for event in found.Scalars("acc.average.curve")] == [0, 1]
    assert results[0].matrix is None or found.Images("matrix")[0].encoded_image_string == results[0].matrix


@pytest.mark.filterwarnings("ignore")
def test_mlflow_has_the_run(results: list[Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="MLflow is tested in an environment of its own")
    pytest.importorskip("sqlalchemy", reason="MLflow's local store needs the whole package")
    monkeypatch.chdir(tmp_path)
    send(Mlflow, results, where=f"sqlite:///{tmp_path}/mlflow.db")
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("recollect")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.data.metrics["acc.average"] == pytest.approx(0.75)
    assert run.data.params["learner"] == "er"
    assert {file.path for file in client.list_artifacts(run.info.run_id)} >= {"metrics.csv", "metrics.md"}


@pytest.mark.filterwarnings("ignore")
def test_wandb_keeps_the_run_on_disk(results: list[Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is tested in an environment of its own")
    monkeypatch.setenv("WANDB_MODE", "offline")
    send(Wandb, results, where=str(tmp_path))
    (folder,) = (tmp_path / "wandb").glob("offline-run-*")
    # Another process writes the file, and may still be at it.
    ends = time.monotonic() + 30
    while b"forgetting.chaudhry2018" not in next(folder.glob("run-*.wandb")).read_bytes():
        assert time.monotonic() < ends
        time.sleep(0.2)
    summary = next(iter(folder.glob("files/wandb-summary.json")), None)
    assert summary is None or json.loads(summary.read_text())["acc.average"] == pytest.approx(0.75)
