"""The promises of a stream: every sample once a pass, the same batches however they are reached."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import UsageError
from recollect.runs.run import Run
from recollect.streams import stream_from_arrays


def numbered(n_classes=6, per_class=7, test_per_class=3, **options):
    """Sample i has the input i, so that batches tell which samples they hold."""
    y = np.tile(np.arange(n_classes), per_class)
    y_test = np.tile(np.arange(n_classes), test_per_class)
    x = np.arange(len(y), dtype=np.float32)[:, None]
    x_test = np.arange(len(y_test), dtype=np.float32)[:, None]
    options = {"name": "numbered", "tasks": 3, "batch": 4, **options}
    return stream_from_arrays(x, y, x_test, y_test, **options)


def same(one, other):
    return (
        np.array_equal(one.x, other.x)
        and np.array_equal(one.y, other.y)
        and (one.task, one.number, one.repeat, one.ends, one.samples_seen)
        == (other.task, other.number, other.repeat, other.ends, other.samples_seen)
    )


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    per_class=st.integers(1, 6),
    batch=st.integers(1, 9),
    passes=st.integers(1, 3),
    seed=st.integers(0, 5),
    data=st.data(),
)
def test_every_sample_once_a_pass_and_every_start_is_the_same(sizes, per_class, batch, passes, seed, data):
    stream = numbered(sum(sizes), per_class, tasks=None, classes_per_task=sizes, batch=batch, passes=passes)
    batches = list(stream.batches(seed))
    assert [b.number for b in batches] == list(range(stream.n_batches))
    assert batches[-1].samples_seen == stream.n_samples == stream.n_train * passes
    assert np.array_equal(np.cumsum([len(b.y) for b in batches]), [b.samples_seen for b in batches])
    assert [b.ends for b in batches if b.ends is not None] == list(range(len(sizes)))
    assert all(len(b.y) <= batch for b in batches)

    k, presented = 0, []
    for b in batches:
        assert set(b.y.tolist()) <= set(stream.tasks[k].classes)
        presented.append(b)
        if b.ends is None:
            continue
        assert b.ends == k
        rows = np.concatenate([p.x[:, 0] for p in presented]).astype(int)
        for one_pass in np.split(rows, passes):
            assert sorted(one_pass) == stream.tasks[k].train.tolist()
        repeats = np.concatenate([[p.repeat] * len(p.y) for p in presented])
        assert repeats.tolist() == [False] * (len(rows) // passes) + [True] * (len(rows) - len(rows) // passes)
        k, presented = k + 1, []

    start = data.draw(st.integers(0, stream.n_batches))
    rest = list(stream.batches(seed, start=start))
    assert len(rest) == len(batches) - start
    assert all(same(a, b) for a, b in zip(batches[start:], rest, strict=True))


def test_labels_belong_to_their_samples_and_come_in_order_of_appearance():
    stream = numbered(class_order=[4, 0, 5, 2, 1, 3])
    assert [task.classes for task in stream.tasks] == [(0, 1), (2, 3), (4, 5)]
    assert [task.original for task in stream.tasks] == [(4, 0), (5, 2), (1, 3)]
    order = [4, 0, 5, 2, 1, 3]
    for b in stream.batches(seed=0):
        assert [order[label] for label in b.y] == [int(i) % 6 for i in b.x[:, 0]]
    for t in stream.test_batches(5):
        assert [order[label] for label in t.y] == [int(i) % 6 for i in t.x[:, 0]]
        assert t.task.tolist() == [label // 2 for label in t.y.tolist()]


def test_another_seed_gives_another_order_and_passes_differ():
    stream = numbered(passes=2)
    first = [np.concatenate([b.x for b in stream.batches(s) if b.ends is None][:3]).ravel() for s in (0, 1)]
    assert not np.array_equal(*first)
    batches = list(stream.batches(0))
    one, two = batches[:4], batches[4:8]
    assert not np.array_equal(np.concatenate([b.x for b in one]), np.concatenate([b.x for b in two]))


def test_the_test_set_is_mixed_complete_and_always_the_same():
    stream = numbered(per_class=2, test_per_class=50)
    whole = list(stream.test_batches(512))
    assert len(whole) == 1
    assert sorted(whole[0].x[:, 0]) == list(range(300))
    parts = list(stream.test_batches(7))
    assert np.array_equal(np.concatenate([t.x for t in parts]), whole[0].x)
    # Mixed: among the first 30 of 300 each of the three tasks is there.
    assert set(whole[0].task[:30].tolist()) == {0, 1, 2}


def test_a_part_of_the_test_set_keeps_the_order():
    stream = numbered(test_per_class=20)
    (whole,) = stream.test_batches()
    (some,) = stream.test_batches(tasks=[0, 2])
    keep = whole.task != 1
    assert np.array_equal(some.x, whole.x[keep])
    (few,) = stream.test_batches(subsample=5)
    assert np.bincount(few.task).tolist() == [5, 5, 5]
    for k in range(3):
        assert np.array_equal(few.x[few.task == k], whole.x[whole.task == k][:5])


@pytest.mark.parametrize("start", [-1, 100])
def test_a_start_outside_the_stream_is_refused(start):
    with pytest.raises(UsageError, match="batches 0 to 11"):
        numbered().batches(0, start=start)


def test_a_test_batch_has_a_sample():
    with pytest.raises(UsageError, match="at least 1"):
        next(numbered().test_batches(0))


def test_record_and_fingerprint_agree_with_a_run():
    stream = numbered(classes_per_task=[3, 2, 1], tasks=None)
    tasks = stream.record_tasks()
    assert [(t.n_classes, t.n_samples, t.class_counts) for t in tasks] == [
        (3, 9, (3, 3, 3)),
        (2, 6, (3, 3)),
        (1, 3, (3,)),
    ]
    run = Run(
        learner="x",
        stream="renamed",
        tasks=tasks,
        rows=(),
        scenario=stream.scenario,
        data_hash=stream.data_hash,
    )
    assert (run.fingerprint, run.family) == (stream.fingerprint, stream.family)
    assert not stream.fingerprint.startswith("partial-")


def test_the_fingerprint_knows_what_matters():
    base = numbered()
    different = [
        numbered(class_order_seed=1),
        numbered(tasks=2),
        numbered(scenario="task-incremental"),
        numbered(scenario="domain-incremental"),
        numbered(scenario="domain-incremental", domain_seed=1),
        numbered(blurry=0.3),
        numbered(blurry=0.4),
        numbered(per_class=8),
        numbered(test_per_class=4),
        numbered(subset=6),
        numbered(subset={"test": 2}),
        numbered(standardize=True),
    ]
    prints = [base.fingerprint, *(stream.fingerprint for stream in different)]
    assert len(set(prints)) == len(prints)
    alike = [numbered(), numbered(batch=9), numbered(passes=3), numbered(name="other")]
    assert {stream.fingerprint for stream in alike} == {base.fingerprint}


def test_the_fingerprint_sees_one_changed_test_value():
    x, y = np.zeros((8, 1, 2, 2), dtype=np.uint8), [0, 1] * 4
    changed = x.copy()
    changed[5, 0, 1, 1] = 1
    one = stream_from_arrays(x, y, x, y, tasks=2)
    other = stream_from_arrays(x, y, changed, y, tasks=2)
    assert one.fingerprint != other.fingerprint


def test_seeds_of_one_experiment_share_the_family():
    families = {numbered(class_order_seed=seed).family for seed in range(5)}
    assert len(families) == 1


def test_the_fingerprint_is_the_same_in_another_process():
    code = """
import numpy as np
from recollect.streams import stream_from_arrays
x = np.arange(60, dtype=np.uint8).reshape(10, 1, 2, 3)
stream = stream_from_arrays(x, [*"abcde"] * 2, x, [*"abcde"] * 2, classes_per_task=[3, 2], class_order_seed=4)
prints = [stream.fingerprint, [batch.y.tolist() for batch in stream.batches(seed=9)]]
"""
    here: dict = {}
    exec(code, here)
    there = subprocess.run([sys.executable, "-c", code + "print(prints)"], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == str(here["prints"])
