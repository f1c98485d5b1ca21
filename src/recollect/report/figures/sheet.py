"""Whole figures by name, and writing them to a file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import MissingExtra, NotComputable, RecollectError, UsageError
from recollect.report.figures.classes import confusion
from recollect.report.figures.comparison import differences
from recollect.report.figures.curves import axis_label, curve
from recollect.report.figures.difficulty import LABELS, difficulty
from recollect.report.figures.matrices import matrix
from recollect.report.figures.split import parts
from recollect.report.figures.style import PARTS, RC, STYLES, WIDTHS, fitted, text
from recollect.report.results import Comparisons, LearnerResult, StreamResult
from recollect.runs.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = {
    "aa-raa": "the average score beside its rescaled form, over tasks",
    "af-raf": "average forgetting beside its rescaled form, over tasks",
    "matrix": "the score matrix of each learner",
    "split": "forgetting split in within the task, confused with older and with newer tasks",
    "confusion": "which class is answered for which at the end, of each learner",
    "difficulty": "what a random classifier scores and forgets, and the factors that correct for it",
    "compare": "paired differences with their intervals",
}
FORMATS = ("pdf", "svg", "png", "pgf")
# More pairs than these do not fit a column.
MOST_PAIRS = 20
# About how wide a letter of 7 or 8 points is, in inches.
LETTER = 0.055


def make_figure(
    name: str, stream: StreamResult, *, width: str | float = "two", metric: str | None = None, style: str = "serif"
) -> Figure:
    """Draw a figure of one stream. `width` is "one" or "two" columns of a paper, or inches."""
    if name not in FIGURES:
        raise UsageError(f"unknown figure {name!r}; there are {', '.join(FIGURES)}.")
    inches = WIDTHS[width] if isinstance(width, str) else width
    matplotlib = _matplotlib()
    with matplotlib.rc_context(RC | STYLES[style]):
        if name == "aa-raa":
            return _curves(stream, ("acc.average", "raa.michel2023"), inches)
        if name == "af-raf":
            return _curves(stream, ("forgetting.chaudhry2018", "raf.michel2023"), inches)
        if name == "matrix":
            return _matrices(stream, inches)
        if name == "confusion":
            return _confusion(stream, inches)
        if name == "split":
            return _split(stream, inches)
        if name == "difficulty":
            return _difficulty(stream, inches)
        return _compare(stream, metric or stream.focus.headline, inches)


def save_figure(figure: Figure, path: Path, style: str = "serif") -> None:
    """Write a figure as pdf, svg, png or pgf, whole or not at all, the same bytes for the same numbers."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise UsageError(f"a figure is written as {', '.join(FORMATS)}; got {path.name!r}.")
    # Without dates equal numbers give equal bytes; pgf has none, and does not take the option.
    options: dict[str, Any] = {"pdf": {"metadata": {"CreationDate": None}}, "svg": {"metadata": {"Date": None}}}.get(
        kind, {}
    )
    # fontTools warns of the font's own dates while it embeds a subset; the reader can do nothing about them.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    made = BytesIO()
    with _matplotlib().rc_context(RC | STYLES[style]):
        try:
            figure.savefig(made, format=kind, dpi=300, **options)
        except (FileNotFoundError, RuntimeError) as error:
            if kind != "pgf":
                raise
            raise RecollectError(
                f"pgf is measured by LaTeX (pdflatex), which could not be run: {error}. Install a TeX"
                " distribution, or write a .pdf."
            ) from error
    write_atomic(path, made.getvalue())


def _curves(stream: StreamResult, ids: Sequence[str], inches: float) -> Figure:
    have = [id for id in ids if any(id in learner.curves for learner in stream.learners)]
    if not have:
        raise NotComputable(f"no learner on {stream.key} has {' or '.join(ids)} over {stream.words.tasks}.")
    beside = inches > 4 and len(have) > 1
    ratio = 0.5 if inches > 4 and not beside else 0.72
    figure, axes = _axes(
        1 if beside else len(have),
        len(have) if beside else 1,
        inches,
        ratio,
        legend=[one.label for one in stream.learners],
    )
    for ax, id in zip(axes, have, strict=True):
        curve(ax, stream, id)
    _legend(figure, axes[0])
    return figure


