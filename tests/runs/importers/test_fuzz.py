"""A hundred spoiled files per reader, and proof that the judge of the fuzzing sees what it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    # In a process of its own: an audit hook cannot be taken away again.
    path = os.pathsep.join([str(ROOT / "benchmarks"), str(ROOT / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


def test_spoiled_files_give_runs_or_a_paragraph(tmp_path):
    results = tmp_path / "table.md"
    script = str(ROOT / "benchmarks" / "fuzz_readers.py")
    done = python(script, "--inputs", "3100", "--workers", "1", "--seed", "11", "--results", str(results))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3,100 inputs, 0 failures" in done.stdout
    assert "| mammoth | 100 |" in results.read_text()


JUDGE = """
import sys, types
from pathlib import Path
import fuzz_readers
from recollect.runs import importers

def read(path):
    {body}

bad = types.SimpleNamespace(NAME="csv", SUMMARY="", sniff=lambda path: False, read=read)
importers.IMPORTERS["csv"] = bad
home = Path(sys.argv[1])
sample = fuzz_readers.Sample("csv", "a.csv", (), b"1", "text")
outcome = fuzz_readers.judge(sample, 0, home / "a.csv", fuzz_readers.Guard(home))
print(outcome.verdict, outcome.detail)
"""


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("raise KeyError('x')", "failed Traceback"),
        ("open(str(path) + '.new', 'w')", "for writing"),
        ("path.unlink(missing_ok=True)", "os.remove"),
        ("import os; os.system('true')", "os.system"),
        ("import socket; socket.socket()", "socket."),
        ("import pickle; pickle.loads(b'cos\\nsystem\\n.')", "pickle.find_class"),
        ("raise importers.UsageError('two' + chr(10) + 'lines')", "not one paragraph"),
        ("raise importers.UsageError('')", "not one paragraph"),
        ("return []", "gave no runs"),
        ("raise SystemExit", "failed Traceback"),
        ("raise importers.UsageError('one paragraph')", "refused"),
    ],
)
def test_the_judge_sees(tmp_path, body, seen):
    done = python("-c", JUDGE.replace("{body}", body), str(tmp_path))
    assert seen in done.stdout, done.stdout + done.stderr
