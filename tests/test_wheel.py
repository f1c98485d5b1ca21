"""The wheel, installed alone in a new environment: no dev tools, no extras, no source tree."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds the wheel and what it requires, nothing else."""
    place = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place, ROOT, cwd=place)
    (wheel,) = place.glob("*.whl")
    venv.create(place / "env", with_pip=True)
    bin = place / "env" / "bin"
    run(bin / "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel, cwd=place)
    return bin


def test_the_command_works(alone: Path, tmp_path: Path) -> None:
    assert "score" in run(alone / "recollect", "--help", cwd=tmp_path)
    assert "raf.michel2023" in run(alone / "recollect", "metrics", cwd=tmp_path)
    (tmp_path / "m.csv").write_text("0.8,0.1\n0.6,0.9\n")
    words = ("score", "m.csv", "-m", "forgetting.chaudhry2018", "--json")
    (line,) = json.loads(run(alone / "recollect", *words, cwd=tmp_path))
    assert line["value"] == pytest.approx(0.2)


def test_seeds_and_comparisons_work(alone: Path, tmp_path: Path) -> None:
    code = (
        "import numpy as np; R = np.random.default_rng(0).uniform(size=(5, 3, 3));"
        "np.save('er.npy', R); np.save('gdumb.npy', R / 2)"
    )
    run(alone / "python", "-c", code, cwd=tmp_path)
    made = json.loads(run(alone / "recollect", "compare", "er.npy", "gdumb.npy", "--json", cwd=tmp_path))
    assert made["streams"][0]["pairs"][0]["n"] == 5


def test_it_brings_no_heavy_dependency(alone: Path, tmp_path: Path) -> None:
    listed = {p["name"].lower() for p in json.loads(run(alone / "pip", "list", "--format", "json", cwd=tmp_path))}
    assert not listed & {"torch", "pandas", "scikit-learn", "matplotlib", "pydantic"}


def test_types_are_shipped(alone: Path, tmp_path: Path) -> None:
    code = "import recollect, pathlib; print((pathlib.Path(recollect.__file__).parent / 'py.typed').exists())"
    assert run(alone / "python", "-c", code, cwd=tmp_path).strip() == "True"


@pytest.mark.parametrize(
    "words", [("demo",), ("run", "e.yaml"), ("report", "m.csv"), ("figure", "matrix", "m.csv", "-o", "f.png")]
)
def test_a_missing_extra_is_one_line(alone: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "m.csv").write_text("0.8,0.1\n0.6,0.9\n")
    (tmp_path / "e.yaml").write_text("name: x\nstreams: [digits]\nlearners: [random]\nseeds: 1\n")
    done = subprocess.run([alone / "recollect", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    said = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert (done.returncode, len(said)) == (1, 1), done.stderr
    assert "pip install 'recollect[" in said[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["e.yaml", "m.csv"]
