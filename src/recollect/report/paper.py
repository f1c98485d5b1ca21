"""The table of a comparison for a paper: mean ± interval and n, bold only where the paired test supports it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.report.comparison import Comparison, StreamComparison
from recollect.report.text import Table, shown
from recollect.stats import Estimate

LEVEL = 0.05


def supported(stream: StreamComparison) -> str | None:
    """The learner that is better than every other by the Holm-corrected paired test, if there is one."""
    means = {label: float(line.estimate.value) for label, line in zip(stream.labels, stream.lines, strict=True)}
    known = {label: mean for label, mean in means.items() if not np.isnan(mean)}
    if len(known) < 2:
        return None
    best = (max if stream.lines[0].better == "higher" else min)(known, key=lambda label: known[label])
    pairs = [pair for pair in stream.pairs if best in (pair.first, pair.second)]
    beats_all = len(pairs) >= len(known) - 1 and all(pair.holm_p <= LEVEL for pair in pairs)
    return best if beats_all else None


def paper_table(comparison: Comparison, format: Literal["md", "latex"]) -> str:
    """Learners in rows, streams in columns; the supported leader of a stream is bold."""
    labels = tuple(dict.fromkeys(label for stream in comparison.streams for label in stream.labels))
    leaders = [supported(stream) for stream in comparison.streams]
    columns = (comparison.metric.card.id, *(stream.stream for stream in comparison.streams))
    rows = tuple((label, *(_cell(stream, label) for stream in comparison.streams)) for label in labels)
    table = Table(columns, rows, right=tuple(range(1, len(columns))))
    # Names are escaped by the table; the marks of bold are put around whole cells afterwards.
    marks = ("**", "**") if format == "md" else (r"\textbf{", "}")
    marked = tuple(
        (row[0], *(_marked(cell, leader == row[0]) for cell, leader in zip(row[1:], leaders, strict=True)))
        for row in rows
    )
    table = Table(columns, marked, table.right)
    text = table.markdown() if format == "md" else table.latex()
    return text.replace(_BEGIN, marks[0]).replace(_END, marks[1])


def why_not_bold(comparison: Comparison) -> tuple[str, ...]:
    """For each stream without a bold learner, why."""
    notes = []
    for stream in comparison.streams:
        if supported(stream) is None and stream.pairs:
            smallest = max(pair.comparison.smallest_p for pair in stream.pairs)
            seeds = min(pair.comparison.n for pair in stream.pairs)
            lacking = f": {seeds} seeds give no p below {smallest:.3g}" if smallest > LEVEL else ""
            notes.append(f"nothing is bold on {stream.stream}: the corrected paired test supports no leader{lacking}")
    return tuple(notes)


# Characters of the private area: no name holds them unless it means to, and then it is only bold.
_BEGIN, _END = "\ue000", "\ue001"


def _marked(cell: str, bold: bool) -> str:
    return f"{_BEGIN}{cell}{_END}" if bold else cell


def _cell(stream: StreamComparison, label: str) -> str:
    if label not in stream.labels:
        return "–"
    return _estimate(stream.lines[stream.labels.index(label)].estimate)


def _estimate(made: Estimate) -> str:
    value, low, high = float(made.value), float(made.low), float(made.high)
    if np.isnan(value):
        return "–"
    if np.isnan(low):
        return f"{shown(value, 3)} (n = {made.n})"
    if np.isclose(value - low, high - value):
        return f"{shown(value, 3)} ± {shown(high - value, 3)} (n = {made.n})"
    return f"{shown(value, 3)} [{shown(low, 3)}, {shown(high, 3)}] (n = {made.n})"
