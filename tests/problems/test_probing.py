"""Linear probes: what they measure, that they change nothing else, and whom they cannot be fitted to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.experiments.file import parse
from recollect.experiments.grid import grid
from recollect.experiments.running import run_experiment
from recollect.learners import Setting, make_learner, wrap
from recollect.problems.probing import PENALTIES, SAMPLES, ridge
from recollect.protocol import iter_protocol, iter_run, run_protocol
from recollect.runs import Plan
from recollect.runs.assemble import PROBE
from recollect.runs.seeds import derive
from recollect.streams import make_stream, stream_from_arrays

torch = pytest.importorskip("torch")
PROBED = Plan(probe=15)


def digits() -> Any:
    return make_stream("digits", tasks=5, subset={"train": 20, "test": 10})


def learner_for(stream: Any, name: str = "finetune", **options: Any) -> Any:
    return make_learner(name, options, Setting.of(stream), derive(0), "cpu")


class Noisy(torch.nn.Module):
    """A module of somebody else: dropout, no `features`, a head that is its last linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, 20), torch.nn.ReLU(), torch.nn.Dropout(0.5)
        )
        self.head = torch.nn.Linear(20, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x))


LEARNERS: dict[str, dict[str, Any]] = {
    "finetune": {},
    "er": {"network": Noisy(), "memory": 20},
    "gdumb": {"memory": 20, "epochs": 3},
    "ncm": {},
}


