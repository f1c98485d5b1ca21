"""The shell that all callbacks share: where an evaluation belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.integrations.stages import Stages
from recollect.runs import Task, load


def test_base_row_rows_inside_a_task_and_task_ends(tmp_path: Path) -> None:
    with Stages(tmp_path / "run", learner="lora", stream="two", tasks=["a", "b"]) as record:
        record.record({"a": 0.1, "b": 0.2})
        record.learning("a").record({"a": 0.5}, step=10)
        record.learned()
        record.record({"a": 0.9, "b": 0.3}, step=20)
        record.learning("b")
        record.learned()
        record.record({0: 0.7, 1: 0.8})
    (run,) = load(tmp_path / "run")
    assert [(row.after, row.task_end) for row in run.rows] == [(-1, True), (-1, False), (0, True), (1, True)]
    assert run.status == "finished"
    assert run.matrix.b is not None
    assert run.matrix.b.tolist() == [0.1, 0.2]
    assert run.matrix.R[run.timeline.learned_at[1]].tolist() == [0.7, 0.8]


def test_held_out_tasks_are_measured_and_never_learned(tmp_path: Path) -> None:
    tasks = ["a", Task("general", held_out=True)]
    with Stages(tmp_path / "run", learner="lora", stream="two", tasks=tasks) as record:
        record.record({"a": 0.1, "general": 0.6})
        record.learning("a").learned()
        record.record({"a": 0.9, "general": 0.5})
        with pytest.raises(UsageError, match="general is held out"):
            record.learning("general")
        with pytest.raises(UsageError, match="There is no task 'c'"):
            record.record({"c": 0.5})
    (run,) = load(tmp_path / "run")
    assert [task.held_out for task in run.tasks] == [False, True]
    with pytest.raises(UsageError, match="Held-out tasks come last"):
        Stages(tmp_path / "other", learner="l", stream="s", tasks=tasks[::-1])


def test_a_killed_training_skips_to_where_it_was(tmp_path: Path) -> None:
    for attempt in range(2):
        with Stages(tmp_path / "run", learner="lora", stream="two", tasks=["a"]) as record:
            assert record.is_done("a") is bool(attempt)
            if not record.is_done("a"):
                record.learning("a").learned()
                record.record({"a": 0.9})
