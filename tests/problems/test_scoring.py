"""Detectors on concept streams: rows, learned_at and scores worked by hand, reasons, resumption."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

import recollect as rc
from recollect.errors import UsageError
from recollect.problems.detection import DETECTION
from recollect.problems.targets import target_of
from recollect.protocol import iter_protocol, iter_run, run_protocol
from recollect.runs.reading import read_run
from recollect.runs.run import Plan, Row, Run
from recollect.streams.data import Dataset
from recollect.streams.stream import Stream, StreamTask, Visit


class Distance:
    """How far a sample is from the mean of the newest batches: all that it knows of the world."""

    stored_samples = stored_bytes = 0

    def __init__(self) -> None:
        self.mean: Any = None
        self.seen: list[tuple[int | None, list[int]]] = []
        self.ended = 0

    def learn(self, batch: Any) -> None:
        self.mean = batch.x.mean(0)
        self.seen.append((batch.task, batch.y.tolist()))

    def end_task(self) -> None:
        self.ended += 1

    def score(self, x: Any, task: Any = None) -> Any:
        if self.mean is None:
            return np.full(len(x), np.nan)
        return np.abs(x - self.mean).sum(1)

    def flagged(self, scores: Any, task: Any = None) -> Any:
        return scores > 2

    def state(self) -> Any:
        return {"mean": self.mean}

    def restore(self, state: Any) -> None:
        self.mean = state["mean"]


def stream(
    sizes: tuple[int, ...] = (4, 4, 2),
    visits: tuple[int, ...] | None = None,
    scenario: str = "concept-incremental",
    batch: int = 100,
    one_class: int | None = None,
) -> Stream:
    """Concept k: normal samples at 10 k; its test set has normal ones there, and anomalies 4 and 1 away."""
    train = [np.full((n, 1), 10.0 * k) for k, n in enumerate(sizes)]
    tests = [10.0 * k + np.array([[0.0], [0.5], [4.0], [1.0]]) for k in range(len(sizes))]
    labels = [np.array([0, 0, 1, 1]) * (k != one_class) for k in range(len(sizes))]
    starts = np.cumsum([0, *sizes])
    own = [np.arange(starts[k], starts[k + 1]) for k in range(len(sizes))]
    pieces: tuple[Visit, ...] = ()
    if visits is not None:
        parts = {k: list(np.array_split(own[k], visits.count(k))) for k in set(visits)}
        pieces = tuple(Visit(k, parts[k].pop(0)) for k in visits)
    data = Dataset(
        "toy",
        np.concatenate(train),
        np.zeros(sum(sizes), np.int64),
        np.concatenate(tests),
        np.concatenate(labels),
        ("normal", "anomaly"),
    )
    tasks = tuple(
        StreamTask(f"c{k}", (0, 1), (f"c{k}",), own[k], np.arange(4 * k, 4 * k + 4)) for k in range(len(sizes))
    )
    return Stream(
        name="toy",
        data=data,
        tasks=tasks,
        labels=np.arange(2),
        scenario=scenario,
        batch=batch,
        gives_task=scenario == "concept-aware",
        gives_boundaries=scenario != "concept-agnostic",
        continuous=scenario == "concept-agnostic",
        shuffle=False,
        problem="detection",
        adds_classes=False,
        tells_labels=False,
        visits=pieces,
    )


def run(the_stream: Stream, folder: Path, **options: Any) -> Run:
    return run_protocol(Distance(), the_stream, folder, name="distance", **options)


def by_hand(mean: float, concept: int) -> float:
    """The ROC-AUC of `Distance` by its definition: pairs in the right order, halves for ties."""
    x = 10.0 * concept + np.array([0.0, 0.5, 4.0, 1.0])
    distance = np.abs(x - mean)
    pairs = [(distance[a], distance[n]) for a in (2, 3) for n in (0, 1)]
    return float(np.mean([1.0 if a > n else 0.5 if a == n else 0.0 for a, n in pairs]))


def test_a_row_a_concept_every_column(tmp_path: Path) -> None:
    learner = Distance()
    made = run_protocol(learner, stream(), tmp_path / "r", name="distance")
    assert learner.ended == 3
    assert all(task is None for task, _ in learner.seen)
    assert [(row.after, row.step, row.task_end) for row in made.rows] == [
        (-1, 0, True),
        (0, 4, True),
        (1, 8, True),
        (2, 10, True),
    ]
    expected = [[by_hand(10.0 * i, j) for j in range(3)] for i in range(3)]
    np.testing.assert_array_equal(made.matrix.R, expected)
    assert made.matrix.R[0].tolist() == [1.0, 1.0, 1.0]
    assert made.matrix.R[2, 0] == 0.0
    assert made.matrix.b is None or np.isnan(made.matrix.b).all()
    assert (made.metric, made.scenario, made.learned_at) == ("roc_auc", "concept-incremental", None)
    assert made.rows[0].reason == "the learner has learned nothing yet"


def test_labels_are_hidden_and_the_concept_is_given_only_where_it_is_known() -> None:
    for scenario, tasks in (("concept-aware", [0, 1, 2]), ("concept-incremental", [None] * 3)):
        learner = Distance()
        list(iter_protocol(learner, stream(scenario=scenario), seed=0))
        assert [task for task, _ in learner.seen] == tasks
        assert {label for _, labels in learner.seen for label in labels} == {-1}


def test_several_batches_one_concept_and_one_batch_several_concepts(tmp_path: Path) -> None:
    # Training samples: 0 0 0 0 | 1 1 1 1 | 2 2 in batches of 3: 000, 011, 112, 2.
    made = run(stream(scenario="concept-agnostic", batch=3), tmp_path / "r")
    means = [0.0, 20 / 3, 40 / 3, 20.0]
    assert [(row.after, row.step, row.task_end) for row in made.rows[1:]] == [
        (-1, 3, False),
        (0, 6, False),
        (1, 9, False),
        (2, 10, False),
    ]
    # Concept 0 is complete with the second batch, 1 with the third, 2 with the fourth.
    assert made.learned_at == {0: 1, 1: 2, 2: 3}
    np.testing.assert_array_equal(made.matrix.R, [[by_hand(m, j) for j in range(3)] for m in means])
    square = made.matrix.R[[1, 2, 3]]
    backward = [square[i, j] - square[j, j] for i in range(3) for j in range(i)]
    assert rc.score(made.matrix, "bwt.diazrodriguez2018") == pytest.approx(np.mean(backward), abs=1e-15)


def test_one_batch_that_ends_two_concepts(tmp_path: Path) -> None:
    # 0 0 | 1 | 2 2 2 in batches of 4: 0012 and 22. Concepts 0 and 1 are learned with the same row.
    made = run(stream(sizes=(2, 1, 3), scenario="concept-agnostic", batch=4), tmp_path / "r")
    assert made.learned_at == {0: 0, 1: 0, 2: 1}
    assert [row.after for row in made.rows] == [-1, 1, 2]
    R = np.array([[by_hand(m, j) for j in range(3)] for m in (7.5, 20.0)])
    np.testing.assert_array_equal(made.matrix.R, R)
    # Learned together, neither is before the other: only the second row is later than their learning.
    hand = np.mean([R[1, 0] - R[0, 0], R[1, 1] - R[0, 1]])
    assert rc.score(made.matrix, "bwt.diazrodriguez2018") == pytest.approx(hand, abs=1e-15)


def test_concepts_that_recur(tmp_path: Path) -> None:
    learner = Distance()
    recurring = stream(visits=(0, 1, 0, 2), scenario="concept-aware")
    assert (recurring.n_sections, recurring.learned_at) == (4, (0, 1, 3))
    made = run_protocol(learner, recurring, tmp_path / "r", name="distance")
    assert [task for task, _ in learner.seen] == [0, 1, 0, 2]
    assert learner.ended == 4
    assert [(row.after, row.step) for row in made.rows] == [(-1, 0), (0, 2), (1, 6), (1, 8), (2, 10)]
    assert made.learned_at == {0: 0, 1: 1, 2: 3}
    means = [0.0, 10.0, 0.0, 20.0]
    np.testing.assert_array_equal(made.matrix.R, [[by_hand(m, j) for j in range(3)] for m in means])


def test_planned_batches_only(tmp_path: Path) -> None:
    made = run(stream(scenario="concept-agnostic", batch=3), tmp_path / "r", plan=Plan(rows=(0, 3)))
    assert [row.step for row in made.rows] == [0, 3, 10]
    # Every concept is complete by the last batch, the next that was evaluated.
    assert made.learned_at == {0: 1, 1: 1, 2: 1}


def test_rows_inside_sections_belong_to_streams_of_tasks() -> None:
    with pytest.raises(UsageError, match="`every` would put others between them"):
        list(iter_protocol(Distance(), stream(scenario="concept-agnostic", batch=3), seed=0, plan=Plan(every=2)))


def test_seeds_that_learn_after_different_rows_are_seen_where_they_had_learned(tmp_path: Path) -> None:
    runs = []
    for seed, sizes in enumerate(((4, 4, 2), (2, 4, 4))):
        made = stream(sizes=sizes, scenario="concept-agnostic", batch=2)
        runs.append(replace(run(made, tmp_path / str(seed), seed=seed), data_hash="same", identity=None))
    assert [one.learned_at for one in runs] == [{0: 1, 1: 3, 2: 4}, {0: 0, 1: 2, 2: 4}]
    (together,) = rc.runs.group(runs)
    assert together.matrix.R.shape == (2, 3, 3)
    for one, R in zip(runs, together.matrix.R, strict=True):
        ends = list((one.learned_at or {}).values())
        np.testing.assert_array_equal(R, one.matrix.R[ends])
    shared = replace(runs[0], seed=3, learned_at={0: 1, 1: 1, 2: 4})
    with pytest.raises(UsageError, match="cannot be put side by side"):
        rc.runs.group([*runs, shared])


def test_the_other_targets_come_along(tmp_path: Path) -> None:
    made = run(stream(), tmp_path / "r")
    x, y = stream().test_of(1)
    distance = np.abs(x - 20.0).sum(1)
    row = made.rows[-1]
    assert row.scores["roc_auc"][1] == roc_auc_score(y, distance)
    assert row.scores["average_precision"][1] == average_precision_score(y, distance)
    assert row.scores["f1"][1] == f1_score(y, distance > 2)
    other = made.with_metric("f1")
    assert other.metric == "f1"
    assert other.matrix.R[2, 1] == f1_score(y, distance > 2)
    assert other.with_metric("roc_auc").matrix.R.tolist() == made.matrix.R.tolist()
    with pytest.raises(UsageError, match=r"no scores 'best_f1'; it has average_precision, f1, "):
        made.with_metric("best_f1")


def test_a_test_set_of_one_class_is_undefined_and_says_so(tmp_path: Path) -> None:
    made = run(stream(one_class=1), tmp_path / "r")
    assert np.isnan(made.matrix.R[:, 1]).all()
    assert not np.isnan(made.matrix.R[:, [0, 2]]).any()
    assert made.rows[-1].reasons["roc_auc"] == {"c1": "its test set holds normal samples only"}


def test_a_target_of_the_users_own(tmp_path: Path) -> None:
    def spread_of(labels: Any, scores: Any) -> float:
        return float(scores[labels == 1].mean() - scores[labels == 0].mean())

    made = run(stream(), tmp_path / "r", target=spread_of)
    assert (made.metric, made.unit) == ("spread_of", "raw")
    assert made.matrix.R[0, 0] == 2.5 - 0.25
    assert made.with_metric("roc_auc").matrix.R[0, 0] == 1.0


def test_scores_that_are_not_finite_are_no_scores() -> None:
    class Broken(Distance):
        def score(self, x: Any, task: Any = None) -> Any:
            return np.where(np.arange(len(x)) == 1, np.nan, 1.0)

    rows = list(iter_protocol(Broken(), stream(), seed=0))
    assert rows[-1].scores["roc_auc"] == (None, None, None)
    assert rows[-1].reasons["roc_auc"]["c0"] == "1 of 4 scores are NaN or infinite: the learner diverged"


def test_a_score_a_sample() -> None:
    class Wide(Distance):
        def score(self, x: Any, task: Any = None) -> Any:
            return np.zeros((len(x), 2))

    with pytest.raises(UsageError, match=r"one number per sample, here 4; got the shape \(4, 2\)"):
        list(iter_protocol(Wide(), stream(), seed=0))


def test_without_a_threshold_there_is_no_f1() -> None:
    class Plain(Distance):
        flagged = None  # type: ignore[assignment]

    rows = list(iter_protocol(Plain(), stream(), seed=0))
    assert rows[-1].reasons["f1"]["c0"] == "the learner sets no threshold"
    with pytest.raises(UsageError, match="The target f1 is of alarms"):
        next(iter_protocol(Plain(), stream(), seed=0, target="f1"))


@pytest.mark.parametrize("scenario", ["concept-incremental", "concept-agnostic"])
def test_interrupted_after_any_row_it_ends_the_same(tmp_path: Path, scenario: str) -> None:
    made = stream(visits=(0, 1, 0, 2), scenario=scenario, batch=3)
    whole = run(made, tmp_path / "whole")
    for stop in range(1, len(whole.rows)):
        folder = tmp_path / f"cut{stop}"
        rows = iter_run(Distance(), made, folder, name="distance")
        for _ in range(stop):
            next(rows)
        rows.close()
        halfway = read_run(folder)
        assert halfway.matrix.R.shape[1] == 3  # a run under way can be looked at
        again = run(made, folder)
        assert (folder / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()
        assert again.matrix.R.tolist() == whole.matrix.R.tolist()


def test_a_target_belongs_to_detectors() -> None:
    from recollect.streams import stream_from_arrays

    x = np.arange(8, dtype=np.uint8).reshape(8, 1)
    classes = stream_from_arrays(x, [0, 1] * 4, x, [0, 1] * 4, name="toy", tasks=2)
    with pytest.raises(UsageError, match="classification asks for classes"):
        list(iter_protocol(Distance(), classes, seed=0, target="roc_auc"))


@pytest.mark.parametrize("what", ["roc_aux", "no.such.module:f", "math:pi", 3])
def test_targets_that_are_none(what: Any) -> None:
    with pytest.raises(UsageError, match="target"):
        target_of(what, DETECTION.targets)


def test_seeds_share_the_family_and_scenarios_do_not() -> None:
    one, other = stream(), stream(scenario="concept-aware")
    assert one.family != other.family
    swapped = replace(one, tasks=(one.tasks[1], one.tasks[0], one.tasks[2]))
    assert swapped.family == one.family
    assert swapped.fingerprint != one.fingerprint


def test_rows_are_complete_without_the_record() -> None:
    rows: list[Row] = list(iter_protocol(Distance(), stream(), seed=3))
    assert len(rows) == 4
    assert not any(math.isnan(score) for score in rows[-1].scores["roc_auc"] if score is not None)


def test_a_function_of_three_arguments_takes_the_alarms_too() -> None:
    def cost(labels: Any, scores: Any, alarms: Any) -> float:
        return float(10 * (labels & ~alarms).sum() + (alarms & ~labels.astype(bool)).sum() + 0 * scores.sum())

    rows = list(iter_protocol(Distance(), stream(), seed=0, target=cost))  # type: ignore[arg-type]
    x, y = stream().test_of(1)
    alarms = np.abs(x - 20.0).sum(1) > 2
    assert rows[-1].scores["cost"][1] == 10 * (y & ~alarms).sum() + (alarms & (y == 0)).sum()


def test_alarms_beside_the_target_and_only_when_asked() -> None:
    rows = list(iter_protocol(Distance(), stream(), seed=0))
    assert set(rows[-1].scores) == {"roc_auc", "average_precision", "f1", "precision", "recall", "false_alarm_rate"}
    asked = list(iter_protocol(Distance(), stream(), seed=0, target="f1_point_adjusted"))
    assert "f1_point_adjusted" in asked[-1].scores
    assert "best_f1" not in asked[-1].scores


def test_a_target_that_gives_no_number_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="gives one number; got"):
        list(iter_protocol(Distance(), stream(), seed=0, target=lambda labels, scores: labels))


def test_precision_without_an_alarm_is_undefined_with_its_reason() -> None:
    class Silent(Distance):
        def flagged(self, scores: Any, task: Any = None) -> Any:
            return np.zeros(len(scores), bool)

    row = list(iter_protocol(Silent(), stream(), seed=0))[-1]
    assert row.scores["precision"][0] is None
    assert row.scores["recall"][0] == 0
    assert set(row.reasons["precision"].values()) == {"it raises no alarm"}


def test_a_target_is_found_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_targets_here.py").write_text("def share(labels, scores):\n    return float((scores > 1).mean())\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    assert target_of("my_targets_here:share", DETECTION.targets).name == "share"
    with pytest.raises(UsageError, match="Cannot import the target 'my_targets_here:shre'"):
        target_of("my_targets_here:shre", DETECTION.targets)
