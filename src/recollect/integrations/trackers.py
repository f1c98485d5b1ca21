"""Send results to a tracker: scalars named by metric id, the curve over rows, the table, and the matrix as an image."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


def to_mlflow(results: Sequence[Result], *, where: str | None = None, project: str = "recollect") -> list[str]:
    """Send to MLflow: a run per result. `where` is the tracking URI; by default as MLflow is configured."""
    import mlflow

    if where is not None:
        mlflow.set_tracking_uri(where)
    mlflow.set_experiment(project)
    sent = []
    for result in results:
        with mlflow.start_run(run_name=result.name) as run:
            mlflow.log_params(dict(result.parameters))
            mlflow.log_metrics(dict(result.scalars))
            for name, values in result.curves.items():
                for step, value in enumerate(values):
                    if not np.isnan(value):
                        mlflow.log_metric(f"{name}.curve", value, step=step)
            mlflow.log_text(result.table.csv(), "metrics.csv")
            mlflow.log_text(result.table.markdown(), "metrics.md")
            if result.matrix is not None:
                _log_bytes(mlflow, result.matrix, "matrix.png")
            sent.append(f"{result.name}: MLflow run {run.info.run_id}")
    return sent


def _log_bytes(mlflow: Any, data: bytes, name: str) -> None:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(data)
        mlflow.log_artifact(str(file))


def to_wandb(results: Sequence[Result], *, where: str | None = None, project: str = "recollect") -> list[str]:
    """Send to Weights & Biases: a run per result. `where` is its folder; WANDB_MODE=offline keeps all on disk."""
    import wandb

    sent = []
    for result in results:
        run = wandb.init(
            project=project, name=result.name, config=dict(result.parameters), dir=where, reinit="finish_previous"
        )
        longest = max((len(values) for values in result.curves.values()), default=0)
        for step in range(longest):
            now = {
                f"{name}.curve": v[step] for name, v in result.curves.items() if step < len(v) and not np.isnan(v[step])
            }
            run.log(now, step=step)
        pictures: dict[str, Any] = {
            "metrics": wandb.Table(list(result.table.columns), [list(r) for r in result.table.rows])
        }
        if result.matrix is not None:
            from PIL import Image

            pictures["matrix"] = wandb.Image(Image.open(io.BytesIO(result.matrix)))
        run.log(pictures)
        run.summary.update(dict(result.scalars))
        sent.append(f"{result.name}: wandb run {run.id} in {run.dir}")
        run.finish()
    return sent


def to_tensorboard(results: Sequence[Result], *, where: str | None = None, project: str = "recollect") -> list[str]:
    """Write TensorBoard's event files: a folder per result below `where` (by default `tensorboard/`)."""
    from pathlib import Path

    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.text.metadata import create_summary_metadata
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    sent = []
    for result in results:
        folder = (
            Path(where or "tensorboard")
            / project
            / "".join(c if c.isalnum() or c in "-_." else "_" for c in result.name)
        )
        writer = EventFileWriter(str(folder))

        def add(value: Any, step: int = 0, writer: Any = writer) -> None:
            writer.add_event(Event(step=step, summary=Summary(value=[value])))

        for name, scalar in result.scalars.items():
            add(Summary.Value(tag=name, simple_value=scalar))
        for name, values in result.curves.items():
            for step, scalar in enumerate(values):
                if not np.isnan(scalar):
                    add(Summary.Value(tag=f"{name}.curve", simple_value=scalar), step)
        text = Summary.Value(tag="metrics", metadata=create_summary_metadata("metrics", ""))
        text.tensor.dtype = 7  # a string
        text.tensor.string_val.append(result.table.markdown().encode())
        text.tensor.tensor_shape.dim.add(size=1)
        add(text)
        if result.matrix is not None:
            height, width = (int.from_bytes(result.matrix[at : at + 4]) for at in (20, 16))
            image = Summary.Image(height=height, width=width, colorspace=4, encoded_image_string=result.matrix)
            add(Summary.Value(tag="matrix", image=image))
        writer.close()
        sent.append(f"{result.name}: {folder}")
    return sent


TRACKERS = {"mlflow": to_mlflow, "wandb": to_wandb, "tensorboard": to_tensorboard}
