"""Scores of alarms over runs of anomalies, against slow loops written sample by sample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.problems import ranges
from recollect.problems.targets import target_of

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40).filter(
    lambda pairs: len({label for label, _ in pairs}) == 2
)


def slow_nab(labels: list[bool], alarms: list[bool]) -> float:
    def sigmoid(x: float) -> float:
        return -1.0 if x >= 3 else 2 / (1 + math.exp(5 * x)) - 1

    windows: list[list[int]] = []
    for i, label in enumerate(labels):
        if label:
            if i and labels[i - 1]:
                windows[-1].append(i)
            else:
                windows.append([i])
    total = 0.0
    for window in windows:
        right, width = window[-1], len(window)
        total += max([sigmoid(-(right - i + 1) / width) / sigmoid(-1) for i in window if alarms[i]], default=-1.0)
    for i, alarm in enumerate(alarms):
        if alarm and not labels[i]:
            past = [window for window in windows if window[-1] < i]
            far = 3.0 if not past or len(past[-1]) == 1 else (i - past[-1][-1]) / (len(past[-1]) - 1)
            total += 0.11 * sigmoid(far)
    return (total + len(windows)) / (2 * len(windows))


def slow_range(these: list[bool], others: list[bool]) -> float:
    parts = []
    i = 0
    while i < len(these):
        if not these[i]:
            i += 1
            continue
        j = i
        while j < len(these) and these[j]:
            j += 1
        hit = [k for k in range(i, j) if others[k]]
        pieces = sum(1 for k in hit if k == i or not others[k - 1])
        parts.append(len(hit) / (j - i) / pieces if hit else 0.0)
        i = j
    return float(np.mean(parts)) if parts else math.nan


@settings(max_examples=150, deadline=None)
@given(PAIRS)
def test_they_are_the_slow_loops(pairs: list[tuple[bool, bool]]) -> None:
    labels, alarms = [label for label, _ in pairs], [alarm for _, alarm in pairs]
    y, flags = np.array(labels, int), np.array(alarms)
    assert ranges.nab(y, flags) == pytest.approx(slow_nab(labels, alarms), abs=1e-12)
    assert ranges.range_recall(y, flags) == pytest.approx(slow_range(labels, alarms))
    assert ranges.range_precision(y, flags) == pytest.approx(slow_range(alarms, labels), nan_ok=True)
    assert ranges.nab(y, y == 1) == pytest.approx(1)
    assert ranges.nab(y, np.zeros(len(y), bool)) == 0
    assert ranges.range_f1(y, y == 1) == 1
    assert ranges.detection_delay(y, y == 1) == 0
    assert ranges.detection_delay(y, np.zeros(len(y), bool)) == np.mean([b - a for a, b in ranges.runs(y)])


def test_a_function_of_the_users_may_say_that_lower_is_better() -> None:
    def cost(labels: Any, scores: Any, alarms: Any) -> float:
        return float(np.count_nonzero(alarms & (labels == 0)))

    assert target_of(cost, ()).higher_is_better
    cost.higher_is_better = False  # type: ignore[attr-defined]
    made = target_of(cost, ())
    assert (made.higher_is_better, made.takes) == (False, "both")


def test_their_warnings_are_in_the_record(tmp_path: Any) -> None:
    from recollect.problems import problem_of
    from recollect.protocol import describe
    from recollect.streams import stream_from_concepts

    stream = stream_from_concepts([("a", [[0.0], [0.1]], [[0.0], [9.0]], [0, 1])])
    targets = problem_of("detection").targets
    for name in ("nab", "range_f1", "detection_delay", "f1_point_adjusted", "best_f1"):
        notes = describe(stream, name="naive", seed=0, target=name).notes
        assert target_of(name, targets).warning in " ".join(notes)
        assert target_of(name, targets).beside is False
    assert describe(stream, name="naive", seed=0).notes == stream.notes
