"""``recollect export``: results in the formats that others read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from recollect.cli import options
from recollect.errors import NotComputable
from recollect.runs import Run
from recollect.runs.files import folder_name, make_folder, write_atomic


@options.takes_inputs
def export(
    format: Annotated[Literal["every-eval-ever", "eval-results"], typer.Argument(help="The format to write.")],
    paths: options.Paths,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write into; made if it is not there.")],
    organisation: Annotated[str, typer.Option("--organisation", help="Who evaluated.")] = "unknown",
    *,
    inputs: options.Inputs,
) -> None:
    """Write results as Every Eval Ever 0.3 (one file per row), or as .eval_results of the Hugging Face Hub (last row).

    Example: recollect export every-eval-ever evals/ -o shared/
    """
    files = {
        name: text
        for run in inputs.runs(paths)
        for name, text in (_documents(run, organisation) if format == "every-eval-ever" else _hub(run)).items()
    }
    if not files:
        raise NotComputable("there is no score to write.")
    make_folder(out)
    for name, text in files.items():
        make_folder((out / name).parent)
        write_atomic(out / name, text.encode())
        typer.echo(str(out / name))


def _documents(run: Run, organisation: str) -> dict[str, str]:
    from recollect.runs.importers.versions.every_eval_ever import to_every_eval_ever

    made = to_every_eval_ever(run, organisation)
    names = [folder_name(run.learner, run.metric, f"{place:03d}") for place in range(len(made))]
    return {f"{name}.json": json.dumps(one, indent=1) + "\n" for name, one in zip(names, made, strict=True)}


def _hub(run: Run) -> dict[str, str]:
    from recollect.report.model_card import eval_results

    text = eval_results(run)
    return {f".eval_results/{folder_name(run.learner, run.metric)}.yaml": text} if text else {}
