"""What a user sees while an experiment runs: a live line a run on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from recollect.experiments.grid import Job
from recollect.experiments.worker import Report
from recollect.values import duration

# Without a terminal a row is told at most so often a run, in seconds; ends are always told.
_QUIET = 30.0


@dataclass
class _Line:
    """One run under way."""

    job: Job
    began: float
    first_step: int | None = None
    step: int = 0
    after: int = -1
    accuracy: float | None = None
    told: float = 0.0

    def seconds_left(self, now: float) -> float | None:
        """By the pace since the first report; a resumed run does not count what was done before."""
        done = self.step - (self.first_step or 0)
        return None if done <= 0 else (now - self.began) * (self.job.samples - self.step) / done

    def words(self) -> str:
        seen = f"{self.job.word} {self.after + 1}/{self.job.tasks}"
        return seen if self.accuracy is None else f"{seen}, {self.job.metric} {self.accuracy:.3f}"


class Progress:
    """Takes the reports of an experiment; a context manager, so that the terminal is left clean.

    `say` prints a plain line. `live` is decided by the terminal unless it is given.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        live: bool | None = None,
        say: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total = len(jobs)
        self._samples = sum(job.samples for job in jobs)
        self._clock = clock
        self._began = clock()
        self._lines: dict[str, _Line] = {}
        self._held: set[str] = set()
        self._done = 0
        self._samples_done = 0
        self._live: Any = None
        self._say = say or (lambda text: print(text, file=sys.stderr, flush=True))
        if sys.stderr.isatty() if live is None else live:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            self._live = Live(console=console, get_renderable=self._table, refresh_per_second=2, transient=True)
            self._say = lambda text: console.print(text, markup=False, highlight=False)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def hear(self, job: Job, report: Report) -> None:
        """Take one report."""
        now = self._clock()
        if report.kind == "started":
            self._lines[job.name] = _Line(job, now, told=now)
        elif report.kind == "row":
            self._row(self._lines[job.name], report, now)
        elif report.kind == "waiting":
            self._say(f"waiting with {job.name}: {report.message}")
        elif report.kind == "held":
            self._lines.pop(job.name)
            if job.name not in self._held:
                self._held.add(job.name)
                self._say(f"later {job.name}: {report.message}")
        else:
            line = self._lines.pop(job.name)
            if report.kind == "died":
                self._say(f"resuming {job.name}: {report.message}")
                return
            self._done += 1
            self._samples_done += job.samples
            told = (
                line.words() if report.kind in ("finished", "paused") and line.accuracy is not None else report.message
            )
            ending = f"{report.kind} {job.name} ({self._done}/{self._total}) in {duration(now - line.began)}"
            self._say(f"{ending}{': ' + told if told else ''}{self._left_words(now)}")

    def _row(self, line: _Line, report: Report, now: float) -> None:
        if line.first_step is None:
            line.first_step, line.began = (0, line.began) if report.step == 0 else (report.step, now)
        line.step, line.after = report.step, report.after
        line.accuracy = report.accuracy if report.accuracy is not None else line.accuracy
        if self._live is None and now - line.told >= _QUIET:
            line.told = now
            left = line.seconds_left(now)
            self._say(f"  {line.job.name}: {line.words()}{f', {duration(left)} left' if left else ''}")

    def _left_words(self, now: float) -> str:
        left = self.seconds_left(now)
        return f"; about {duration(left)} left" if left and self._done < self._total else ""

    def seconds_left(self, now: float) -> float | None:
        """For the whole experiment, by its pace in samples so far."""
        done = self._samples_done + sum(line.step for line in self._lines.values())
        return None if not done else (now - self._began) * (self._samples - done) / done

    def _table(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        now = self._clock()
        table = Table.grid(padding=(0, 1))
        for line in list(self._lines.values()):
            left = line.seconds_left(now)
            bar = ProgressBar(total=max(1, line.job.samples), completed=line.step, width=20)
            table.add_row(line.job.name, bar, line.words(), f"{duration(left)} left" if left is not None else "")
        table.add_row(f"{self._done}/{self._total} runs", "", "", self._left_words(now).removeprefix("; "))
        return table
