"""Learners that were evaluated after different tasks are compared over the rows that both have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.metrics import registry
from recollect.report.common_rows import common_rows
from recollect.report.comparison import compare
from recollect.report.gather import gather
from recollect.runs import Group, Plan, Run, group
from recollect.runs.reduced import at_rows
from tests.report.samples import make_run

AF = registry.get("forgetting.chaudhry2018")


def learner(name: str, rows: set[int] | None = None, role: str = "contestant") -> list[Run]:
    """The same curves under any name; evaluated after some tasks only if `rows` says which."""
    made = [replace(make_run("same", seed), learner=name, role=role) for seed in range(4)]
    return made if rows is None else [at_rows(run, rows) for run in made]


def of(*runs: list[Run]) -> list[Group]:
    return list(group(run for some in runs for run in some))


def test_equal_learners_on_different_plans_do_not_differ() -> None:
    groups = of(learner("a"), learner("b", {1, 3, 5}))
    made = compare(groups, AF)
    (pair,) = made.streams[0].compared.pairs
    assert pair.comparison.difference.value == 0
    assert any("after the same 3 of 6 tasks" in note for note in made.streams[0].notes)
    assert float(made.streams[0].lines[0].estimate.value) != float(made.streams[0].lines[1].estimate.value)
    stream = gather(groups).streams[0]
    table = next(table for table in stream.comparisons if table.id == AF.card.id)
    assert table.pairs[0].comparison.difference.value == 0
    assert any("after the same 3 of 6 tasks" in caution for caution in stream.cautions)


def test_a_reference_that_was_evaluated_once_takes_no_rows_from_the_contestants() -> None:
    groups = of(learner("a"), learner("b"), learner("all", {5}, role="joint"))
    stream = gather(groups).streams[0]
    tables = {table.id: table for table in stream.comparisons}
    assert len(tables["acc.average"].pairs) == 3
    assert len(tables[AF.card.id].pairs) == 1
    assert "of all, evaluated less often, over the last row alone" in stream.cautions[0]


def test_learners_without_a_common_row_are_not_compared() -> None:
    groups = of(learner("a", {0, 2, 4}), learner("b", {1, 3, 5}))
    assert common_rows({one.learner: one for one in groups}).groups == {}
    stream = gather(groups).streams[0]
    assert stream.comparisons == ()
    assert any("no task is one after which all learners were evaluated" in one.why for one in stream.refusals)
    with pytest.raises(Exception, match="no task is one after which all learners were evaluated"):
        compare(groups, AF)


def test_a_row_that_was_planned_and_is_missing_stays_missing() -> None:
    cut = [replace(run, rows=run.rows[:-1], plan=Plan()) for run in learner("b")]
    groups = of(learner("a"), cut)
    assert common_rows({one.learner: one for one in groups}).note is None
