"""The contents of a report: every number equals what the layers below give."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import NotComputable
from recollect.metrics import registry
from recollect.problems import PROBLEMS, problem_of
from recollect.report.columns import cost_columns, metric_columns
from recollect.report.comparison import compare
from recollect.report.gather import SHOWN_FIRST, gather
from recollect.report.page import build_page
from recollect.report.provenance import run_refusals
from recollect.report.summary import summarise
from recollect.report.words import Words
from recollect.runs import Group, Row, Run, Task, group, load
from tests.report.samples import make_groups, make_run

FIXTURES = Path(__file__).parents[1] / "runs" / "fixtures"


def test_numbers_are_those_of_summarise() -> None:
    groups = make_groups()
    (stream,) = gather(groups).streams
    metrics = [registry.get(id) for id in registry.all_ids()]
    for learner, one in zip(stream.learners, groups, strict=True):
        for line in summarise([one], metrics):
            made = learner.numbers[line.id]
            expected = (line.estimate.value, line.estimate.low, line.estimate.high)
            np.testing.assert_allclose((made.value, made.low, made.high), expected, atol=1e-9)
            assert made.n == line.estimate.n
            assert made.reason == (line.reason if np.isnan(made.value) else line.estimate.reason)


def test_pairs_are_those_of_compare() -> None:
    groups = make_groups()
    (stream,) = gather(groups).streams
    (expected,) = compare(groups, registry.get("acc.average")).streams
    table = stream.comparisons[0]
    found = {frozenset((p.first, p.second)): p for p in table.pairs}
    assert len(found) == len(expected.compared.pairs) == 3
    assert table.lead == expected.compared.lead
    for pair in expected.compared.pairs:
        made = found[frozenset((pair.first, pair.second))]
        assert made.holm_p == pytest.approx(pair.holm_p)
        assert abs(made.comparison.difference.value) == pytest.approx(abs(float(pair.comparison.difference.value)))
        assert made.comparison.difference.value > 0, "the better one stands first"


def test_parts_add_up_to_forgetting_exactly() -> None:
    (stream,) = gather(make_groups()).streams
    names = ("within", "older", "newer")
    for learner in stream.learners:
        parts = learner.parts
        assert parts is not None
        total = sum(parts.over_time[name].arrays[0] for name in names)
        np.testing.assert_allclose(total[1:], learner.curves["forgetting.chaudhry2018"].arrays[0][1:], atol=1e-12)
        for name in names:
            final = learner.numbers[f"split.{name}"].value
            np.testing.assert_allclose(np.nanmean(parts.per_task[name].value), final, atol=1e-9)
            curve = learner.curves[f"split.{name}"].arrays[0]
            np.testing.assert_allclose(parts.over_time[name].arrays[0][1:], curve[1:], atol=1e-12)
            assert np.abs(curve[1:]).max() > 0.01, "a part that is always 0 tests nothing"


def test_errors_and_right_answers_are_all_answers() -> None:
    (stream,) = gather(make_groups()).streams
    for learner in stream.learners:
        assert learner.errors is not None
        shares = learner.errors.over_time
        np.testing.assert_allclose(sum(band.value for band in shares.values()), 1)
        np.testing.assert_allclose(shares["right"].value, learner.curves["acc.average"].value, atol=1e-12)


def test_errors_of_one_side_are_no_shares() -> None:
    run = make_run("a", 0)
    for errors in ({}, {"own": (1,)}):
        rows = tuple(replace(row, errors=errors) for row in run.rows)
        assert gather(group([replace(run, rows=rows)])).streams[0].learners[0].errors is None


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_definition_has_a_column(problem: str) -> None:
    focus = problem_of(problem).focus
    ids = [id for column in metric_columns(Words(), focus) for id in column.ids]
    assert sorted(ids) == sorted(registry.all_ids())
    assert {*focus.compared, *focus.shown, focus.headline, focus.bwt, focus.fwt} <= set(ids)


def test_columns_without_values_are_dropped_with_the_reason() -> None:
    runs = [replace(make_run("a", s, restricted=False), timings={}, cost={}) for s in range(2)]
    (stream,) = gather(group(runs)).streams
    assert "lost" not in [column.key for column in stream.columns]
    assert "time" not in [column.key for column in stream.columns]
    refused = {r.what: r.why for r in stream.refusals}
    assert "the split of forgetting" in refused
    assert refused["paired comparisons"] == "there is one learner on this stream"


def test_no_other_definition_stands_in_for_one_that_was_not_measured() -> None:
    runs = [replace(make_run("a", s), rows=make_run("a", s).rows[1:]) for s in range(2)]
    (stream,) = gather(group(runs)).streams
    fwt = next(column for column in stream.columns if column.key == "fwt")
    assert fwt.id == "fwt.lopezpaz2017", "it needs the untrained row, which is not there"
    assert "fwt.diazrodriguez2018" in fwt.ids, "a reader may choose it"
    page = build_page(gather(group(runs)))
    cells = re.findall(r'<td data-key="fwt"[^>]*>(.*?)</td>', page, re.DOTALL)
    assert cells
    assert all("not measured" in cell for cell in cells)


def test_no_run_takes_less_than_no_time() -> None:
    seconds = (1.0, 100.0, 2.0)
    runs = [replace(make_run("a", s), timings={"train_seconds": t}) for s, t in enumerate(seconds)]
    made = gather(group(runs)).streams[0].learners[0].numbers["timings.train_seconds"]
    assert made.value == pytest.approx(34.333, abs=1e-3)
    assert made.low == 0  # the t interval would begin at -107


def test_costs_are_columns_with_units() -> None:
    (stream,) = gather(make_groups()).streams
    assert [(c.id, c.unit) for c in stream.columns if c.unit] == [
        ("timings.train_and_evaluate_seconds", "s"),
        ("cost.train_peak_bytes", "MB"),
        ("cost.stored_samples", "samples"),
    ]
    assert stream.learners[0].numbers["cost.train_peak_bytes"].value == pytest.approx(210)
    assert stream.learners[0].numbers["timings.train_seconds"].value == pytest.approx(14)
    assert stream.learners[0].numbers["timings.train_and_evaluate_seconds"].value == pytest.approx(16)
    assert cost_columns([]) == ()


def test_learners_with_different_seeds_are_paired_on_those_they_share() -> None:
    runs = [make_run("a", s) for s in range(5)] + [make_run("b", s, keep=0.7) for s in range(2, 6)]
    (stream,) = gather(group(runs)).streams
    assert {pair.comparison.n for table in stream.comparisons for pair in table.pairs} == {3}
    assert any("on those that both have" in r.why for r in stream.refusals)


def test_a_learner_with_one_seed_does_not_take_the_others_seeds_away() -> None:
    runs = [make_run(name, s, keep=keep) for name, keep in (("a", 0.9), ("b", 0.7)) for s in range(5)]
    (stream,) = gather(group([*runs, make_run("c", 0, keep=0.5)])).streams
    counts = {(p.first, p.second): p.comparison.n for p in stream.comparisons[0].pairs}
    assert counts == {("a", "b"): 5, ("a", "c"): 1, ("b", "c"): 1}
    apart = [make_run("a", 0), make_run("b", 1)]
    (stream,) = gather(group(apart)).streams
    assert stream.comparisons == ()
    assert any("no seed in common" in r.why for r in stream.refusals)


def test_many_learners_are_compared_with_the_best_only() -> None:
    runs = [make_run(f"l{k}", s, 3, keep=0.5 + k / 100) for k in range(24) for s in range(2)]
    contents = gather(group(runs))
    table = contents.streams[0].comparisons[0]
    assert table.scope == "leader"
    assert len(table.pairs) == 23
    assert len({pair.first for pair in table.pairs}) == 1
    assert len(contents.shown_first) == SHOWN_FIRST


def test_differences_are_seed_by_seed() -> None:
    groups = make_groups()
    (stream,) = gather(groups).streams
    one = next(d for d in stream.differences if {d.first, d.second} == {"er", "finetune"})
    assert (one.first, one.second) == ("er", "finetune"), "the best learner's pairs come first, it stands first"
    per_seed = groups[1].matrix.R - groups[0].matrix.R
    np.testing.assert_allclose(one.cells.value, per_seed.mean(0))
    half = 2.7764451051977987 * per_seed.std(0, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(one.cells.high - one.cells.value, half, atol=1e-12)


def test_streams_of_one_name_are_told_apart() -> None:
    groups = group([make_run("a", 0, 4), make_run("a", 0, 5)])
    assert [stream.key for stream in gather(groups).streams] == ["split toy", "split toy #2"]


def test_ranks_over_streams() -> None:
    contents = gather(make_groups(streams=("one", "two", "three"), seeds=2))
    table = contents.ranks["acc.average"]
    assert table.n == 3
    assert dict(zip(table.names, table.average, strict=True)) == {"finetune": 3, "er": 2, "joint_incremental": 1}


def test_ranks_need_common_learners() -> None:
    contents = gather(group([make_run("a", 0, stream="one"), make_run("b", 0, stream="two")]))
    assert contents.ranks == {}
    assert any(r.what == "ranks across streams" for r in contents.refusals)


def test_difficulty_is_the_random_classifiers() -> None:
    (stream,) = gather(make_groups(T=5)).streams
    np.testing.assert_allclose(stream.difficulty["aa"], [0.5, 0.25, 1 / 6, 0.125, 0.1])
    np.testing.assert_allclose(stream.difficulty["gamma"], np.arange(1, 6) / 5)
    np.testing.assert_allclose(100 * stream.difficulty["af"][1:], [25, 20.83, 18.06, 16.04], atol=0.005)


def test_failed_and_unfinished_runs_are_named() -> None:
    runs: list[Run] = [
        replace(make_run("a", 0), status="failed", error="out of memory"),
        replace(make_run("a", 1), status="running"),
    ]
    whys = [r.why for r in gather(group(runs)).refusals]
    assert whys == ["the run failed: out of memory", "the run was not finished when it was read"]


def test_a_learner_evaluated_by_plan_only() -> None:
    run = make_run("a", 0, 6)
    from recollect.runs import Plan

    sparse = [
        replace(make_run("a", s, 6), plan=Plan(rows=(2, 5)), rows=(run.rows[0], run.rows[3], run.rows[6]))
        for s in range(2)
    ]
    (stream,) = gather(group(sparse)).streams
    assert stream.learners[0].ends.count(None) in (0, 4)
    assert stream.learners[0].numbers["acc.average"].is_known


def test_nothing_to_report() -> None:
    with pytest.raises(NotComputable, match="at least one run"):
        gather([])


def imported() -> tuple[Group, ...]:
    names = ("avalanche/class_incremental/log.txt", "pyclad/naive.json", "pyclad/cumulative.json")
    return group(run for name in names for run in load(FIXTURES / name))


def test_imported_results_alone_and_their_words() -> None:
    avalanche, roc, accuracy = gather(imported()).streams
    assert (avalanche.words.task, roc.words.task, roc.words.score) == ("task", "concept", "ROC-AUC")
    assert accuracy.words.score == "accuracy"
    assert roc.why_not("raa") == "its difficulty does not follow from a number of classes"
    assert avalanche.why_not("raa") is None or "n_classes" in (avalanche.why_not("raa") or "")
    assert roc.learners[0].seeds == (7,)


def test_probes_of_one_learner_are_not_lost_beside_one_without() -> None:
    first, *others = make_groups()
    probed = [
        replace(
            run, rows=tuple(replace(row, scores={**row.scores, "probe": (0.5,) * (row.after + 1)}) for row in run.rows)
        )
        for run in first.runs
    ]
    (stream,) = gather([Group(tuple(probed)), *others]).streams
    made = {learner.name: learner.numbers["probe.average"] for learner in stream.learners}
    assert made.pop(first.learner).value == 0.5
    assert not any(one.is_known for one in made.values())


def test_a_problem_whose_scores_come_from_elsewhere_says_in_words_what_is_not_shown() -> None:
    def run(seed: int) -> Run:
        rows = (Row(0, scores={"reward": (1.0 + seed, 2.0)}), Row(1, scores={"reward": (0.5, 3.0 + seed)}))
        tasks = (Task("a"), Task("b"))
        return Run(
            learner="er", stream="toy", seed=seed, problem="given", metric="reward", unit="raw", tasks=tasks, rows=rows
        )

    (stream,) = gather(group([run(0), run(1)])).streams
    assert [one.what for one in stream.left_out] == [
        "RAA and RAF are not shown",
        "How forgetting comes about is not shown",
        "Where wrong answers go is not shown",
    ]
    assert not {"raa", "raf"} & {one.part for one in stream.refusals}


def test_thousands_of_unfinished_runs_are_a_line_for_each_reason():
    rows = (Row(0, scores={"accuracy": (0.9, None)}),)
    tasks = (Task("a", 2), Task("b", 2))

    def part(seed: int, error: str | None) -> Run:
        status = "running" if error is None else "failed"
        return Run(learner="er", stream="toy", tasks=tasks, rows=rows, seed=seed, status=status, error=error)

    runs = [part(k, None if k % 3 else f"no {k // 3 % 40}" if k % 2 else "out of memory") for k in range(1200)]
    said = [one for one in run_refusals(group(runs)) if one.part == "runs"]
    assert str(said[0]).startswith("a part of 800 runs (er)")
    assert "out of memory" in str(said[1])
    assert len(said) <= 14
    counts = [re.search(r"a part of ([0-9,]+) (?:more )?runs", str(one)) for one in said]
    assert sum(int(found[1].replace(",", "")) for found in counts if found) == 1200
    assert len(run_refusals(group(runs[:5]))) == 5
