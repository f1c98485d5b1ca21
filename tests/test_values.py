"""What users give by mistake: never an exception of Python's own, whatever the value and wherever it is given."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect as rc
from recollect.errors import RecollectError
from recollect.runs import Recorder, Row, Run, Task
from recollect.runs.recorder import _SETTABLE
from recollect.runs.seeds import derive
from recollect.streams import Spec, make_stream
from recollect.values import number, shown, whole


class Strange:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def values() -> list[Any]:
    given: list[Any] = ["a", 10.5, -1, float("nan"), float("inf"), 10**6000, None, [], {}, b"x", True, np.float32(2)]
    given += [np.array([1, 2]), 1 + 2j, Strange(), lambda: 1, object, "\0", "1" * 5000, 2**63, (1, 2), [[1, 2], [3]]]
    try:
        import torch
    except ImportError:
        return given
    return [*given, torch.tensor(0.5, requires_grad=True), torch.tensor([1.0, 2.0])]


VALUES = values()


def never_raw(call: Callable[[Any], object]) -> None:
    for value in VALUES:
        with contextlib.suppress(RecollectError), warnings.catch_warnings(action="ignore"):
            call(value)


def record(folder: Path, fields: dict[str, Any], cell: dict[str, Any]) -> None:
    with Recorder(folder, **{"learner": "er", "stream": "toy", "tasks": 2, "seed": 0, **fields}) as recorder:
        recorder.log(**{"after": 0, "on": 0, "score": 0.5, **cell})


@pytest.mark.parametrize("name", ["after", "on", "score", "correct", "n", "step", "task_end"])
@pytest.mark.parametrize("beside", [{}, {"score": None, "correct": 3, "n": 10}])
def test_a_cell(tmp_path: Path, name: str, beside: dict[str, Any]) -> None:
    places = iter(range(99))
    never_raw(lambda value: record(tmp_path / str(next(places)), {}, {**beside, name: value}))


@pytest.mark.parametrize("name", ["learner", "stream", "tasks", "seed", *sorted(_SETTABLE)])
def test_a_recorder(tmp_path: Path, name: str) -> None:
    places = iter(range(99))
    never_raw(lambda value: record(tmp_path / str(next(places)), {name: value}, {}))


@pytest.mark.parametrize("name", list(inspect.signature(rc.ScoreMatrix).parameters))
def test_a_matrix(name: str) -> None:
    beside = {} if name == "R" else {"R": [[0.8, 0.1], [0.6, 0.9]]}
    never_raw(lambda value: rc.ScoreMatrix(**{**beside, name: value}))


def test_a_score() -> None:
    never_raw(lambda value: rc.score(value, "acc.average"))
    never_raw(lambda value: rc.score(rc.ScoreMatrix([[0.8, 0.1], [0.6, 0.9]]), value))
    never_raw(lambda value: rc.score([[value, 0.1], [0.6, 0.9]], "acc.average"))  # type: ignore[arg-type]
    never_raw(derive)


RUN: dict[str, Any] = {"learner": "er", "stream": "toy", "tasks": (Task("a"), Task("b"))}


@pytest.mark.parametrize("name", [field.name for field in fields(Run)])
def test_a_run(name: str) -> None:
    row = Row(0, scores={"accuracy": (0.5, 0.1)})

    def make(value: Any) -> None:
        run = Run(**{**RUN, "rows": (row,), name: value})
        _ = run.matrix, run.fingerprint, run.family

    never_raw(make)


@pytest.mark.parametrize("name", [field.name for field in fields(Row)])
def test_a_row(name: str) -> None:
    row = {"after": 0, "scores": {"accuracy": (0.5, 0.1)}}
    never_raw(lambda value: Run(**RUN, rows=(Row(**{**row, name: value}),)).matrix)


@pytest.mark.parametrize("name", ["name", *(field.name for field in fields(Spec))])
def test_a_stream(name: str) -> None:
    never_raw(lambda value: make_stream(**{"name": "digits", name: value}))


def test_what_is_a_number_is_taken() -> None:
    torch = pytest.importorskip("torch")
    assert number(torch.tensor(0.5, requires_grad=True), "score") == 0.5
    assert whole(np.int64(3), "n") == whole(torch.tensor(3), "n") == 3
    assert shown(Strange()) == "an object of the type Strange"
