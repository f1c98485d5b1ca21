"""The protocol: equal to the obvious loop, killed and resumed bit for bit, planned rows only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.protocol import Place, checkpoint, iter_protocol, iter_run, run_protocol, spread
from recollect.runs.reading import read_run
from recollect.runs.run import Plan
from recollect.runs.seeds import derive
from recollect.streams import stream_from_arrays


class Perceptron:
    """A tiny learner with weights, a random generator that matters, and a count of task ends."""

    def __init__(self, features: int = 3, classes: int = 6, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.w = self.rng.normal(size=(features, classes)).astype(np.float32)
        self.ended = 0
        self.stored_samples = 0
        self.stored_bytes = 0

    def learn(self, batch: Any) -> None:
        wrong = (batch.x @ self.w).argmax(1) != batch.y
        noise = self.rng.normal(size=self.w.shape).astype(np.float32)
        for x, y in zip(batch.x[wrong], batch.y[wrong], strict=True):
            self.w[:, y] += 0.1 * x
        self.w += 0.01 * noise

    def score(self, x: Any, task: Any = None) -> Any:
        return x @ self.w

    def end_task(self) -> None:
        self.ended += 1

    def state(self) -> dict[str, Any]:
        return {"w": self.w.copy(), "rng": self.rng.bit_generator.state, "ended": self.ended}

    def restore(self, state: dict[str, Any]) -> None:
        self.w, self.ended = state["w"], state["ended"]
        self.rng.bit_generator.state = state["rng"]


def make_stream(**options: Any) -> Any:
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(6), 20)
    x = (np.eye(6)[y] @ rng.normal(size=(6, 3)) + 0.3 * rng.normal(size=(120, 3))).astype(np.float32)
    options = {"tasks": 3, "batch": 7, **options}
    return stream_from_arrays(x, y, x[::2], y[::2], name="toy", **options)


def test_it_equals_the_obvious_loop_bit_for_bit() -> None:
    stream = make_stream(passes=2)
    learner = Perceptron()
    rows = list(iter_protocol(learner, stream, seed=3))

    manual = Perceptron()
    x, y, task = (np.concatenate(p) for p in zip(*((b.x, b.y, b.task) for b in stream.test_batches()), strict=True))

    def right(task_index: int, classes: int) -> int:
        mine = task == task_index
        return int(((x[mine] @ manual.w)[:, :classes].argmax(1) == y[mine]).sum())

    wanted = [[right(j, 2 * j + 2) for j in range(3)]]
    for batch in stream.batches(seed=3):
        manual.learn(batch)
        if batch.ends is not None:
            manual.end_task()
            wanted.append([right(j, 2 * max(j, batch.ends) + 2) for j in range(3)])
    assert [list(row.correct or ()) for row in rows] == wanted
    assert [row.after for row in rows] == [-1, 0, 1, 2]
    assert [row.step for row in rows] == [0, 80, 160, 240]
    assert checkpoint.digest(learner.state()) == checkpoint.digest(manual.state())


def test_the_split_of_forgetting_is_exact(tmp_path: Path) -> None:
    run = run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p")
    parts = rc.score(run.matrix, "split.lost") + rc.score(run.matrix, "split.confusion")
    assert parts == pytest.approx(rc.score(run.matrix, "forgetting.chaudhry2018"), abs=1e-15)
    assert run.masked_matrix.R.shape == (3, 3)
    assert run.matrix.b is not None


def test_a_run_folder_has_it_all(tmp_path: Path) -> None:
    run = run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p", seed=5, config={"lr": 0.1})
    assert run.status == "finished"
    assert run.seeds == derive(5)
    assert {"train_seconds", "evaluate_seconds", "train_cpu_seconds"} <= set(run.timings)
    assert {"train_peak_bytes", "evaluate_peak_bytes", "stored_bytes"} <= set(run.cost)
    assert [row.n for row in run.rows] == [(20, 20, 20)] * 4
    assert run.rows[1].restricted is not None
    assert run.rows[1].restricted[1][0] is None
    assert run.rows[0].restricted is None
    errors = run.rows[3].errors
    correct = run.rows[3].correct
    assert correct is not None
    assert [
        c + o + w + n for c, o, w, n in zip(correct, errors["older"], errors["own"], errors["newer"], strict=True)
    ] == [20] * 3
    assert not list((tmp_path / "r").glob("checkpoint*"))


def test_a_finished_run_is_left_alone(tmp_path: Path) -> None:
    run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p")
    before = {file.name: file.read_bytes() for file in (tmp_path / "r").iterdir()}
    assert list(iter_run(Perceptron(), make_stream(), tmp_path / "r", name="p")) == []
    assert {file.name: file.read_bytes() for file in (tmp_path / "r").iterdir()} == before


class Killed(BaseException):
    """Stands for kill -9: no handler of the engine may run because of it, but those that always run."""


def interruptions() -> Iterator[tuple[str, int]]:
    for call in ("learn", "score", "state"):
        for number in (0, 1, 3):
            yield call, number
    yield "remove_checkpoints", 0
    for number in range(4):
        yield "append", number
        yield "write_checkpoint", number


@pytest.mark.parametrize(("call", "number"), list(interruptions()))
def test_killed_anywhere_it_goes_on_bit_for_bit(
    call: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.runs.store import RunFolder

    stream = make_stream()
    plan = Plan(every=25)
    run_protocol(Perceptron(), stream, tmp_path / "whole", name="p", plan=plan)

    owner: Any = Perceptron if call in ("learn", "score", "state") else RunFolder
    original, calls = getattr(owner, call), []

    def dying(self: Any, *args: Any) -> Any:
        calls.append(1)
        if call in ("write_checkpoint", "remove_checkpoints") and len(calls) > number:
            raise Killed
        result = original(self, *args)
        if len(calls) > number:
            raise Killed
        return result

    with monkeypatch.context() as patched:
        patched.setattr(owner, call, dying)
        with pytest.raises(Killed):
            run_protocol(Perceptron(), stream, tmp_path / "killed", name="p", plan=plan)
    resumed = run_protocol(Perceptron(), stream, tmp_path / "killed", name="p", plan=plan)
    assert resumed.status == "finished"
    assert (tmp_path / "killed/rows.jsonl").read_bytes() == (tmp_path / "whole/rows.jsonl").read_bytes()
    assert sorted(p.name for p in (tmp_path / "killed").iterdir()) == ["rows.jsonl", "run.json"]


def test_it_goes_on_and_does_not_start_again(tmp_path: Path) -> None:
    stream, learned = make_stream(), []

    class Counting(Perceptron):
        def learn(self, batch: Any) -> None:
            learned.append(batch.number)
            super().learn(batch)

    rows = iter_run(Counting(), stream, tmp_path / "r", name="p")
    assert [next(rows).after for _ in range(3)] == [-1, 0, 1]
    rows.close()  # type: ignore[attr-defined]
    at = len(learned)
    run_protocol(Counting(), stream, tmp_path / "r", name="p")
    assert learned[at:] == list(range(at, stream.n_batches))


def test_start_goes_on_without_the_row_of_the_place() -> None:
    stream = make_stream()
    learner = Perceptron()
    rows = iter_protocol(learner, stream, seed=0)
    next(rows), next(rows)
    other = Perceptron(seed=9)
    other.restore(checkpoint.decode(checkpoint.encode(learner.state())))
    assert list(rows) == list(iter_protocol(other, stream, seed=0, start=Place(6, 0)))


def test_an_error_is_in_the_record_and_the_run_goes_on_afterwards(tmp_path: Path) -> None:
    lucky = []

    class Perhaps(Perceptron):
        def end_task(self) -> None:
            if self.ended == 1 and not lucky:
                raise RuntimeError("out of luck")
            super().end_task()

    with pytest.raises(RuntimeError, match="out of luck"):
        run_protocol(Perhaps(), make_stream(), tmp_path / "r", name="p")
    failed = read_run(tmp_path / "r")
    assert failed.status == "failed"
    assert failed.error == "RuntimeError: out of luck"
    assert [row.after for row in failed.rows] == [-1, 0]
    lucky.append(True)
    assert run_protocol(Perhaps(), make_stream(), tmp_path / "r", name="p").status == "finished"


def test_a_changed_configuration_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p", config={"lr": 0.1})
    before = (tmp_path / "r/run.json").read_bytes()
    with pytest.raises(UsageError, match=r"another run: the option lr was 0\.1 and is 0\.2 now"):
        run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p", config={"lr": 0.2})
    assert (tmp_path / "r/run.json").read_bytes() == before


def test_planned_rows_only_and_the_rest_is_not_trained_for(tmp_path: Path) -> None:
    learner = Perceptron()
    rows = list(iter_protocol(learner, make_stream(), seed=0, plan=Plan(rows=(1,))))
    assert [row.after for row in rows] == [-1, 1]
    assert learner.ended == 2
    run = run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p", plan=Plan(rows=(0, 2)))
    assert run.matrix.planned.tolist() == [True, False, True]


def test_rows_inside_tasks_come_every_n_samples() -> None:
    rows = list(iter_protocol(Perceptron(), make_stream(), seed=0, plan=Plan(every=20)))
    assert [(row.after, row.task_end, row.step) for row in rows] == [
        (-1, True, 0),
        (-1, False, 21),
        (0, True, 40),
        (0, False, 61),
        (1, True, 80),
        (1, False, 101),
        (2, True, 120),
    ]
    assert rows[1].restricted is None


def test_seen_columns_and_subsamples() -> None:
    rows = list(iter_protocol(Perceptron(), make_stream(), seed=0, plan=Plan(columns="seen", subsample=5)))
    assert rows[0].n == (5, 5, 5)
    assert rows[1].n == (5, None, None)
    assert rows[1].correct is not None
    assert rows[1].correct[1:] == (None, None)
    assert rows[2].n == (5, 5, None)
    assert rows[3].standard_error[0] is not None


def test_inside_a_task_its_own_classes_are_asked_for() -> None:
    """Of the task under way something has been seen: it has a column, and its classes may be answered."""
    inside = [
        row
        for row in iter_protocol(Perceptron(), make_stream(), seed=0, plan=Plan(every=20, columns="seen"))
        if not row.task_end
    ]
    assert [row.n for row in inside] == [(20, None, None), (20, 20, None), (20, 20, 20)]

    class Second(Perceptron):  # always answers with the first class of the second task
        def score(self, x: Any, task: Any = None) -> Any:
            return np.tile(np.eye(6)[2], (len(x), 1))

    rows = list(iter_protocol(Second(), make_stream(), seed=0, plan=Plan(every=20)))
    newer = {(row.after, row.task_end): row.errors["newer"][0] for row in rows}
    assert newer[0, True] == 0, "its classes cannot be answered before it has begun"
    assert newer[0, False] == 20, "and they can be while it is learned"


def test_boundaries_are_told_only_where_the_scenario_tells_them() -> None:
    learner = Perceptron()
    list(iter_protocol(learner, make_stream(boundaries=False), seed=0))
    assert learner.ended == 0


def test_a_learner_without_an_answer_gives_a_row_without_counts() -> None:
    class Silent(Perceptron):
        def score(self, x: Any, task: Any = None) -> Any:
            return np.full((len(x), 6), np.nan)

    row = next(iter_protocol(Silent(), make_stream(), seed=0))
    assert row.correct is None
    assert "every one is NaN" in (row.reason or "")


def test_a_plan_outside_the_stream_is_refused() -> None:
    with pytest.raises(UsageError, match="tasks from 0 to 2"):
        next(iter_protocol(Perceptron(), make_stream(), seed=0, plan=Plan(rows=(3,))))


@pytest.mark.parametrize(("rows", "T"), [(1, 5), (12, 100), (7, 10), (3, 3)])
def test_spread_rows(rows: int, T: int) -> None:
    chosen = spread(rows, T)
    assert len(chosen) == rows
    assert chosen[-1] == T - 1
    assert max(np.diff([-1, *chosen])) - min(np.diff([-1, *chosen])) <= 1


def test_a_state_that_is_not_plain_is_named(tmp_path: Path) -> None:
    class Odd(Perceptron):
        def state(self) -> dict[str, Any]:
            return {"net": [object()]}

    with pytest.raises(UsageError, match=r"state\(\)\['net'\]\[0\] is of the type object"):
        run_protocol(Odd(), make_stream(), tmp_path / "r", name="p")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**100),
        0.1,
        "ü",
        b"\x00",
        np.zeros((0, 3), np.uint8),
        np.float32(0.5),
        np.array(3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        [1, (2, {"k": np.arange(3)[::-1]})],
    ],
)
def test_checkpoints_come_back_the_same(value: Any) -> None:
    back = checkpoint.decode(checkpoint.encode({"value": value}))
    assert checkpoint.digest(back) == checkpoint.digest({"value": value})
    if isinstance(value, np.ndarray):
        assert back["value"].flags.writeable


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 1.0}),
        ([1, 2], [12]),
        ("1", 1),
        ({"a": {}}, {"a": []}),
        (True, 1),
        (np.zeros(2), np.zeros((2, 1))),
    ],
)
def test_different_states_have_different_digests(one: Any, other: Any) -> None:
    assert checkpoint.digest(one) != checkpoint.digest(other)


def test_rows_hold_no_clock(tmp_path: Path) -> None:
    run_protocol(Perceptron(), make_stream(), tmp_path / "r", name="p")
    keys = {k for line in (tmp_path / "r/rows.jsonl").read_text().splitlines() for k in json.loads(line)}
    assert keys == {"after", "step", "correct", "n", "masked", "restricted", "errors", "state", "seal"}
