"""Fingerprints change with what makes a stream another one, and with nothing else."""

from dataclasses import replace

import pytest

from recollect.runs import Row, Run, Task
from recollect.runs.fingerprint import family, fingerprint, is_partial

TASKS = (
    Task("a", n_classes=2, n_samples=20, classes=(0, 1), class_counts=(12, 8)),
    Task("b", n_classes=2, n_samples=18, classes=(2, 3), class_counts=(9, 9)),
)
STREAM = {"stream": "toy", "scenario": "class-incremental", "data_hash": "f00d"}


def test_golden():
    assert fingerprint(TASKS, **STREAM) == "1-e599365d4e2886971001"
    assert family(TASKS, **STREAM) == "1-8b29deeefc3d4a8bc46a"


def swapped(task, **changes):
    return (TASKS[0], replace(TASKS[1], **changes)) if task else (replace(TASKS[0], **changes), TASKS[1])


@pytest.mark.parametrize(
    ("tasks", "fields"),
    [
        (TASKS[::-1], {}),
        (swapped(1, classes=(2, 4)), {}),
        (swapped(1, classes=(2, "3")), {}),
        (swapped(1, n_samples=19), {}),
        (swapped(0, class_counts=(8, 12)), {}),
        (TASKS, {"scenario": "task-incremental"}),
        (TASKS, {"data_hash": "beef"}),
    ],
)
def test_another_stream_has_another_fingerprint(tasks, fields):
    assert fingerprint(tasks, **STREAM | fields) != fingerprint(TASKS, **STREAM)


def test_names_and_the_order_inside_a_task_do_not_matter_where_the_data_are_known():
    same = (
        Task("first", n_classes=2, n_samples=20, classes=(1, 0), class_counts=(8, 12)),
        replace(TASKS[1], name="second"),
    )
    assert fingerprint(same, **STREAM | {"stream": "another name"}) == fingerprint(TASKS, **STREAM)


def test_the_family_ignores_the_class_order_of_the_seed_and_nothing_else():
    reordered = (
        Task("a", n_classes=2, n_samples=17, classes=(3, 1)),
        Task("b", n_classes=2, n_samples=21, classes=(0, 2)),
    )
    assert family(reordered, **STREAM) == family(TASKS, **STREAM)
    other_sizes = (
        Task("a", n_classes=1, n_samples=17, classes=(3,)),
        Task("b", n_classes=3, n_samples=21, classes=(0, 1, 2)),
    )
    assert family(other_sizes, **STREAM) != family(TASKS, **STREAM)
    assert family(TASKS, **STREAM | {"data_hash": "beef"}) != family(TASKS, **STREAM)


def test_what_is_not_known_makes_it_partial():
    assert not is_partial(fingerprint(TASKS, **STREAM))
    assert is_partial(fingerprint(TASKS, **STREAM | {"data_hash": None}))
    assert is_partial(fingerprint((Task("a", n_samples=3),), **STREAM))
    named = fingerprint((Task("a"),), stream="one")
    assert named != fingerprint((Task("a"),), stream="two")
    assert named != fingerprint((Task("b"),), stream="one")


def test_a_run_has_both():
    run = Run(learner="er", tasks=TASKS, rows=(Row(0, scores={"accuracy": (0.5,)}),), **STREAM)
    assert (run.fingerprint, run.family) == (fingerprint(TASKS, **STREAM), family(TASKS, **STREAM))
