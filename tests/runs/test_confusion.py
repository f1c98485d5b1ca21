"""Which class was answered for which: counted in the protocol, sealed with the row, checked against the scores."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import NotComputable, UsageError
from recollect.protocol import iter_protocol, run_protocol
from recollect.report.class_answers import classes_of
from recollect.runs import Group, Plan, Run, group, load
from recollect.runs.codec import row_from_json, row_to_json
from recollect.runs.confusion import class_names, confusion_of, pack, unpack
from tests.protocol.test_loop import Perceptron, make_stream


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p", seed=0, plan=Plan(confusion=True, every=20))
    return load(tmp_path / "r")[0]


def test_it_is_counted_as_the_obvious_loop_counts() -> None:
    learner, stream = Perceptron(), make_stream()
    rows = list(iter_protocol(learner, stream, seed=0, plan=Plan(confusion=True, every=20)))
    expected = np.zeros((6, 6), int)
    for batch in stream.test_batches(100):
        for true, scores in zip(batch.y, learner.score(batch.x), strict=True):
            expected[true, int(np.argmax(scores))] += 1
    np.testing.assert_array_equal(unpack(rows[-1].confusion or ""), expected)


def test_every_row_agrees_with_its_scores(run: Run) -> None:
    rows = [row for row in run.rows if row.confusion is not None]
    assert len(rows) == len(run.rows) - 1, "all but the untrained row"
    for row in rows:
        counts = confusion_of(run, row)
        assert counts is not None
        seen = [c for task in run.tasks[: row.after + (1 if row.task_end else 2)] for c in task.classes or ()]
        unseen = [place for place, name in enumerate(class_names(run)) if name not in seen]
        assert counts[unseen].sum() == 0
        assert counts[:, unseen].sum() == 0
    assert run.confusion(after=0).sum() == (run.rows[1].n or (0,))[0]


def test_plans_without_it_write_what_they_wrote(tmp_path: Path) -> None:
    run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p", seed=0)
    text = (tmp_path / "r" / "rows.jsonl").read_text() + (tmp_path / "r" / "run.json").read_text()
    assert "confusion" not in text
    with pytest.raises(NotComputable, match="confusion: true"):
        load(tmp_path / "r")[0].confusion()


def test_counts_that_contradict_or_are_no_counts_are_refused(run: Run) -> None:
    row = run.rows[-1]
    counts = unpack(row.confusion or "")
    wrong = counts.copy()
    wrong[0, 0] += 1
    with pytest.raises(UsageError, match="contradict"):
        confusion_of(run, replace(row, confusion=pack(wrong)))
    with pytest.raises(UsageError, match="5 classes"):
        confusion_of(run, replace(row, confusion=pack(counts[:5, :5])))
    bomb = base64.b64encode(zlib.compress(bytes(50_000_000))).decode()
    for text in ("", "no", "AAAA", base64.b64encode(zlib.compress(b"12345678")).decode(), bomb):
        with pytest.raises(UsageError, match="not counts"):
            unpack(text)
    assert row_from_json(row_to_json(row), "accuracy") == row


def test_many_classes_are_packed_small() -> None:
    counts = np.diag(np.full(100, 80)) + np.random.default_rng(0).poisson(0.2, (100, 100))
    assert len(pack(counts)) < 8_000


def test_seeds_are_put_together_class_by_class(run: Run) -> None:
    found = classes_of(group([run])[0])
    assert found is not None
    counts = run.confusion()
    np.testing.assert_allclose(found.answered.value, counts / counts.sum(1, keepdims=True))
    np.testing.assert_allclose(found.over_time.value[-1], np.diag(counts) / counts.sum(1))
    assert np.isnan(found.over_time.value[0][-1]), "the last class has not been seen after the first task"


def test_seeds_with_orders_of_their_own_are_put_together_by_name(run: Run) -> None:
    names, counts = class_names(run), run.confusion()
    turned = dict(zip(sorted(names), sorted(names)[::-1], strict=True))  # the same samples, under other names
    tasks = tuple(replace(task, classes=tuple(turned[c] for c in task.classes or ())) for task in run.tasks)
    found = classes_of(Group((run, replace(run, seed=1, tasks=tasks))))
    assert found is not None
    assert list(found.names) == sorted(map(str, names))
    order = np.argsort(names)
    share = (counts / counts.sum(1, keepdims=True))[np.ix_(order, order)]
    np.testing.assert_allclose(found.answered.value, (share + share[::-1, ::-1]) / 2)
    assert np.isnan(found.over_time.value[0]).any(), "after the first task not every class has been seen by both"
    assert np.isfinite(found.over_time.value[-1]).all()
    less = tuple(replace(task, classes=tuple(f"other {c}" for c in task.classes or ())) for task in run.tasks)
    assert classes_of(Group((run, replace(run, seed=1, tasks=less)))) is None
