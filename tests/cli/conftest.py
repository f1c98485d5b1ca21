"""Run the command in this process, as a shell would."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from recollect.cli import main

R1 = [[0.80, 0.10, 0.60, 0.05], [0.85, 0.70, 0.20, 0.10], [0.60, 0.75, 0.50, 0.30], [0.40, 0.80, 0.35, 0.90]]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def paragraph(self) -> str:
        """The one line that tells what is wrong; notes may stand before it."""
        said = [line for line in self.err.splitlines() if not line.startswith("note: ")]
        assert len(said) == 1, self.err
        return said[0]


Command = Callable[..., Result]


@pytest.fixture
def recollect(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def call(*words: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["recollect", *map(str, words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def r1(tmp_path: Path) -> Path:
    """The golden matrix as a csv file."""
    path = tmp_path / "r1.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in R1) + "\n")
    return path


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    """Two learners, five seeds each, as a long csv; `good` beats `bad` by 0.1 with every seed."""
    noise = np.random.default_rng(0).normal(0, 0.01, (5, 3, 3))
    lines = ["learner,stream,seed,after,on,score,n"]
    for learner, level in (("good", 0.8), ("bad", 0.7)):
        for seed in range(5):
            for i in range(3):
                lines += [f"{learner},toy,{seed},{i},{j},{level + noise[seed, i, j]:.6f},100" for j in range(3)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
