"""The tutorial of docs/versions.md, in a reduced form: a small language model is trained in steps and evaluated."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect.cli import build

ROOT = Path(__file__).parents[1]
FEWER = ("--base-steps", "2", "--steps", "2", "--test", "4")


def commands_of_the_tutorial() -> list[list[str]]:
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"## From nothing to the page\n\n```\n(.*?)```", page, re.DOTALL)
    return [shlex.split(line, comments=True) for line in block.splitlines()]


def test_the_commands_of_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    install, train, *commands = commands_of_the_tutorial()
    assert install[:2] == ["pip", "install"]
    assert train[0] == "python"
    subprocess.run([sys.executable, str(ROOT / train[1]), *train[2:], *FEWER], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    assert [words[1] for words in commands] == ["report", "check", "items"]
    for _, command, *words in commands:
        result = CliRunner().invoke(build((command,)), [command, *words])
        assert result.exit_code in ((0, 1) if command == "check" else (0,)), result.output
    assert "data-picture" in (tmp_path / "report.html").read_text()
    said = CliRunner().invoke(build(("items",)), ["items", "evals", "--json"])
    flows = json.loads(said.stdout)
    assert {flow["task"] for flow in flows} == {"general", "sums", "reversing", "plural"}
    assert all(sum(flow[kind] for kind in ("always", "forgotten", "learned", "never")) == 4 for flow in flows)
