"""The tutorial of a table of one's own: its blocks run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recollect.experiments.file import parse
from recollect.experiments.grid import grid
from recollect.experiments.worker import run_job
from recollect.metrics import score
from recollect.runs.reading import read_run

PAGE = Path(__file__).parents[3] / "docs" / "own-table.md"


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(code, "make_plant.py", "exec"), {})
    first, second = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for text in (first, second):
        for job in grid(parse(text), tmp_path / "results"):
            run_job(job, lambda *given: None)
            run = read_run(job.folder)
            assert run.status == "finished", run.error
    assert any("lie in the training period" in note for note in read_run(grid(parse(first), "results")[0].folder).notes)
    assert 0 <= score(run.matrix, "anytime.online") <= 1
    assert run.visits[1][1] == 1
