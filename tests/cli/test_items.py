"""`recollect items`: counts, lists, pairing by what was asked, and files that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recollect.cli import build
from recollect.errors import NotComputable, UsageError
from tests.runs.importers.versions.writing import lmeval_results

DATE = "2026-01-0{}T10-00-00.000000"


def evaluated(
    folder: Path, place: int, name: str, right: dict[str, bool], filter: str = "none", task: str = "gsm"
) -> Path:
    date = DATE.format(place + 1)
    score = sum(right.values()) / len(right)
    home = folder / name
    lmeval_results(home / f"results_{date}.json", name, {task: score}, date=float(place), n=len(right))
    samples = home / f"samples_{task}_{date}.jsonl"
    lines = [
        {
            "doc_id": place,
            "arguments": {"gen_args_0": {"arg_0": f"what is {key}?"}},
            "target": f"it is {key}",
            "filtered_resps": [f"{'it is' if is_right else 'not'} {key}"],
            "filter": filter,
            "doc_hash": key,
            "acc": float(is_right),
        }
        for key, is_right in right.items()
    ]
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return samples


def call(*words: object) -> str:
    result = CliRunner().invoke(build(("items",)), ["items", *map(str, words)], catch_exceptions=False)
    return result.stdout


@pytest.fixture
def evals(tmp_path: Path) -> Path:
    evaluated(tmp_path, 0, "base", {"a": True, "b": True, "c": False, "d": False})
    # The items come in another order: they are paired by what was asked.
    evaluated(tmp_path, 1, "step1", {"d": False, "c": True, "b": False, "a": True})
    return tmp_path


def test_items_are_paired_by_their_hash_and_counted(evals: Path) -> None:
    (found,) = json.loads(call(evals, "--json", "--forgotten", "--learned"))
    assert {key: found[key] for key in ("always", "forgotten", "learned", "never", "in_one_alone", "p")} == {
        "always": 1,
        "forgotten": 1,
        "learned": 1,
        "never": 1,
        "in_one_alone": 0,
        "p": 1.0,
    }
    (item,) = found["forgotten_items"]
    assert item == {"item": "b", "asked": "what is b?", "target": "it is b", "before": "it is b", "now": "not b"}
    assert [one["item"] for one in found["learned_items"]] == ["c"]
    assert "what is b?" in call(evals, "--forgotten")


def test_versions_are_chosen_by_name(evals: Path) -> None:
    evaluated(evals, 2, "step2", {"a": False, "b": False, "c": False, "e": True})
    (found,) = json.loads(call(evals, "--json", "--from", "step1", "--to", "step2"))
    assert (found["before"], found["after"], found["forgotten"], found["in_one_alone"]) == ("step1", "step2", 2, 2)
    with pytest.raises(UsageError, match="--from names 'step9'"):
        call(evals, "--from", "step9")
    with pytest.raises(UsageError, match="both name step2"):
        call(evals, "--from", "step2")
    with pytest.raises(UsageError, match="--task names 'arc'"):
        call(evals, "--task", "arc")


def test_a_task_whose_name_ends_with_another_is_another(evals: Path) -> None:
    evaluated(evals, 0, "base", {"x": True, "y": True}, task="my_gsm")
    for file in evals.glob("base/results*"):
        lmeval_results(file, "base", {"gsm": 0.5}, date=0.0, n=4)
    (found,) = json.loads(call(evals, "--json"))
    assert found["always"] + found["forgotten"] + found["learned"] + found["never"] == 4


def test_of_several_filters_the_one_of_the_score_counts(evals: Path) -> None:
    for file in evals.glob("*/samples_*"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        more = [{**line, "filter": "flexible", "acc": 0.0} for line in lines]
        file.write_text("".join(json.dumps(line) + "\n" for line in [*more, *lines]))
    (found,) = json.loads(call(evals, "--json"))
    assert (found["always"], found["forgotten"]) == (1, 1)


def test_items_of_another_evaluation_are_refused(evals: Path) -> None:
    evaluated(evals, 1, "step1", {"a": True, "b": True, "c": True, "d": True})
    lmeval_results(evals / "step1" / f"results_{DATE.format(2)}.json", "step1", {"gsm": 0.25}, date=1.0, n=4)
    with pytest.raises(UsageError, match=r"right in 1\.0000 of 4, and the results say 0\.2500"):
        call(evals)


def test_a_file_cut_in_half_and_marks_that_are_no_marks(evals: Path) -> None:
    file = next(evals.glob("step1/samples_*"))
    file.write_text(file.read_text()[:-20])
    with pytest.raises(UsageError, match="line 4 is not JSON"):
        call(evals)
    for file in evals.glob("*/samples_*"):
        file.write_text(json.dumps({"doc_hash": "a", "filter": "none", "acc": [-3.0, 2]}) + "\n")
    with pytest.raises(NotComputable, match="--log_samples"):
        call(evals)


def test_no_items_say_how_to_get_them(tmp_path: Path) -> None:
    for place in range(2):
        lmeval_results(tmp_path / f"{place}.json", f"v{place}", {"gsm": 0.5}, date=float(place))
    with pytest.raises(NotComputable, match="--log_samples"):
        call(tmp_path)
    (tmp_path / "matrix.csv").write_text("0.9,0.1\n0.5,0.8\n")
    with pytest.raises(NotComputable, match="no single test items"):
        call(tmp_path / "matrix.csv")


def test_inspect_logs_have_their_items_inside(tmp_path: Path) -> None:
    from tests.runs.importers.versions.test_other_tools import inspect_log

    for place, values in enumerate((("C", "C", "I"), ("I", "C", "C"))):
        about = inspect_log("m", "gsm", 0.3)["eval"] | {"model_args": {"revision": f"step{place}"}}
        log = inspect_log("m", "gsm", sum(v == "C" for v in values) / 3, eval=about)
        log["samples"] = [
            {"id": n, "epoch": 1, "input": f"q{n}", "target": "t", "scores": {"match": {"value": v, "answer": f"a{n}"}}}
            for n, v in enumerate(values)
        ]
        (tmp_path / f"{place}.json").write_text(json.dumps(log))
    (found,) = json.loads(call(tmp_path, "--json", "--forgotten"))
    assert (found["forgotten"], found["learned"], found["always"]) == (1, 1, 1)
    assert found["forgotten_items"][0]["asked"] == "q0"
