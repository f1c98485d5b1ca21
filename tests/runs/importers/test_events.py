from __future__ import annotations

from recollect.runs.importers.events import Evaluated, Learned, lay_out


def places(events):
    return [(row.after, row.task_end, row.scores["accuracy"]) for row in lay_out(events).rows]


def test_a_task_learned_again_gives_rows_that_are_no_ends():
    events = [
        Learned("a"),
        Evaluated({"a": 0.9}),
        Learned("b"),
        Evaluated({"a": 0.5, "b": 0.8}),
        Learned("a"),
    ]
    events += [Evaluated({"a": 0.95, "b": 0.4})]
    assert places(events) == [(0, True, (0.9, None)), (1, True, (0.5, 0.8)), (1, False, (0.95, 0.4))]


def test_the_same_evaluation_twice_the_last_counts():
    line = lay_out([Learned("a"), Evaluated({"a": 0.1}), Evaluated({"a": 0.9})])
    assert [row.scores["accuracy"] for row in line.rows] == [(0.9,)]
    assert "the last counts" in line.notes[0]


def test_an_evaluation_in_parts_is_one_row():
    line = lay_out([Learned("a"), Evaluated({"a": 0.1}), Evaluated({"b": 0.9})])
    assert [row.scores["accuracy"] for row in line.rows] == [(0.1, 0.9)]
    assert (line.tasks, line.learned, line.notes) == (("a", "b"), 1, ())


def test_inside_a_task():
    events = [Evaluated({"a": 0.1}), Evaluated({"a": 0.5}, inside=True), Learned("a"), Evaluated({"a": 0.9})]
    assert places(events) == [(-1, True, (0.1,)), (-1, False, (0.5,)), (0, True, (0.9,))]
