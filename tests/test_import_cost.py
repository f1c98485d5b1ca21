"""`import recollect` loads numpy and nothing else that is large; benchmarks/startup.py measures the time."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("scipy", "typer", "rich", "pandas", "xarray", "torch", "click", "matplotlib", "sklearn")
LATER = ("recollect.runs", "recollect.stats", "recollect.cli", "recollect.report")


def modules_after(statement):
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}, done.stdout.split()


@pytest.mark.parametrize(
    "statement",
    [
        "import recollect",
        "import recollect; recollect.score(recollect.ScoreMatrix([[.8, .1], [.6, .9]]), 'acc.average')",
    ],
)
def test_import_brings_nothing_heavy(statement):
    packages, _ = modules_after(statement)
    assert "numpy" in packages
    assert not packages & set(HEAVY)


def test_layers_above_the_metrics_come_when_used():
    _, modules = modules_after("import recollect")
    assert not [name for name in modules if name.startswith(("recollect.runs", "recollect.stats", "recollect.cli"))]
