"""The same in a terminal: a table that is kept up to date, or written once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recollect.report.watch.looking import RUNNING, STATES, Seen, Watcher
from recollect.report.words import shown
from recollect.text import visible
from recollect.values import duration

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_COLOUR = {"running": "green", "failed": "red", "damaged": "red", "stopped": "yellow", "finished": "dim"}


def watch_live(watcher: Watcher, console: Console, every: float = 1.0) -> None:
    """Show the table until Ctrl-C."""
    from rich.live import Live

    with Live(console=console, auto_refresh=False, transient=False) as live:
        while True:
            watcher.look()
            live.update(table(watcher, console.height - 2), refresh=True)
            time.sleep(every)


def table(watcher: Watcher, most: int) -> RenderableType:
    """The runs, those that matter now first; as many as fit, and how many do not."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    runs = sorted(watcher.runs, key=_order)
    names = {one.id: one.name for one in watcher.experiments.values()}
    made = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("experiment", "run", "state", "learned", "score", "left", "message"):
        made.add_column(head, justify="right" if head in ("score", "left") else "left", no_wrap=head != "message")
    fitting = runs[: max(1, most - 4)]
    for one in fitting:
        message = visible(one.message)
        made.add_row(*map(Text, (names[one.experiment], called(one))), *_cells(one), Text(message[:120]))
    rest = len(runs) - len(fitting)
    foot = summary(runs) + (f"; {rest} more not shown" if rest else "")
    foot += f"; {watcher.waiting} still to be read" if watcher.waiting else ""
    return Group(made, Text(foot))


def called(one: Seen) -> str:
    """A run's name in one line."""
    seed = "" if one.seed is None else f" s{one.seed}"
    return visible(f"{one.learner} {one.stream}{seed}".strip())


def summary(runs: Sequence[Seen]) -> str:
    """How many runs are in which state.

    >>> summary([])
    'no runs yet'
    """
    counts = Counter(one.state for one in runs)
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state]) or "no runs yet"


def _order(one: Seen) -> tuple[int, float]:
    return STATES.index(one.state), -one.changed


def _cells(one: Seen) -> list[RenderableType]:
    from rich.text import Text

    left = duration(one.ends - time.time()) if one.state == RUNNING and one.ends is not None else ""
    score = "" if one.now is None else shown(one.now, 3)
    state = Text(one.state, style=_COLOUR[one.state])
    return [state, Text(f"{one.learned}/{one.tasks}" if one.tasks else ""), Text(score), Text(left)]
