"""Send results to a tracker: scalars named by metric id, the curve over rows, the table, and the matrix as an image."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from recollect.errors import UsageError
from recollect.metrics import registry
from recollect.report.figures import make_figure
from recollect.report.gather import gather
from recollect.report.summary import Line, summarise
from recollect.report.words import interval, shown
from recollect.runs import Group
from recollect.text import Table


@dataclass(frozen=True)
class Result:
    """What is sent of one group of runs: a tracker's run."""

    name: str
    parameters: Mapping[str, str]
    scalars: Mapping[str, float]
    curves: Mapping[str, Sequence[float]]
    table: Table
    matrix: bytes | None


def results_of(groups: Sequence[Group], ids: Sequence[str]) -> list[Result]:
    """One result per learner and stream; metrics that have no value there are not sent."""
    lines = summarise(groups, registry.resolve_all(ids), curve=True)
    return [_result(group, [line for line in lines if line.group is group]) for group in groups]


def _result(group: Group, lines: Sequence[Line]) -> Result:
    known = [line for line in lines if not np.isnan(line.estimate.value)]
    if not known:
        raise UsageError(f"{group.learner} on {group.stream} has no value of any metric that was asked for.")
    curves = {line.id: [float(v) for v in np.atleast_1d(line.curve.value)] for line in known if line.curve is not None}
    return Result(
        name=f"{known[0].label} on {known[0].stream}",
        parameters={
            "learner": group.learner,
            "stream": group.stream,
            "seeds": ",".join(str(seed) for seed in group.seeds),
            "metric": group.metric,
            **{f"option.{name}": str(value)[:250] for name, value in group.learner_config.items()},
        },
        scalars={line.id: float(line.estimate.value) for line in known},
        curves=curves,
        table=Table(
            ("metric", "value", "95 % interval", "n"),
            tuple(
                (
                    line.id,
                    shown(float(line.estimate.value)),
                    interval(float(line.estimate.low), float(line.estimate.high)),
                    str(line.estimate.n),
                )
                for line in known
            ),
        ),
        matrix=_matrix(group),
    )


def _matrix(group: Group) -> bytes | None:
    """The score matrix as a PNG; None where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("agg")
    figure = make_figure("matrix", gather([group]).streams[0])
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    return picture.getvalue()


class Sent(Protocol):
    """A run of a tracker that is open: values by name as they come, and the result at its end."""

    place: str

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Values at a step."""

    def close(self, result: Result | None, *, failed: bool = False) -> None:
        """End it, with its scalars, its table and its matrix if it has them."""


class Mlflow:
    """A run of MLflow's; `where` is the tracking URI, by default as MLflow is configured."""

    def __init__(self, name: str, parameters: Mapping[str, str], where: str | None, project: str) -> None:
        import mlflow

        if where is not None:
            mlflow.set_tracking_uri(where)
        experiment = mlflow.set_experiment(project)
        self._client = mlflow.MlflowClient()
        self._id = self._client.create_run(experiment.experiment_id, run_name=name).info.run_id
        for key, value in parameters.items():
            self._client.log_param(self._id, key, value)
        self.place = f"MLflow run {self._id}"

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Metrics at a step."""
        for name, value in values.items():
            self._client.log_metric(self._id, name, value, step=step)

    def close(self, result: Result | None, *, failed: bool = False) -> None:
        """Metrics, the table as csv and Markdown, the matrix as an image."""
        if result is not None:
            self.log(result.scalars, 0)
            self._client.log_text(self._id, result.table.csv(), "metrics.csv")
            self._client.log_text(self._id, result.table.markdown(), "metrics.md")
            if result.matrix is not None:
                with tempfile.TemporaryDirectory() as folder:
                    file = Path(folder) / "matrix.png"
                    file.write_bytes(result.matrix)
                    self._client.log_artifact(self._id, str(file))
        self._client.set_terminated(self._id, "FAILED" if failed else "FINISHED")


class Wandb:
    """A run of Weights & Biases'; `where` is its folder. WANDB_MODE=offline keeps all on disk."""

    def __init__(self, name: str, parameters: Mapping[str, str], where: str | None, project: str) -> None:
        import wandb

        self._wandb = wandb
        # Runs that are followed are open at the same time.
        self._run = wandb.init(project=project, name=name, config=dict(parameters), dir=where, reinit="create_new")
        self.place = f"wandb run {self._run.id} in {self._run.dir}"

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Values at a step."""
        self._run.log(dict(values), step=step)

    def close(self, result: Result | None, *, failed: bool = False) -> None:
        """The table, the matrix as an image, and the scalars as the run's summary."""
        if result is not None:
            rows = [list(row) for row in result.table.rows]
            pictures: dict[str, Any] = {"metrics": self._wandb.Table(list(result.table.columns), rows)}
            if result.matrix is not None:
                from PIL import Image

                pictures["matrix"] = self._wandb.Image(Image.open(io.BytesIO(result.matrix)))
            self._run.log(pictures)
            self._run.summary.update(dict(result.scalars))
        self._run.finish(exit_code=int(failed))


class TensorBoard:
    """An event file of TensorBoard's, in a folder of its own below `where` (by default `tensorboard/`)."""

    def __init__(self, name: str, parameters: Mapping[str, str], where: str | None, project: str) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
        folder = Path(where or "tensorboard") / project / plain
        self._writer = EventFileWriter(str(folder))
        self.place = str(folder)

    def _add(self, value: Any, step: int = 0) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._writer.add_event(Event(step=step, wall_time=time.time(), summary=Summary(value=[value])))

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Scalars at a step, on disk at once."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        for name, scalar in values.items():
            self._add(Summary.Value(tag=name, simple_value=scalar), step)
        self._writer.flush()

    def close(self, result: Result | None, *, failed: bool = False) -> None:
        """Scalars, the table as text, the matrix as an image."""
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.text.metadata import create_summary_metadata

        if result is not None:
            self.log(result.scalars, 0)
            text = Summary.Value(tag="metrics", metadata=create_summary_metadata("metrics", ""))
            text.tensor.dtype = 7  # a string
            text.tensor.string_val.append(result.table.markdown().encode())
            text.tensor.tensor_shape.dim.add(size=1)
            self._add(text)
            if result.matrix is not None:
                height, width = (int.from_bytes(result.matrix[at : at + 4]) for at in (20, 16))
                image = Summary.Image(height=height, width=width, colorspace=4, encoded_image_string=result.matrix)
                self._add(Summary.Value(tag="matrix", image=image))
        self._writer.close()


Opens = Callable[[str, Mapping[str, str], str | None, str], Sent]


def send(opens: Opens, results: Sequence[Result], *, where: str | None = None, project: str = "recollect") -> list[str]:
    """Send results to a tracker, a run of it for each; where each of them is."""
    sent = []
    for result in results:
        run = opens(result.name, result.parameters, where, project)
        for step in range(max((len(values) for values in result.curves.values()), default=0)):
            now = {f"{name}.curve": v[step] for name, v in result.curves.items() if step < len(v)}
            run.log({name: value for name, value in now.items() if not np.isnan(value)}, step)
        run.close(result)
        sent.append(f"{result.name}: {run.place}")
    return sent


TRACKERS: dict[str, Opens] = {"mlflow": Mlflow, "wandb": Wandb, "tensorboard": TensorBoard}
