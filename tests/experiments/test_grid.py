"""The grid: folders, pairing, cost, and what a folder refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.experiments.file import parse
from recollect.experiments.grid import build_stream, grid
from recollect.experiments.running import cost_table

TEXT = "{name: demo, streams: [{name: digits, tasks: 5}], learners: [random, {er: {memory: 9}}], seeds: 2}"


def test_a_folder_a_run_seed_by_seed(tmp_path: Path) -> None:
    jobs = grid(parse(TEXT), tmp_path)
    assert [str(job.folder.relative_to(tmp_path)) for job in jobs] == [
        "demo/random-digits-s0",
        "demo/er-digits-s0",
        "demo/random-digits-s1",
        "demo/er-digits-s1",
    ]
    assert not list(tmp_path.iterdir())


def test_learners_with_one_seed_meet_the_same_stream() -> None:
    one, other = (build_stream("digits", {"tasks": 5}, seed, None) for seed in (3, 3))
    third = build_stream("digits", {"tasks": 5}, 4, None)
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != third.fingerprint
    assert one.family == third.family
    fixed = [build_stream("digits", {"tasks": 5, "class_order": "natural"}, seed, None) for seed in (3, 4)]
    assert fixed[0].fingerprint == fixed[1].fingerprint
    assert all(np.array_equal(a.y, b.y) for a, b in zip(one.batches(1), other.batches(1), strict=True))


def test_the_cost_is_counted_in_samples(tmp_path: Path) -> None:
    jobs = grid(parse(TEXT), tmp_path)
    assert jobs[0].samples == 1438
    assert jobs[0].test_samples == 6 * 359
    assert cost_table(jobs).splitlines()[-1].split() == ["total", "5,752", "8,616"]
    spread = grid(parse(TEXT[:-1] + ", plan: {rows: 2, subsample: 10}}"), tmp_path)
    assert spread[0].plan.rows == (1, 4)
    assert spread[0].test_samples == 3 * 50


def test_a_learner_that_answers_at_the_end_is_evaluated_there(tmp_path: Path) -> None:
    text = "{name: d, streams: [{name: digits, tasks: 5}], learners: [joint_final], seeds: 1}"
    assert grid(parse(text), tmp_path)[0].plan.rows == (4,)


def test_a_learner_may_have_a_plan_of_its_own(tmp_path: Path) -> None:
    text = TEXT.replace("{er: {memory: 9}}", "{er: {memory: 9}, plan: {rows: 2}}")
    assert [job.plan.rows for job in grid(parse(text), tmp_path)][:2] == [None, (1, 4)]
    with pytest.raises(UsageError, match=r"unknown key 'row' in plan; did you mean 'rows'\?"):
        parse(text.replace("rows: 2", "row: 2"))


def test_a_learner_or_a_target_that_is_not_for_the_stream_is_found_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'naive' is for detection, and the stream asks for classification"):
        grid(parse(TEXT.replace("random", "naive")), tmp_path)
    with pytest.raises(UsageError, match="classification asks for classes"):
        grid(parse(TEXT[:-1] + ", target: f1}"), tmp_path)


def test_labels_that_give_one_folder_are_refused(tmp_path: Path) -> None:
    text = "{name: d, streams: [{name: digits, tasks: 5, label: b-c}, {name: digits, tasks: 2, label: c}],"
    text += " learners: [{random: {}, label: a}, {random: {}, label: a-b}], seeds: 1}"
    with pytest.raises(UsageError, match="Two runs would have the folder"):
        grid(parse(text), tmp_path)


def test_a_plan_beyond_the_stream(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the stream has tasks 0 to 4"):
        grid(parse(TEXT[:-1] + ", plan: {rows: [7]}}"), tmp_path)


def test_a_learner_that_needs_boundaries_is_refused_before_anything_runs(tmp_path: Path) -> None:
    text = "{name: d, streams: [{name: digits, tasks: 5, blurry: 0.1}], learners: [er, ewc], seeds: 1}"
    with pytest.raises(UsageError, match="'ewc' does its work at the end of a task"):
        grid(parse(text), tmp_path)


def test_a_file_where_the_runs_should_go_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match=r"taken is a file\. Give another folder"):
        grid(parse("{name: d, streams: [digits], learners: [random], seeds: 1}"), tmp_path / "taken")
