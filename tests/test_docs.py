"""What the documentation shows is what the code takes: experiment files, the script of the week, links to pages."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from recollect.experiments.file import parse
from recollect.experiments.tuning import read_search, settings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    (page, block)
    for page in PAGES
    for block in re.findall(r"```ya?ml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]
# A learner or stream of the reader is not there to be imported.
_OWN = re.compile(r"\w+(\.\w+)*:\w+")


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=lambda given: getattr(given, "name", ""))
def test_an_experiment_on_a_page_is_one(page: Path, block: str) -> None:
    content = yaml.safe_load(block)
    assert content, page
    if not isinstance(content, dict) or not {"name", "streams", "learners", "seeds"} <= set(content):
        return
    content["learners"] = [one for one in content["learners"] if not _OWN.search(str(one))]
    content.pop("tune", None)
    assert parse(yaml.safe_dump(content), str(page)).learners


def test_there_are_experiments_on_the_pages() -> None:
    whole = [block for _, block in BLOCKS if "streams:" in block and "seeds:" in block]
    assert len(whole) >= 4


def test_the_weeks_files_are_what_the_commands_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = ROOT / "examples" / "week.sh"
    text = script.read_text(encoding="utf-8")
    (code,) = re.findall(r"<<'PY'\n(.*?)\nPY\n", text, re.DOTALL)
    (file,) = re.findall(r"<<'YAML'\n(.*?)\nYAML\n", text, re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    (tmp_path / "week.yaml").write_text(file)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    experiment, search = read_search(tmp_path / "week.yaml")
    assert [entry.label for entry in experiment.learners] == ["finetune", "er", "surprised", "mir"]
    assert len(settings(experiment, search)) == 21
    if (bash := shutil.which("bash")) is not None:
        subprocess.run([bash, "-n", script], check=True)


def test_every_page_is_linked_from_another() -> None:
    linked = {name for page in PAGES for name in re.findall(r"([\w-]+)\.md", page.read_text(encoding="utf-8"))}
    top = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert top <= linked, f"no page leads to {sorted(top - linked)}"


def _sessions(page: Path) -> list[tuple[str, list[str]]]:
    """The console lines of a page with what they print."""
    text = "\n".join(re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    return [(first, rest) for first, *rest in (part.splitlines() for part in re.split(r"^\$ ", text, flags=re.M)[1:])]


@pytest.mark.parametrize("name", ["which-number", "gate"])
def test_what_a_page_shows_is_what_the_commands_print(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from recollect.cli import build

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for command, shown in _sessions(ROOT / "docs" / f"{name}.md"):
        program, *words = shlex.split(command)
        if program == "cat":
            Path(words[0]).write_text("\n".join(shown).strip() + "\n")
            continue
        printed = CliRunner().invoke(build(), words, prog_name="recollect").output.splitlines()
        assert [line.rstrip() for line in shown if line.strip()], command
        assert set(shown) - {""} <= {line.rstrip() for line in printed}, command


def test_the_gallery_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "docs" / "gallery.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_page_has_its_place_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("nav:")[2]
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    assert pages == set(re.findall(r" ([\w-]+\.md)", nav))