def without_probe(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    for row in rows:
        row.get("scores", {}).pop(PROBE, None)
    return [{key: value for key, value in row.items() if key != "seal" and value != {}} for row in rows]


def by_hand(x: Any, y: Any, asked: Any) -> Any:
    """The same classifier: normal equations, and every sample left out in turn."""
    scale = np.where(x.std(0) > 0, x.std(0), np.inf)
    x, asked = (x - x.mean(0)) / scale, (asked - x.mean(0)) / scale
    targets = (y[:, None] == np.unique(y)).astype(float)

    def fitted(x: Any, targets: Any, penalty: float) -> tuple[Any, Any]:
        wide = np.hstack([x, np.ones((len(x), 1))])
        shrink = penalty * np.diag([1.0] * x.shape[1] + [0.0])
        weights = np.linalg.solve(wide.T @ wide + shrink, wide.T @ targets)
        return weights[:-1], weights[-1]

    def error(penalty: float) -> float:
        total = 0.0
        for i in range(len(x)):
            others = np.arange(len(x)) != i
            weights, level = fitted(x[others], targets[others], penalty * len(x))
            total += float(((x[i] @ weights + level - targets[i]) ** 2).sum())
        return total

    weights, level = fitted(x, targets, min(sorted(PENALTIES, reverse=True), key=error) * len(x))
    return np.unique(y)[(asked @ weights + level).argmax(1)]


@pytest.mark.parametrize(("n", "width"), [(30, 4), (12, 40)])
def test_the_closed_form_is_that_of_the_normal_equations(n: int, width: int) -> None:
    rng = np.random.default_rng(n)
    y = rng.permutation(np.arange(n) % 3)
    x = rng.normal(size=(n, width)) + y[:, None] * (np.arange(width) == 1)
    x[:, 2] = 7.0
    asked = rng.normal(size=(50, width)) + rng.integers(0, 3, 50)[:, None] * (np.arange(width) == 1)
    np.testing.assert_array_equal(ridge(x, y, asked), by_hand(x, y, asked))


@pytest.mark.parametrize("name", LEARNERS)
def test_the_learners_own_numbers_are_the_same_with_and_without(name: str, tmp_path: Path) -> None:
    stream, options = digits(), LEARNERS[name]
    for plan, place in ((Plan(), "without"), (PROBED, "with")):
        run_protocol(learner_for(stream, name, **options), stream, tmp_path / place, name=name, plan=plan)
    assert without_probe(tmp_path / "with") == without_probe(tmp_path / "without")
    made = rc.load(tmp_path / "with")[0]
    assert [len(row.scores.get(PROBE, ())) for row in made.rows] == [0, 1, 2, 3, 4, 5]
    assert made.cost["probe_samples"] == 5 * 15
    assert made.timings["probe_seconds"] > 0
    assert made.with_metric(PROBE).unit == "fraction"


@pytest.mark.parametrize("name", ["finetune", "gdumb"])
def test_killed_and_resumed(name: str, tmp_path: Path) -> None:
    stream, options = digits(), LEARNERS[name]
    run_protocol(learner_for(stream, name, **options), stream, tmp_path / "whole", name=name, plan=PROBED)
    rows = iter_run(learner_for(stream, name, **options), stream, tmp_path / "killed", name=name, plan=PROBED)
    for _ in range(3):
        next(rows)
    rows.close()
    with pytest.raises(UsageError, match="probe was 15 and is"):
        run_protocol(learner_for(stream, name, **options), stream, tmp_path / "killed", name=name)
    run_protocol(learner_for(stream, name, **options), stream, tmp_path / "killed", name=name, plan=PROBED)
    assert (tmp_path / "killed/rows.jsonl").read_bytes() == (tmp_path / "whole/rows.jsonl").read_bytes()


class Losing:
    """Its features tell the classes of the first two tasks apart until the second ends; its scores never do."""

    def __init__(self) -> None:
        self.tasks = 0

    def learn(self, batch: Any) -> None: ...

    def end_task(self) -> None:
        self.tasks += 1

    def score(self, x: Any) -> Any:
        return np.zeros((len(x), 6))

    def represent(self, x: Any) -> Any:
        return x if self.tasks < 3 else np.ones((len(x), 2))


def blobs(tasks: int = 3) -> Any:
    y = np.repeat(np.arange(6), 10)
    x = np.arange(60, dtype=np.float32)[:, None]
    return stream_from_arrays(x, y, x, y, name="blobs", tasks=tasks)


def test_what_the_features_lost() -> None:
    stream = blobs()
    rows = list(iter_protocol(wrap(Losing(), Setting.of(stream)), stream, seed=0, plan=Plan(probe=SAMPLES)))
    assert [row.scores.get(PROBE) for row in rows] == [None, (1.0,), (1.0, 1.0), (0.5, 0.5, 0.5)]
    P = np.array([[1, np.nan, np.nan], [1, 1, np.nan], [0.5, 0.5, 0.5]])
    assert rc.score(rc.ScoreMatrix(P, probe=P), "probe.forgetting") == 0.5


def test_a_task_of_one_class_has_no_probe() -> None:
    stream = blobs(tasks=6)
    (row,) = (
        row
        for row in iter_protocol(wrap(Losing(), Setting.of(stream)), stream, seed=0, plan=Plan(rows=(0,), probe=5))
        if row.after == 0
    )
    assert row.scores[PROBE] == (None,)
    assert "of one class" in next(iter(row.reasons[PROBE].values()))


class Headless(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(64, 10))

    def forward(self, x: Any) -> Any:
        return x.flatten(1) @ self.weight


def test_who_has_no_features_is_refused_before_anything_is_on_disk(tmp_path: Path) -> None:
    text = "{name: e, streams: [{name: digits, tasks: 5}], learners: [random], seeds: 1, plan: {probe: true}}"
    with pytest.raises(UsageError, match="has none: no `represent"):
        run_experiment(parse(text), tmp_path, workers=1)
    assert not list(tmp_path.rglob("run.json"))


def test_a_network_without_a_head_is_refused() -> None:
    stream = digits()
    with pytest.raises(UsageError, match="no method `features"):
        next(iter_protocol(learner_for(stream, network=Headless()), stream, seed=0, plan=PROBED))


def test_streams_without_classes_are_refused() -> None:
    stream = replace(blobs(), problem="regression")
    with pytest.raises(UsageError, match="is of regression, which asks for"):
        next(iter_protocol(learner_for(blobs()), stream, seed=0, plan=PROBED))


@pytest.mark.parametrize(("given", "kept"), [("true", SAMPLES), ("50", 50), ("false", None)])
def test_in_a_plan(given: str, kept: int | None, tmp_path: Path) -> None:
    text = (
        f"{{name: e, streams: [{{name: digits, tasks: 5}}], learners: [finetune], seeds: 1, plan: {{probe: {given}}}}}"
    )
    assert [job.plan.probe for job in grid(parse(text), tmp_path)] == [kept]


@pytest.mark.parametrize("given", ["yes please", "0", "-3", "1.5", "[1]"])
def test_a_wrong_value_is_one_sentence(given: str) -> None:
    text = f"{{name: e, streams: [digits], learners: [finetune], seeds: 1, plan: {{probe: {given}}}}}"
    with pytest.raises(UsageError, match=r"plan\.probe: true, false, or how many training samples"):
        parse(text)


@pytest.mark.parametrize("name", ["finetune", "er_gnn"])
def test_learners_over_graphs(name: str) -> None:
    pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")
    from tests.learners.graphs.test_learners import learner, stream

    made = stream(tasks=2, classes_per_task=(2, 1))
    plain, probed = (list(iter_protocol(learner(name, made), made, seed=0, plan=plan)) for plan in (Plan(), PROBED))
    assert [replace(row, scores={}, reasons={}) for row in probed] == plain
    first, lone = probed[-1].scores[PROBE]
    assert first is not None
    assert lone is None
