"""lm-evaluation-harness: every hazard of its files, and the guards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.metrics import score
from recollect.runs import Run, load, load_all
from recollect.runs.arrange import Choices
from tests.runs.importers.versions.writing import lmeval_old, lmeval_results


def one(path: Path, **choices: object) -> Run:
    (run,) = load(path, choices=Choices(**choices))  # type: ignore[arg-type]
    return run


def names(run: Run) -> list[str | None]:
    return [row.name for row in run.rows]


def scores(run: Run, task: str) -> list[float | None]:
    column = [t.name for t in run.tasks].index(task)
    return [row.scores[run.metric][column] for row in run.rows]


@pytest.fixture
def evals(tmp_path: Path) -> Path:
    """A base in a hidden folder and two checkpoints of an adapter, whose dates and texts are in another order."""
    folder = tmp_path / "evals"
    base = {"arc": 0.5, "gsm": 0.4}
    lmeval_results(folder / ".__ckpt__base" / "results_2026-01-03.json", "./ckpt/base", base, date=3.0)
    for step, date, arc in ((50, 1.0, 0.4), (9, 2.0, 0.45)):
        name = f"./ckpt/out/checkpoint-{step}"
        lmeval_results(
            folder / f"__ckpt__out__checkpoint-{step}" / "results_x.json",
            name,
            {"arc": arc, "gsm": 0.6},
            date=date,
            arguments={"peft": name, "pretrained": "./ckpt/base"},
        )
    return folder


def test_rows_are_versions_by_step_and_the_hidden_base_is_first(evals: Path) -> None:
    run = one(evals)
    assert names(run) == ["base", "out/checkpoint-9", "out/checkpoint-50"]
    assert scores(run, "arc") == [0.5, 0.45, 0.4]
    assert run.rows[0].after == -1
    assert run.rows[0].task_end
    assert all(task.held_out and task.n_samples == 200 for task in run.tasks)
    said = " ".join(run.notes)
    assert "order base, then out/checkpoint-9, out/checkpoint-50" in said
    assert "read as a file of lm-eval" in said


def test_order_wins_and_names_every_version(evals: Path) -> None:
    run = one(evals, order=("base", "checkpoint-50", "checkpoint-9"))
    assert names(run) == ["base", "out/checkpoint-50", "out/checkpoint-9"]
    with pytest.raises(UsageError, match="does not name out/checkpoint-9"):
        one(evals, order=("base", "checkpoint-50"))
    with pytest.raises(UsageError, match="twice"):
        one(evals, order=("base", "base", "checkpoint-50"))


def test_a_base_that_is_not_there_is_one_paragraph_with_the_names(evals: Path) -> None:
    with pytest.raises(UsageError, match=r"--base names 'llama'.*There are: base, out/checkpoint-9") as error:
        one(evals, base="llama")
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="may be out/checkpoint-9, out/checkpoint-50"):
        one(evals, base="checkpoint")


def test_held_out_and_trained_columns(evals: Path) -> None:
    run = one(evals, held_out=("arc",))
    assert [(t.name, t.held_out) for t in run.tasks] == [("gsm", False), ("arc", True)]
    assert run.learned_at == {0: 0}
    run = one(evals, trained=(("gsm", 2), ("arc", 1)))
    assert [t.name for t in run.tasks] == ["arc", "gsm"]
    assert (run.learned_at, run.timeline.learned_at) == (None, (0, 1))
    assert run.matrix.R.tolist() == [[0.45, 0.6], [0.4, 0.6]]
    assert run.matrix.b is not None
    assert run.matrix.b.tolist() == [0.5, 0.4]
    # Known in the base: the base is a row in time, too.
    run = one(evals, trained=(("gsm", 0), ("arc", 1)))
    assert [t.name for t in run.tasks] == ["gsm", "arc"]
    assert run.learned_at == {0: 0, 1: 1}
    assert run.matrix.R.tolist() == [[0.4, 0.5], [0.6, 0.45], [0.6, 0.4]]
    for wrong in ((("gsm", 3),), (("nope", 1),)):
        with pytest.raises(UsageError, match=r"rows count from 0|no such column"):
            one(evals, trained=wrong)
    with pytest.raises(UsageError, match="cannot be held out and trained"):
        one(evals, held_out=("arc",), trained=(("arc", 1),))


def test_the_order_of_the_arguments_counts_where_nothing_else_tells(tmp_path: Path) -> None:
    files = [
        lmeval_results(tmp_path / f"{name}.json", name, {"arc": p}, date=None) for name, p in (("b", 0.2), ("a", 0.1))
    ]
    (run,) = load_all(files)
    assert names(run) == ["b", "a"]
    assert "the order in which they were found" in " ".join(run.notes)
    (run,) = load_all(files[::-1])
    assert names(run) == ["a", "b"]


def test_dates_order_versions_without_steps(tmp_path: Path) -> None:
    for name, date in (("v2", 1.0), ("v1", 2.0)):
        lmeval_results(tmp_path / name / "results_1.json", name, {"arc": 0.5}, date=date)
    run = one(tmp_path)
    assert names(run) == ["v2", "v1"]
    assert "by the date" in " ".join(run.notes)


def test_old_keys_and_the_items_behind_a_standard_error(tmp_path: Path) -> None:
    for step, p in ((0, 0.0), (1000, 0.25), (13000, 0.5)):
        lmeval_old(tmp_path / f"70m_step{step}.json", "org/m", step, {"arc": p, "piqa": 0.5}, n=164)
    run = one(tmp_path)
    assert names(run) == ["step0", "step1000", "step13000"]
    # A score of 0 has no error to count by; the others of the column agree.
    assert [t.n_samples for t in run.tasks] == [164, 164]
    assert run.rows[0].n == (None, 164)
    assert run.rows[1].standard_error is not None


def test_repeated_evaluations_the_last_counts_and_a_disagreement_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "evals"
    for name in ("m1", "m2"):
        lmeval_results(
            folder / name / "results_1.json", name, {"arc": 0.5, "gsm": 0.1}, date=1.0, arguments={"dtype": "a"}
        )
    lmeval_results(folder / "m1" / "results_2.json", "m1", {"arc": 0.6}, date=2.0, arguments={"dtype": "b"})
    run = one(folder, order=("m1", "m2"))
    assert scores(run, "arc") == [0.6, 0.5]
    assert scores(run, "gsm") == [0.1, 0.1]
    assert (
        "m1 was evaluated 2 times, with other dtype: the last counts; scores differ (arc acc,none: 0.5, then 0.6)"
        in " ".join(run.notes)
    )
    # Without dates nobody knows which is the last.
    for file in (folder / "m1").iterdir():
        data = json.loads(file.read_text())
        del data["date"]
        file.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="2 files are of the version m1 and disagree"):
        one(folder)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"versions": {"arc": 2.0}}, "version 1.0 in a and version 2.0 in b"),
        ({"n-shot": {"arc": 5}}, "shots"),
        ({"config": {"model_args": {"pretrained": "b"}, "limit": 10.0}}, "limit"),
        ({"chat_template_sha": "ff"}, "chat template"),
        ({"task_hashes": {"arc": "1234"}}, "prompt hash"),
        ({"n-samples": {"arc": {"effective": 100}}}, "test items"),
    ],
)
def test_other_conditions_are_not_compared_without_being_told_to(tmp_path: Path, change: dict, word: str) -> None:
    same = {"chat_template_sha": "aa", "task_hashes": {"arc": "5678"}}
    lmeval_results(tmp_path / "a.json", "a", {"arc": 0.5}, date=1.0, **same)
    lmeval_results(tmp_path / "b.json", "b", {"arc": 0.4}, date=2.0, **(same | change))
    with pytest.raises(UsageError, match=f"different conditions.*{word}"):
        one(tmp_path)
    run = one(tmp_path, different_conditions=True)
    assert scores(run, "arc") == [0.5, 0.4]
    assert "compared although conditions differ" in " ".join(run.notes)


def test_unknown_conditions_are_not_different_ones(tmp_path: Path) -> None:
    lmeval_results(tmp_path / "a.json", "a", {"arc": 0.5}, date=1.0, task_hashes={"arc": "12"})
    lmeval_results(tmp_path / "b.json", "b", {"arc": 0.4}, date=2.0, task_hashes={})
    assert scores(one(tmp_path), "arc") == [0.5, 0.4]


def _group(tmp_path: Path, name: str, date: float, with_group: bool = True) -> None:
    entry = {"acc,none": 0.55, "acc_stderr,none": 0.02, "sample_count": {"acc,none": 400}, "alias": "mmlu"}
    leaf = {"alias": " - a", "acc,none": 0.5, "acc_stderr,none": 0.04}
    lmeval_results(
        tmp_path / name / "results_1.json",
        name,
        {"gsm": 0.3},
        date=date,
        results={"gsm": {"acc,none": 0.3, "acc_stderr,none": "N/A"}, "mmlu_a": leaf, "mmlu_b": leaf}
        | ({"mmlu": entry} if with_group else {}),
        group_subtasks={"mmlu": ["mmlu_a", "mmlu_b"], "gsm": []} if with_group else {},
        versions={"gsm": 1, "mmlu": "2.0", "mmlu_a": 1},
        higher_is_better={"mmlu": {"f1": True, "acc": True}},
    )


def test_a_group_and_its_tasks_are_never_both_columns(tmp_path: Path) -> None:
    _group(tmp_path, "v1", 1.0)
    _group(tmp_path, "v2", 2.0)
    run = one(tmp_path)
    assert [t.name for t in run.tasks] == ["gsm", "mmlu"]
    assert "mmlu stands for its 2 tasks" in " ".join(run.notes)
    assert [t.name for t in one(tmp_path, subtasks=True).tasks] == ["gsm", "mmlu_a", "mmlu_b"]
    _group(tmp_path, "v3", 3.0, with_group=False)
    assert [t.name for t in one(tmp_path).tasks] == ["gsm", "mmlu_a", "mmlu_b"]


def test_scores_of_different_kinds_and_directions_are_never_averaged(tmp_path: Path) -> None:
    for name, date, ppl in (("v1", 1.0, 12.0), ("v2", 2.0, 9.0)):
        results = {
            "arc": {"acc,none": 0.5, "acc_norm,none": 0.55},
            "gsm": {"exact_match,strict-match": 0.3, "exact_match,flexible-extract": 0.4},
            "wiki": {"word_perplexity,none": ppl, "word_perplexity_stderr,none": "N/A"},
            "odd": {"oddness,none": 3.0},
        }
        lmeval_results(tmp_path / f"{name}.json", name, {"arc": 0.5}, date=date, results=results, higher_is_better={})
    shares, perplexity = load(tmp_path)
    assert [t.name for t in shares.tasks] == ["arc", "gsm"]
    assert scores(shares, "arc") == [0.55, 0.55]
    assert scores(shares, "gsm") == [0.3, 0.3]
    assert (shares.unit, shares.higher_is_better) == ("fraction", True)
    assert (perplexity.metric, perplexity.unit, perplexity.higher_is_better) == ("word_perplexity", "raw", False)
    said = " ".join(shares.notes)
    assert "never averaged" in said
    assert "exact_match,strict-match of gsm" in said
    assert "1 tasks left out" in said
    assert "oddness" in said
    (run,) = load(tmp_path, choices=Choices(target="exact_match,flexible-extract"))
    assert scores(run, "gsm") == [0.4, 0.4]
    (run,) = load(tmp_path, choices=Choices(target="oddness", lower_is_better=True))
    assert not run.higher_is_better
    with pytest.raises(UsageError, match="No task has a score 'f7'; there are acc,none"):
        load(tmp_path, choices=Choices(target="f7"))


def test_a_task_that_some_versions_lack_is_not_evaluated_there(tmp_path: Path) -> None:
    lmeval_results(tmp_path / "a.json", "a", {"arc": 0.5, "gsm": 0.0}, date=1.0)
    lmeval_results(tmp_path / "b.json", "b", {"arc": 0.4}, date=2.0)
    run = one(tmp_path)
    assert scores(run, "gsm") == [0.0, None]


def test_a_file_cut_in_half_is_one_paragraph(tmp_path: Path) -> None:
    lmeval_results(tmp_path / "a.json", "a", {"arc": 0.5})
    whole = lmeval_results(tmp_path / "b.json", "b", {"arc": 0.4})
    whole.write_text(whole.read_text()[:200])
    with pytest.raises(UsageError, match=r"b\.json as lm-eval: it is not JSON.*Is the file whole") as error:
        load(tmp_path)
    assert "\n" not in str(error.value)


def test_trainings_side_by_side_are_runs_of_their_own(tmp_path: Path) -> None:
    for model in ("org/m-70m", "org/m-160m"):
        for step in (0, 10, 9):
            lmeval_old(tmp_path / f"{model[4:]}_{step}.json", model, step, {"arc": 0.5}, n=100)
    small, large = sorted(load(tmp_path), key=lambda run: run.learner, reverse=True)
    assert [small.learner, large.learner] == ["m-70m", "m-160m"]
    assert names(small) == names(large) == ["step0", "step9", "step10"]
    assert [t.name for t in small.tasks] == [t.name for t in large.tasks]


def test_pythia_as_published(public_files: Path) -> None:
    runs = load(public_files / "lmeval" / "pythia")
    assert sorted(run.learner for run in runs) == ["pythia-v1.1-160m", "pythia-v1.1-410m", "pythia-v1.1-70m"]
    small = next(run for run in runs if run.learner.endswith("-70m"))
    assert (small.T, len(small.rows), small.rows[0].name, small.rows[-1].name) == (65, 27, "step0", "step143000")
    column = [task.name for task in small.tasks].index("lambada_openai")
    before, after = (next(row for row in small.rows if row.name == f"step{step}") for step in (53000, 143000))
    fall = (before.scores[small.metric][column] or 0) - (after.scores[small.metric][column] or 0)
    assert fall == pytest.approx(0.0689, abs=5e-5)
    assert small.tasks[column].n_samples == 5153


def test_a_chat_template_beside_none_is_another_condition(tmp_path: Path) -> None:
    for step, template in enumerate((None, "0a1b")):
        lmeval_results(tmp_path / f"{step}.json", f"m/step{step}", {"a": 0.5}, chat_template_sha=template)
    with pytest.raises(UsageError, match="chat template none in step0 and chat template 0a1b in step1"):
        load(tmp_path)
    assert len(load(tmp_path, choices=Choices(different_conditions=True))) == 1


def test_a_row_under_another_filter_has_no_score_and_no_traceback(tmp_path: Path) -> None:
    for step, key in enumerate(("acc,none", "acc,strict")):
        lmeval_results(tmp_path / f"{step}.json", f"m/step{step}", {"a": 0.5}, results={"a": {key: 0.5}})
    (run,) = load(tmp_path)
    assert score(run.matrix, "held_out.delta").reason == "no row has a score"


def test_a_score_that_is_a_text_is_refused_and_an_absent_one_is_missing(tmp_path: Path) -> None:
    path = lmeval_results(tmp_path / "a/results_1.json", "m", {"one": 0.5, "two": 0.5})
    data = json.loads(path.read_text())
    data["results"]["two"]["acc,none"] = "0.51"
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"two has acc,none '0\.51': a text, not a number"):
        load(tmp_path / "a")
    data["results"]["two"]["acc,none"] = "N/A"
    path.write_text(json.dumps(data))
    (run,) = load(tmp_path / "a")
    assert [task.name for task in run.tasks][:1] == ["one"]
