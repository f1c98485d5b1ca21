"""Which importer takes which file, by content; and what the front door `read` says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from recollect.errors import RecollectError, UsageError
from recollect.runs import importers
from recollect.runs.importers.files import MAX_BYTES, find_files, read_bytes

FIXTURES = Path(__file__).parents[1] / "fixtures"
TOOL_OF = {"pilot": "pycil"}
# Files beside the results that are nobody's: parameters, descriptions, what the tests expect.
BESIDE = (
    "expected.json",
    "params_used.json",
    "logger_info.json",
    "scenario_info.json",
    "runs_accs.csv",
    "provenance",
)
# Tools whose files are known by their names or places: what is handed over.
PLACED = (
    "facil/ewc_seed3",
    "libcontinual/ewc/run.log",
    "clarena/finetuning/results/acc.csv",
    "cglb/class-IL/te_Cora_ewc.pkl",
    "continual-world/run",
    "libero/er/run_001/result.pt",
    "lerobot/checkpoints",
    "lm-eval/evals",
    "lm-eval/old",
    "hf-trainer/outputs",
    "inspect/a.json",
    "inspect/b.eval",
    "every-eval-ever/arc.json",
    "lighteval/m/results_2026-01-01T10-00-00.0.json",
    "trace/seq",
    "mcitlib/lora",
    "opencompass/work",
    "wide-csv/evals.csv",
)
FILES = sorted(
    path.relative_to(FIXTURES).as_posix()
    for path in FIXTURES.rglob("*")
    if path.is_file() and not path.name.startswith(BESIDE) and path.suffix not in (".py", ".md")
    if not any(path.is_relative_to(FIXTURES / place.split("/")[0]) for place in PLACED)
)


@pytest.mark.parametrize("place", PLACED)
def test_tools_known_by_names_and_places(place):
    found = importers.detect(FIXTURES / place)
    assert found is not None
    assert place.split("/")[0] == found.NAME
    assert importers.read(FIXTURES / place)


@pytest.mark.parametrize("file", FILES)
def test_every_fixture_is_claimed_by_exactly_one_importer(file):
    claims = [name for name, importer in importers.IMPORTERS.items() if importer.sniff(FIXTURES / file)]
    folder = file.split("/")[0]
    assert claims == [TOOL_OF.get(folder, folder)]


# Michel's and L2Logger's files are known by their place in a folder.
@pytest.mark.parametrize("file", [f for f in FILES if not f.startswith(("michel", "l2metrics"))])
def test_a_file_is_known_by_its_content_not_its_extension(file, tmp_path):
    source = FIXTURES / file
    copy = tmp_path / "results.dat"
    copy.write_bytes(source.read_bytes())
    found = importers.detect(copy)
    assert found is not None
    assert found is importers.detect(source)


@pytest.mark.parametrize(
    ("folder", "tool"),
    [
        ("michel/results", "michel"),
        ("michel/results/ER,cifar10,m200mbs64sbs10/run0", "michel"),
        ("l2metrics/lifetime", "l2metrics"),
        ("mammoth/results", "mammoth"),
    ],
)
def test_folders(folder, tool):
    claims = [name for name, importer in importers.IMPORTERS.items() if importer.sniff(FIXTURES / folder)]
    assert claims == [tool]


def test_sniffing_never_raises(tmp_path):
    source = random.Random(20)
    starts = [
        b"",
        b"\x93NUMPY\x01\x00",
        b"PK\x03\x04",
        b"\x80\x04",
        b"(dp0\n",
        b"{",
        b"[",
        b"\xff\xfe",
        b"0.1,",
        b"\xef\xbb\xbf",
    ]
    path = tmp_path / "x"
    for _ in range(300):
        path.write_bytes(source.choice(starts) + source.randbytes(source.randrange(200)))
        for importer in importers.IMPORTERS.values():
            importer.sniff(path)
    for odd in (tmp_path / "missing", Path("/dev/null"), tmp_path, Path("a\0b"), Path("x" * 5000)):
        importers.detect(odd)


def test_a_program_or_a_text_is_nobodys(tmp_path):
    for text in (
        "print('hello')\n",
        "Dear reader,\nthe accuracy was 0.9.\n",
        "<html><td>0.9</td></html>",
        '{"a": 1}',
        "[]",
    ):
        path = tmp_path / "a.csv"
        path.write_text(text)
        assert importers.detect(path) is None
        with pytest.raises(UsageError, match="not a file that any importer knows"):
            importers.read(path)


def test_options_replace_what_the_file_leaves_open(fixtures, same):
    (run,) = importers.read(fixtures / "csv" / "plain.csv", learner="er", stream="toy", seed=4, unit="fraction")
    assert (run.learner, run.stream, run.seed, run.unit) == ("er", "toy", 4, "fraction")
    same(run.matrix.R[2], [0.25, 0.0, 0.75])


@pytest.mark.parametrize(
    ("tool", "options", "message"),
    [
        ("csv", {"metric": "x"}, "no option 'metric'"),
        ("csv", {"seed": "x"}, "whole number"),
        ("csv", {"unit": "x"}, "one of fraction"),
        ("avalance", {}, "Did you mean avalanche"),
    ],
)
def test_wrong_options_and_tools(fixtures, tool, options, message):
    with pytest.raises(UsageError, match=message):
        importers.read(fixtures / "csv" / "plain.csv", tool, **options)


def test_pilot_is_read_by_its_own_name(fixtures):
    assert importers.read(fixtures / "pilot" / "reproduce_1993_vit.log", "pilot")[0].learner == "simplecil"
    assert set(importers.IMPORTERS) < set(importers.TOOLS)


@pytest.mark.parametrize("tool", sorted(importers.IMPORTERS))
def test_every_importer_refuses_nothing_folders_and_noise_in_one_paragraph(tool, tmp_path):
    (tmp_path / "noise").write_bytes(random.Random(1).randbytes(5000))
    (tmp_path / "empty").touch()
    for name in ("noise", "empty", "missing", "."):
        with pytest.raises(RecollectError) as refusal:
            importers.read(tmp_path / name, tool)
        message = str(refusal.value)
        assert message
        assert "\n" not in message
        assert len(message) < 1200


def test_a_file_too_large_is_not_read(tmp_path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(UsageError, match="bytes; files of scores are read up to"):
        importers.read(path, "csv")
    with pytest.raises(UsageError):
        read_bytes(path, "csv")


def test_a_folder_is_searched_in_natural_order_without_links(tmp_path):
    for name in ("run10", "run2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").touch()
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    found = list(find_files(tmp_path, lambda name: name == "a.csv"))
    assert [path.parent.name for path in found] == ["run2", "run10"]
