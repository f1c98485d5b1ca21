"""``recollect data``: which data sets there are, fetch one, check one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from recollect.cli import options, output
from recollect.errors import RecollectError
from recollect.streams import download
from recollect.streams.catalogue import CATALOGUE, Published, published
from recollect.streams.locate import find_folder
from recollect.streams.verify import FileCheck
from recollect.streams.verify import verify as verify_one
from recollect.text import Table

app = typer.Typer(
    name="data",
    help="List, fetch and check the data sets that streams are made of.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DataDir = Annotated[
    Path | None,
    typer.Option("--data", help="The folder that holds the data sets; else RECOLLECT_DATA, else the cache."),
]
Name = Annotated[str, typer.Argument(help="A data set, such as cifar100; `recollect data list` names them.")]
Names = Annotated[list[str] | None, typer.Argument(help="Data sets; nothing means all that are found here.")]


@app.command("list")
def list_(data: DataDir = None, as_json: options.AsJson = False) -> None:
    """List the data sets, what each holds, and where it was found.

    Example: recollect data list --data ~/datasets
    """
    found = {name: _folder(entry, data) for name, entry in CATALOGUE.items()}
    if as_json:
        output.show_json([_as_dict(entry, found[name]) for name, entry in CATALOGUE.items()])
        return
    rows = tuple(
        (name, str(e.classes), _sizes(e), found[name] or "not here", e.summary) for name, e in CATALOGUE.items()
    )
    output.show(Table(("name", "classes", "train + test", "where", "what it is"), rows))


@app.command("get")
def get(name: Name, data: DataDir = None) -> None:
    """Download a data set, unless it is found here; a broken download goes on where it was.

    Example: recollect data get cifar100
    """
    entry = published(name)
    on_terminal = sys.stderr.isatty()
    folder = download.get(entry, data, _show_progress if on_terminal else None)
    if on_terminal:
        print(file=sys.stderr)
    print(f"{name} is in {folder}." if folder else f"{name} is inside scikit-learn; there is nothing to fetch.")


@app.command("verify")
def verify(names: Names = None, data: DataDir = None, as_json: options.AsJson = False) -> None:
    """Check counts and hashes against the published ones; exit 1 if something differs.

    Example: recollect data verify cifar100 --data ~/datasets
    """
    entries = [published(name) for name in names or [n for n, e in CATALOGUE.items() if _folder(e, data)]]
    verdicts = [verify_one(entry, data) for entry in entries]
    if as_json:
        output.show_json([_verdict_as_dict(verdict) for verdict in verdicts])
    else:
        for verdict in verdicts:
            where = f" ({verdict.folder})" if verdict.folder and verdict.counts else ""
            print(f"{verdict.name}: {verdict.message}{where}")
    if not all(verdict.good for verdict in verdicts):
        raise typer.Exit(1)


def _folder(entry: Published, data: Path | None) -> str | None:
    if not entry.files:
        return "scikit-learn"
    try:
        return str(find_folder(entry, data))
    except RecollectError as error:
        if error.exit_code == 2:
            raise
        return None


def _sizes(entry: Published) -> str:
    sizes = [f"{n:,}" for n in (entry.n_train, entry.n_test) if n]
    return " + ".join(sizes) or "several"


def _show_progress(name: str, done: int, total: int) -> None:
    print(f"\r{name}: {done / 1e6:,.1f} of {total / 1e6:,.1f} MB", end="", file=sys.stderr, flush=True)


def _as_dict(entry: Published, folder: str | None) -> dict[str, Any]:
    return {
        "name": entry.name,
        "summary": entry.summary,
        "classes": entry.classes,
        "train": entry.n_train,
        "test": entry.n_test,
        "shape": list(entry.input_shape),
        "problem": entry.problem,
        "folder": folder,
        "home": entry.home,
    }


def _verdict_as_dict(verdict: FileCheck) -> dict[str, Any]:
    folder = str(verdict.folder) if verdict.folder else None
    return {
        "name": verdict.name,
        "folder": folder,
        "counts": verdict.counts,
        "identical": verdict.identical,
        "message": verdict.message,
    }