def _matrices(stream: StreamResult, inches: float) -> Figure:
    scored = [one for one in stream.learners if np.isfinite(one.matrix.value).any()]
    if not scored:
        raise NotComputable(f"no learner on {stream.key} has a score: there is no matrix to draw.")
    across = min(len(scored), 4 if inches > 4 else 2)
    figure, axes = _axes(ceil(len(scored) / across), across, inches, _tall(stream, inches / across))
    # Two digits of 5 points need a fifth of an inch.
    written = inches / across / stream.T >= 0.2 and len(stream.rows) <= 2 * stream.T
    for ax, learner in zip(axes, scored, strict=False):
        matrix(ax, stream, learner, written=written)
        _title(ax, learner, inches / across)
    _outer_labels(axes, len(scored), across)
    _bar(figure, axes, across, text(stream.words.score))
    return figure


def _tall(stream: StreamResult, panel: float) -> float:
    """The height of a matrix's panel over its width: most are square beside their axis, those of few rows are not."""
    rows = max(len(stream.rows) or sum(end is not None for end in one.ends) for one in stream.learners)
    if rows * 2 <= stream.T:
        return 0.75
    return _square(panel)


def _square(panel: float) -> float:
    """The height over the width of a panel that is square within; title and axes take the same of all."""
    return (0.85 * panel + 0.5) / panel


def _split(stream: StreamResult, inches: float) -> Figure:
    split: list[LearnerResult] = [learner for learner in stream.learners if learner.parts is not None]
    if not split:
        why = stream.why_not("split") or "no run has it"
        raise NotComputable(f"the forgetting on {stream.key} cannot be split: {why}.")
    across = min(len(split), (4 if len(split) > 6 else 3) if inches > 4 else min(2, ceil(len(split) / 2)))
    names = [says.format(task=stream.words.task, tasks=stream.words.tasks) for _, _, says in PARTS.values()]
    rows = ceil(len(split) / across)
    figure, axes = _axes(rows, across, inches, 0.62 if across == 1 else 0.85, sharey=True, legend=[*names, "AF"])
    for ax, learner in zip(axes, split, strict=False):
        parts(ax, stream, learner)
        _title(ax, learner, inches / across)
    _outer_labels(axes, len(split), across)
    _legend(figure, axes[0])
    return figure


def _confusion(stream: StreamResult, inches: float) -> Figure:
    counted = [learner for learner in stream.learners if learner.classes is not None]
    if not counted:
        raise NotComputable(
            f"which class was answered for which was not counted on {stream.key}: `confusion: true` in the plan of an"
            " experiment records it, and the seeds must have the same classes."
        )
    across = min(len(counted), 3 if inches > 4 else 2)
    panel = inches / across
    figure, axes = _axes(ceil(len(counted) / across), across, inches, _square(panel))
    for ax, learner in zip(axes, counted, strict=False):
        confusion(ax, learner)
        _title(ax, learner, panel)
    _outer_labels(axes, len(counted), across)
    _bar(figure, axes, across, "share of the class")
    return figure


def _bar(figure: Figure, axes: Sequence[Axes], across: int, label: str) -> None:
    bar = figure.colorbar(axes[0].images[0], ax=axes, shrink=0.6 if len(axes) <= across else 0.4, aspect=25, pad=0.02)
    bar.set_label(label)
    bar.outline.set_linewidth(0.4)


def _difficulty(stream: StreamResult, inches: float) -> Figure:
    if not stream.difficulty and "raa" in stream.problem.not_shown:
        raise NotComputable(f"how hard {stream.key} becomes cannot be drawn: {_why_not_rescaled(stream)}.")
    if not stream.difficulty:
        raise NotComputable(
            f"how hard {stream.key} becomes is known from the classes of each {stream.words.task}, which"
            " the runs do not say; give --classes."
        )
    figure, axes = _axes(1, 1, inches, 0.62, legend=list(LABELS.values()))
    difficulty(axes[0], stream)
    _legend(figure, axes[0])
    return figure


