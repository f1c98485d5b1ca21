"""What becomes of a run whose worker is gone, with workers that are made up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from recollect.experiments.team import Team, Worker
from recollect.experiments.worker import Report


class MadeUp(Worker):
    def __init__(self, end: str) -> None:
        super().__init__()
        self.end = end
        self.is_to_blame = end != "machine"

    def give(self, job: Any) -> None:
        pass

    def receive(self) -> Report | None:
        return Report("finished") if self.end == "finishes" else None

    def stop(self, at_once: bool) -> None:
        pass

    def cause_of_death(self) -> str:
        return self.end


class MadeUpTeam(Team[MadeUp]):
    def __init__(self, ends: Sequence[str]) -> None:
        super().__init__([SimpleNamespace(name="run")], 1)  # type: ignore[list-item]
        self.ends = iter(ends)

    def hire(self) -> MadeUp:
        return MadeUp(next(self.ends))

    def ready(self, busy: Sequence[MadeUp]) -> Iterable[MadeUp]:
        return busy


@pytest.mark.parametrize(
    ("ends", "last"),
    [
        (["dies", "finishes"], "finished"),
        (["dies", "dies"], "failed"),
        (["machine"] * 9 + ["finishes"], "finished"),
        (["machine"] * 10, "failed"),
        # A machine that was lost is not held against the run.
        (["machine", "dies", "machine", "finishes"], "finished"),
    ],
)
def test_a_run_fails_by_its_own_deaths(ends: list[str], last: str) -> None:
    told = [report.kind for _, report in MadeUpTeam(ends).run()]
    assert told[-1] == last
    assert told.count("died") == len(ends) - 1
