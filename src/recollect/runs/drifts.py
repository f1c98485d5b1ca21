"""Where the stream changed and where a learner said so: delays, drifts that were missed, false alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """What signals say of the drifts that are known.

    `delays` has for each drift the samples from it to the first signal before the next drift, None where there is none.
    Every other signal is one of the `false_alarms`.
    """

    delays: tuple[int | None, ...]
    false_alarms: int

    @property
    def missed(self) -> int:
        """How many drifts have no signal."""
        return self.delays.count(None)

    @property
    def mean_delay(self) -> float | None:
        """The mean delay of the drifts that were found."""
        known = [delay for delay in self.delays if delay is not None]
        return sum(known) / len(known) if known else None

    @property
    def as_cost(self) -> dict[str, float]:
        """As numbers of a record."""
        mean = {} if self.mean_delay is None else {"drift_delay_samples": self.mean_delay}
        return {**mean, "drifts_missed": self.missed, "drift_false_alarms": self.false_alarms}


def found_drifts(visits: Sequence[tuple[int, int]], signals: Sequence[int]) -> Found:
    """Compare signals (samples presented when each came) with where the stream changes.

    A visit to the task of the visit before it is no change.

    >>> found_drifts([(0, 0), (100, 1), (200, 0), (300, 2)], [40, 130, 150, 310])
    Found(delays=(30, None, 10), false_alarms=2)
    """
    changes = [step for k, (step, task) in enumerate(visits) if k and task != visits[k - 1][1]]
    delays: list[int | None] = []
    for change, after in zip(changes, [*changes[1:], float("inf")], strict=True):
        first = next((step for step in signals if change < step <= after), None)
        delays.append(None if first is None else first - change)
    return Found(tuple(delays), len(signals) - sum(delay is not None for delay in delays))