def left_out(name: str, stream: StreamResult) -> str | None:
    """What a figure of this name cannot show of a stream, and why."""
    rescaled = {"aa-raa": "raa.michel2023", "af-raf": "raf.michel2023"}.get(name)
    if rescaled is None or any(rescaled in learner.curves for learner in stream.learners):
        return None
    return f"{rescaled} is not drawn: {_why_not_rescaled(stream)}"


def _why_not_rescaled(stream: StreamResult) -> str:
    return stream.why_not("raa") or stream.why_not("raf") or "no learner has a value"


def _compare(stream: StreamResult, metric: str, inches: float) -> Figure:
    table = next((one for one in stream.comparisons if one.id == metric), None)
    if table is None:
        have = ", ".join(one.id for one in stream.comparisons) or "nothing"
        raise NotComputable(f"the learners on {stream.key} are not compared by {metric}; there is {have}.")
    table = _fitting(table)
    long_names = inches > 4 or all(len(pair.first + pair.second) <= 19 for pair in table.pairs)
    height = 0.5 + (0.19 if long_names else 0.31) * len(table.pairs)
    figure, axes = _axes(1, 1, inches, height / inches)
    differences(axes[0], table, long_names=long_names)
    between = " " if inches > 4 else "\n"
    axes[0].set_xlabel(f"difference in{between}{text(axis_label(metric, stream))}")
    return figure


def _fitting(table: Comparisons) -> Comparisons:
    """The pairs that a figure has room for: all of few, else those of the best learner, the nearest first."""
    if len(table.pairs) <= MOST_PAIRS or table.lead is None:
        return replace(table, pairs=table.pairs[:MOST_PAIRS])
    of_best = [pair for pair in table.pairs if table.lead.best in (pair.first, pair.second)]
    nearest = sorted(of_best, key=lambda pair: abs(float(pair.comparison.difference.value)))
    return replace(table, pairs=tuple(nearest[:MOST_PAIRS]))


def _axes(
    rows: int, columns: int, inches: float, ratio: float, sharey: bool = False, legend: Sequence[str] = ()
) -> tuple[Figure, list[Axes]]:
    """Panels in a grid; `ratio` is the height of a panel over its width. A legend of these names gets its own room."""
    from matplotlib.figure import Figure

    room = 0.13 * ceil(len(legend) / _across(legend, inches)) if legend else 0.0
    figure = Figure(figsize=(inches, rows * inches / columns * ratio + room), layout="constrained")
    grid: Any = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    return figure, list(grid.ravel())


def _title(ax: Axes, learner: LearnerResult, inches: float) -> None:
    """The name above a panel that is so wide, beside its axis, on two lines where it must."""
    ax.set_title(fitted(learner.label, int((inches - 0.4) / LETTER)))


def _outer_labels(axes: Sequence[Axes], used: int, across: int) -> None:
    """Of panels with the same axes: labels at the left, and below the last of each column; what is empty is off."""
    for place, ax in enumerate(axes):
        if place >= used:
            ax.set_axis_off()
        if place % across:
            ax.set_ylabel("")
        if place + across < used:
            ax.set_xlabel("")


def _across(names: Sequence[str], inches: float) -> int:
    """So many names fit beside each other: a letter of 7 points each, and the line before it."""
    widest = max((len(name) for name in names), default=1)
    return max(1, min(len(names), int(inches / (LETTER * widest + 0.42))))


def _legend(figure: Figure, ax: Axes) -> None:
    handles, texts = ax.get_legend_handles_labels()
    inches = float(figure.get_figwidth())
    across = _across(texts, inches)
    shown = [text if "$" in text else fitted(text, int((inches - 0.5) / LETTER), 1) for text in texts]
    figure.legend(handles, shown, loc="outside upper center", ncols=across, columnspacing=1.2, handlelength=1.8)


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtra.of("matplotlib", "report") from None
    return matplotlib
