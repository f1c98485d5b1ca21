"""How much code a reader walks through: functions, files and package borders on the way of two common jobs.

A profile hook counts every call inside `src/recollect` between two moments: from a 2 x 2 csv to its score, and from
a folder with one run to its page. A crossing is a call from one package (`runs`, `report`, ...) into another one.
Calls that happen while a module is imported are not counted.

Command: python benchmarks/walks.py   (prints; the table of before and after is in design/011-one-house.md)
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import recollect
from recollect.cli import main

ROOT = Path(recollect.__file__).parent


def package_of(path: str) -> str:
    """The package that a file of the tree belongs to, "" for files at its root."""
    parts = Path(path).relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else ""


def walk(job: Callable[[], Any]) -> tuple[int, int, int]:
    """Functions, files and crossings of package borders in one job."""
    functions: set[tuple[str, str, int]] = set()
    crossings = 0
    root = str(ROOT)

    def hook(frame: FrameType, event: str, _: Any) -> None:
        nonlocal crossings
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(root) or code.co_name == "<module>":
            return
        functions.add((code.co_filename, code.co_qualname, code.co_firstlineno))
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith(root):
            crossings += package_of(caller.f_code.co_filename) != package_of(code.co_filename)

    sys.setprofile(hook)
    try:
        job()
    finally:
        sys.setprofile(None)
    return len(functions), len({name for name, *_ in functions}), crossings


def command(*words: str) -> Callable[[], Any]:
    """A job that is a command line."""

    def run() -> None:
        sys.argv = ["recollect", *words]
        with contextlib.suppress(SystemExit):
            main()

    return run


def jobs(folder: Path) -> dict[str, Callable[[], Any]]:
    """The two jobs."""
    (folder / "er.csv").write_text("0.9,0.1\n0.6,0.8\n")
    run = Path(__file__).parent.parent / "results" / "cifar100" / "er-split-cifar100-s0"
    return {
        "a 2 x 2 csv to its score": command("score", str(folder / "er.csv")),
        "a run folder to its page": command("report", str(run), "-o", str(folder / "page.html")),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print("| walk | functions | files | crossings of package borders |\n|---|---|---|---|")
        for what, job in jobs(Path(temporary)).items():
            job()  # imports and caches are paid for here
            print(f"| {what} | {' | '.join(map(str, walk(job)))} |")
