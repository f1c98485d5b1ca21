"""Test, then train: against scikit-learn over the obvious windows, and never a sample that was learned before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.metrics import score
from recollect.protocol import iter_protocol, iter_run, run_protocol
from recollect.runs.reading import read_run
from recollect.runs.run import Plan
from recollect.runs.seeds import derive
from recollect.streams import Stream, stream_from_table

WINDOW, FACTOR = 40, 0.95
PLAN = Plan(online=WINDOW, fading=FACTOR)


def make_stream(**options: Any) -> Stream:
    import pandas

    rng = np.random.default_rng(0)
    label = (rng.random(300) < 0.2).astype(int)
    table = pandas.DataFrame({"a": rng.normal(size=300) + 2 * label, "b": rng.normal(size=300), "label": label})
    table["concept"] = np.repeat(["x", "y", "z"], 100)
    given = {"scenario": "concept-agnostic", "batch": 15, "contaminated": True, **options}
    return stream_from_table(table, **given)


class Distance:
    """Scores by the distance from the mean of all samples seen; keeps what it was asked and when."""

    stored_samples = stored_bytes = 0

    def __init__(self) -> None:
        self.total, self.count = np.zeros(2), 0
        self.asked: list[tuple[int, Any]] = []

    def learn(self, batch: Any) -> None:
        assert (batch.y == -1).all()  # the labels stay hidden
        self.total = self.total + batch.x.sum(0)
        self.count += len(batch.x)

    def score(self, x: Any, task: Any = None) -> Any:
        self.asked.append((self.count, x))
        mean = self.total / max(1, self.count)
        return np.linalg.norm(x - mean, axis=1) if self.count else np.full(len(x), np.nan)

    def flagged(self, scores: Any, task: Any = None) -> Any:
        return scores > 1.5

    def end_task(self) -> None: ...

    def state(self) -> dict[str, Any]:
        return {"total": self.total.copy(), "count": self.count}

    def restore(self, state: dict[str, Any]) -> None:
        self.total, self.count = np.array(state["total"]), int(state["count"])


def by_hand(stream: Stream) -> list[tuple[int, int, float]]:
    """(samples seen with its batch, label, score) of every sample that could be scored, in the obvious loop."""
    made, learner = [], Distance()
    for batch in stream.batches(seed=derive(0).stream):
        for label, value in zip(stream.data.y_train[batch.index], learner.score(batch.x), strict=True):
            made.append((batch.samples_seen, int(label), float(value)))
        learner.learn(batch)
    return [one for one in made if np.isfinite(one[2])]


def test_scores_over_time_are_those_of_the_obvious_loop() -> None:
    stream = make_stream()
    rows = list(iter_protocol(Distance(), stream, seed=derive(0).stream, plan=PLAN))
    samples = by_hand(stream)
    assert rows[0].online is None
    points = 0
    before = 0
    for row in rows[1:]:
        online, step = row.online, row.step
        assert online is not None
        assert step is not None
        block = [one for one in samples if before < one[0] <= step]
        assert (online.n, online.unscored) == (len(block), 15 if before == 0 else 0)
        check(online.scores, block)
        for k, at in enumerate(online.steps):
            points += 1
            seen = [one for one in samples if one[0] <= at]
            check({name: values[k] for name, values in online.sliding.items()}, seen[-WINDOW:])
            weights = FACTOR ** np.arange(len(seen))[::-1]
            kept = weights >= 0.01
            check({n: v[k] for n, v in online.fading.items()}, seen[-kept.sum() :] if len(seen) else [], weights[kept])
        before = step
    assert points == stream.n_batches


def check(found: Any, samples: list[tuple[int, int, float]], weights: Any = None) -> None:
    labels, scores = np.array([one[1] for one in samples]), np.array([one[2] for one in samples])
    if len(set(labels.tolist())) < 2:
        assert found == {} or set(found.values()) == {None}
        return
    for name, function, given in (
        ("roc_auc", roc_auc_score, scores),
        ("average_precision", average_precision_score, scores),
        ("f1", f1_score, scores > 1.5),
    ):
        assert found[name] == pytest.approx(function(labels, given, sample_weight=weights), abs=1e-12)


def test_nothing_is_scored_after_it_was_learned_and_learning_is_the_same() -> None:
    stream, learner = make_stream(), Distance()
    with_online = list(iter_protocol(learner, stream, seed=1, plan=Plan(online=20, rows=(0,))))
    counts = [count for count, x in learner.asked if len(x) == stream.batch]
    assert counts == [0]  # the first batch was asked for before anything was learned
    plain = list(iter_protocol(Distance(), stream, seed=1, plan=Plan(rows=(0,))))
    assert with_online[1].scores == plain[1].scores


def test_a_killed_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    stream = make_stream(batch=7)

    def learner() -> Any:
        return make_learner("naive", {"detector": "SGDOneClassSVM"}, Setting.of(stream), derive(3))

    run_protocol(learner(), stream, tmp_path / "whole", name="naive", seed=3, plan=PLAN)
    for stop in (2, 9):
        broken = iter_run(learner(), stream, tmp_path / "broken", name="naive", seed=3, plan=PLAN)
        for _ in range(stop):
            next(broken)
        broken.close()
    run_protocol(learner(), stream, tmp_path / "broken", name="naive", seed=3, plan=PLAN)
    whole, broken_rows = ((tmp_path / name / "rows.jsonl").read_bytes() for name in ("whole", "broken"))
    assert whole == broken_rows
    run = read_run(tmp_path / "whole")
    assert run.visits == stream.starts == ((0, 0), (60, 1), (120, 2))
    assert [row.online for row in run.rows] == [row.online for row in read_run(tmp_path / "broken").rows]


def test_the_online_metric_is_the_mean_of_the_blocks(tmp_path: Path) -> None:
    stream = make_stream(batch=10)
    run = run_protocol(Distance(), stream, tmp_path / "run", name="distance", plan=Plan(online=20))
    blocks = [row.online.scores.get("roc_auc") for row in run.rows[1:] if row.online is not None]
    known = [value for value in blocks if value is not None]
    assert 3 < len(known) < len(blocks)
    made = score(run.matrix, "anytime.online")
    assert made == pytest.approx(np.mean(known))
    assert f"over {len(known)} of {len(blocks)} rows" in " ".join(made.notes)  # type: ignore[union-attr]


def test_what_cannot_be_scored_before_it_is_learned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contaminated: true"):
        list(iter_protocol(Distance(), make_stream(contaminated=False), seed=0, plan=PLAN))
    with pytest.raises(UsageError, match="fading in a plan"):
        Plan(fading=0.9)
    with pytest.raises(UsageError, match="at least 2"):
        Plan(online=True)
    from recollect.streams import make_stream as make

    digits = make("digits", tasks=2)
    guess = make_learner("random", {}, Setting.of(digits), derive(0))
    with pytest.raises(UsageError, match="not measured for classification"):
        next(iter_protocol(guess, digits, seed=0, plan=PLAN))


def test_a_line_whose_curve_does_not_fit_its_steps_is_refused(tmp_path: Path) -> None:
    from recollect.runs.codec import row_from_json

    line = {"after": 0, "online": {"n": 3, "steps": [5, 9], "sliding": {"f1": [0.5]}}}
    with pytest.raises(ValueError, match="one value per step"):
        row_from_json(json.loads(json.dumps(line)), "f1")


def test_the_page_has_the_curves_and_the_places_where_the_stream_changes(tmp_path: Path) -> None:
    from recollect.report.gather import gather
    from recollect.runs import group

    stream = make_stream()
    runs = [
        run_protocol(
            Distance(), stream, tmp_path / str(seed), name="distance", seed=seed, plan=Plan(online=60, rows=(4, 9))
        )
        for seed in (0, 1)
    ]
    made = gather(group(runs)).streams[0].watched
    assert made is not None
    online = [row.online for row in runs[0].rows if row.online is not None]
    assert made.steps == tuple(step for block in online for step in block.steps)
    assert np.interp(made.drifts, np.arange(len(made.steps)), made.steps).tolist() == [60, 120]
    curve = made.curves["distance"]["sliding"].value
    assert curve[-1] == pytest.approx(online[-1].sliding["roc_auc"][-1])


def test_a_planned_row_right_after_a_visit_is_the_tasks_own(tmp_path: Path) -> None:
    stream = make_stream(batch=20)  # visits end after 60, 120 and 180 samples: with the sections 2, 5 and 8
    for rows, own in (
        ((2, 5, 8), (True, True, True)),
        ((1, 3, 8), (False, False, False)),
        ((2, 4, 8), (True, False, False)),
    ):
        folder = tmp_path / "-".join(map(str, rows))
        run = run_protocol(Distance(), stream, folder, name="distance", plan=Plan(rows=rows))
        assert run.timeline.own[:2] == own[:2]
