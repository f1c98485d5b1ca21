"""Tables for a paper: mean ± interval and n, bold only where the lead is more than noise and luck."""

from __future__ import annotations

import numpy as np

from recollect.report.comparison import Comparison, StreamComparison
from recollect.report.words import shown
from recollect.stats import Estimate
from recollect.text import Table


def paper_table(comparison: Comparison) -> Table:
    """Learners in rows, streams in columns; the confirmed leader of a stream is bold."""
    labels = tuple(dict.fromkeys(label for stream in comparison.streams for label in stream.labels))
    columns = (comparison.metric.card.id, *(stream.stream for stream in comparison.streams))
    rows = tuple((label, *(_cell(stream, label) for stream in comparison.streams)) for label in labels)
    bold = {
        (r, c + 1)
        for c, stream in enumerate(comparison.streams)
        for r, label in enumerate(labels)
        if is_bold(stream, label)
    }
    return Table(columns, rows, right=tuple(range(1, len(columns))), bold=frozenset(bold))


def is_bold(stream: StreamComparison, label: str) -> bool:
    """Whether a learner is ahead of every other contestant."""
    lead = stream.compared.lead
    return lead is not None and lead.is_confirmed and lead.best == label


def why_not_bold(comparison: Comparison) -> tuple[str, ...]:
    """For each stream without a bold learner, why."""
    notes = []
    for stream in comparison.streams:
        lead = stream.compared.lead
        if lead is not None and lead.rivals and not lead.is_confirmed:
            open_ = [rival for rival in lead.rivals if not rival.is_behind]
            needed = [rival.seeds_needed for rival in open_ if rival.seeds_needed is not None]
            settle = f"; about {max(needed)} seeds would tell, if the differences stay" if needed else ""
            names = ", ".join(rival.label for rival in open_)
            notes.append(f"nothing is bold on {stream.stream}: {lead.best} cannot be told from {names}{settle}")
    return tuple(notes)


def _cell(stream: StreamComparison, label: str) -> str:
    if label not in stream.labels:
        return "–"
    return with_spread(stream.lines[stream.labels.index(label)].estimate)


def with_spread(made: Estimate, digits: int = 3, factor: float = 1.0, n: bool = True) -> str:
    """An estimate as papers print it.

    >>> from recollect.stats import estimate
    >>> with_spread(estimate([0.61, 0.58, 0.64]), factor=100, digits=1, n=False)
    '61.0 ± 7.5'
    """
    value, low, high = (factor * float(part) for part in (made.value, made.low, made.high))
    many = f" (n = {made.n})" if n else ""
    if np.isnan(value):
        return "–"
    if np.isnan(low):
        return f"{shown(value, digits)}{many}"
    if np.isclose(value - low, high - value):
        return f"{shown(value, digits)} ± {shown(high - value, digits)}{many}"
    return f"{shown(value, digits)} [{shown(low, digits)}, {shown(high, digits)}]{many}"
