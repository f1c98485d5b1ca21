"""`import recollect` loads numpy and nothing else that is large; benchmarks/startup.py measures the time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from recollect.cli import COMMANDS

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
    assert not packages & set(HEAVY)


def test_all_layers_come_when_used():
    packages, modules = modules_after("import recollect")
    assert "numpy" not in packages
    assert not [name for name in modules if name.startswith(LATER)]
    import recollect

    assert all(getattr(recollect, name) is not None and name in dir(recollect) for name in recollect.__all__)


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_help_and_version_import_no_command(asked):
    called = f"sys.argv = ['recollect', '{asked}']; import atexit, recollect.cli"
    told = "atexit.register(lambda: print(*sys.modules, sep='\\n'))"
    packages, modules = modules_after(f"{called}; {told}; recollect.cli.main()")
    assert "numpy" not in packages
    assert not [name for name in modules if name.startswith("recollect.cli.")]


def test_the_list_of_commands_is_that_of_the_commands_themselves(capsys):
    from recollect.cli import build

    def listed(names):
        with pytest.raises(SystemExit):
            build(names)(["--help"], prog_name="recollect")
        return capsys.readouterr().out

    assert listed(()) == listed(COMMANDS)


def test_scoring_a_file_brings_no_statistics_library(tmp_path):
    (tmp_path / "er.csv").write_text("0.9,0.1\n0.6,0.8\n")
    called = f"sys.argv = ['recollect', 'score', '{tmp_path / 'er.csv'}']; import atexit, recollect.cli"
    told = "atexit.register(lambda: print(*sys.modules, sep='\\n'))"
    packages, _ = modules_after(f"{called}; {told}; recollect.cli.main()")
    assert not packages & {"scipy", "pandas", "torch", "matplotlib", "sklearn"}
