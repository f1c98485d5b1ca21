"""The other commands, and what holds for all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect import __version__
from recollect.cli import COMMANDS, SUBCOMMANDS, build

from .conftest import Command


def test_dialects_shows_value_formula_and_who_prints_it(recollect: Command, r1: Path) -> None:
    out = recollect("dialects", r1, "-f", "forgetting").out
    (row,) = [line for line in out.splitlines() if line.startswith("forgetting.pycil")]
    assert "0.2000" in row
    assert "max_{j≤l≤k}" in row
    assert "PyCIL" in row


def test_dialects_covers_every_family_by_default(recollect: Command, r1: Path) -> None:
    ids = {line["id"] for line in json.loads(recollect("dialects", r1, "--json").out)}
    assert {"acc.average", "bwt.gem_code", "fwt.continuum", "intransigence.begin"} <= ids


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ("0.15", {"forgetting.first", "anytime.windowed_forgetting", "bwt.lopezpaz2017"}),
        ("15.0", {"forgetting.first", "anytime.windowed_forgetting", "bwt.lopezpaz2017"}),
        ("-9.17", {"bwt.diazrodriguez2018"}),
    ],
)
def test_identify(recollect: Command, r1: Path, value: str, ids: set[str]) -> None:
    result = recollect("identify", r1, f"--value={value}", "--json")
    assert result.code == 0
    assert {match["id"] for match in json.loads(result.out)} == ids


def test_identify_looks_in_a_family_without_a_reference(recollect: Command, r1: Path) -> None:
    done = recollect("identify", r1, "--value", "15.0", "-f", "forgetting", "--json")
    assert [found["id"] for found in json.loads(done.out)] == ["forgetting.first"]
    assert recollect("identify", r1, "--value", "15.0", "-f", "forgetting", "--reference", "prior").code == 2


def test_identify_says_none_plainly(recollect: Command, r1: Path) -> None:
    result = recollect("identify", r1, "--value", "0.4242")
    assert result.code == 1
    assert "none" in result.paragraph


def test_identify_refuses_words(recollect: Command, r1: Path) -> None:
    assert recollect("identify", r1, "--value", "much").code == 2


def test_compare_prints_the_smallest_p_that_n_allows(recollect: Command, seeds: Path) -> None:
    made = json.loads(recollect("compare", seeds, "--json").out)
    (pair,) = made["streams"][0]["pairs"]
    assert (pair["first"], pair["second"], pair["n"]) == ("good", "bad", 5)
    assert pair["difference"] == pytest.approx(0.1, abs=1e-4)
    assert pair["smallest_p"] == pytest.approx(2 / 2**5)
    assert pair["p"] == pair["smallest_p"] == pair["p_holm"]
    assert "0.062" in recollect("compare", seeds).out


def test_compare_pairs_the_seeds_that_both_have_and_says_so(recollect: Command, seeds: Path, tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text(seeds.read_text().replace("bad,toy,4,", "bad,toy,9,"))
    made = recollect("compare", tmp_path / "some.csv", "--json")
    (pair,) = json.loads(made.out)["streams"][0]["pairs"]
    assert pair["n"] == 4
    assert "each pair is compared on those that both have" in recollect("compare", tmp_path / "some.csv").err


def test_compare_refuses_unpaired_seeds_unless_told(recollect: Command, seeds: Path, tmp_path: Path) -> None:
    text = seeds.read_text()
    for seed in range(5):
        text = text.replace(f"bad,toy,{seed},", f"bad,toy,{seed + 10},")
    (tmp_path / "unpaired.csv").write_text(text)
    refused = recollect("compare", tmp_path / "unpaired.csv")
    assert refused.code == 1
    assert "same seeds" in refused.paragraph
    assert recollect("compare", tmp_path / "unpaired.csv", "--unpaired").code == 0


def test_compare_refuses_different_streams_unless_told(recollect: Command, seeds: Path, tmp_path: Path) -> None:
    (tmp_path / "streams.csv").write_text(seeds.read_text().replace("bad,toy,", "bad,other,"))
    assert recollect("compare", tmp_path / "streams.csv").code == 1
    assert recollect("compare", tmp_path / "streams.csv", "--different-streams").code == 0


def test_compare_needs_two(recollect: Command, r1: Path) -> None:
    assert recollect("compare", r1).code == 1


def test_check_is_a_gate(recollect: Command, r1: Path) -> None:
    assert recollect("check", r1, "--max", "forgetting.chaudhry2018=0.2").code == 0
    broken = recollect("check", r1, "--max", "forgetting.chaudhry2018=0.1", "--min", "acc.average=0.6")
    assert broken.code == 1
    assert "0.1833: above the largest allowed, 0.1" in broken.err
    assert "within the smallest allowed, 0.6" in broken.out


def test_check_sure_judges_the_interval(recollect: Command, seeds: Path, r1: Path) -> None:
    (good, _) = json.loads(recollect("score", seeds, "-m", "acc.average", "--json").out)
    between = (good["low"] + good["value"]) / 2
    words = ("check", seeds, "--min", f"acc.average={between - 0.1}")
    assert recollect(*words).code == 0
    assert recollect(*words, "--sure").code == 1
    unsure = recollect("check", r1, "--max", "forgetting.chaudhry2018=0.9", "--sure")
    assert unsure.code == 1
    assert "one seed gives no interval" in unsure.err


def test_check_fails_where_it_cannot_tell(recollect: Command, r1: Path) -> None:
    result = recollect("check", r1, "--min", "raa.michel2023=0")
    assert result.code == 1
    assert "--classes" in result.err
    assert recollect("check", r1).code == 2
    assert recollect("check", r1, "--max", "acc.average=high").code == 2


def test_metrics_lists_and_shows(recollect: Command) -> None:
    assert "forgetting.raptormai" in recollect("metrics").out
    assert len(recollect("metrics", "forgetting").out.splitlines()) == 12
    page = recollect("metrics", "forgetting.af").out
    assert "alias of forgetting.chaudhry2018" in page
    assert r"\max_{j\le l<k}" in page
    assert {"id", "latex", "source"} <= json.loads(recollect("metrics", "raa", "--json").out)[0].keys()
    assert "Did you mean" in recollect("metrics", "forgeting").paragraph


def test_import_writes_runs_that_score_the_same(recollect: Command, seeds: Path, tmp_path: Path) -> None:
    out = tmp_path / "imported"
    assert recollect("import", "auto", seeds, "-o", out).code == 0
    wanted = ("-m", "acc.average", "-m", "forgetting", "--json")
    key = "id", "learner", "value", "n", "low", "high"
    direct, stored = (
        sorted([line[k] for k in key] for line in json.loads(recollect("score", place, *wanted).out))
        for place in (seeds, out)
    )
    assert [line[:2] for line in stored] == [line[:2] for line in direct]
    for one, other in zip(stored, direct, strict=True):
        assert one[2:] == pytest.approx(other[2:], abs=1e-12)


def test_import_of_an_unknown_tool_writes_nothing(recollect: Command, seeds: Path, tmp_path: Path) -> None:
    result = recollect("import", "avalance", seeds, "-o", tmp_path / "out")
    assert result.code == 2
    assert "avalanche" in result.paragraph
    assert not (tmp_path / "out").exists()


def test_version_help_and_completion(recollect: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert __version__ in recollect("--version").out
    assert recollect("nonsense").code == 2
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # this process may have no shell above it
    assert "recollect" in recollect("--show-completion", "bash").out.lower() or sys.platform == "win32"


@pytest.mark.parametrize(
    "words", [(name, *sub) for name in COMMANDS for sub in ([(s,) for s in SUBCOMMANDS.get(name, ())] or [()])]
)
def test_every_command_has_help_an_example_and_a_place_in_the_docs(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(build(words[:1]), [*words, "--help"], prog_name="recollect").output
    called = " ".join(("recollect", *words))
    assert f"Example: {called}" in shown
    docs = Path(__file__).parents[2] / "docs" / "commands.md"
    assert f"## {called}\n" in docs.read_text()


def test_a_closed_pipe_is_no_traceback(r1: Path) -> None:
    command = f"{sys.executable} -m recollect metrics | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


def test_a_full_disk_is_one_paragraph(recollect: Command, seeds: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    command = f"{sys.executable} -m recollect score {seeds} --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr
