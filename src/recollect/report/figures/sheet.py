"""Whole figures by name, and writing them to a file."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import MissingExtra, NotComputable, RecollectError, UsageError
from recollect.report.figures.comparison import differences
from recollect.report.figures.curves import curve
from recollect.report.figures.difficulty import difficulty
from recollect.report.figures.matrices import matrix
from recollect.report.figures.split import parts
from recollect.report.figures.style import RC, WIDTHS
from recollect.report.results import Learner, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = {
    "aa-raa": "the average score beside its rescaled form, over tasks",
    "af-raf": "average forgetting beside its rescaled form, over tasks",
    "matrix": "the score matrix of each learner",
    "split": "forgetting split in within the task, confused with older and with newer tasks",
    "difficulty": "what a random classifier scores and forgets, and the factors that correct for it",
    "compare": "paired differences with their intervals",
}
FORMATS = ("pdf", "svg", "png", "pgf")


def make_figure(name: str, stream: Stream, *, width: str | float = "two", metric: str | None = None) -> Figure:
    """Draw a figure of one stream. `width` is "one" or "two" columns of a paper, or inches."""
    if name not in FIGURES:
        raise UsageError(f"unknown figure {name!r}; there are {', '.join(FIGURES)}.")
    inches = WIDTHS[width] if isinstance(width, str) else width
    matplotlib = _matplotlib()
    with matplotlib.rc_context(RC):
        if name == "aa-raa":
            return _curves(stream, ("acc.average", "raa.michel2023"), inches)
        if name == "af-raf":
            return _curves(stream, ("forgetting.chaudhry2018", "raf.michel2023"), inches)
        if name == "matrix":
            return _matrices(stream, inches)
        if name == "split":
            return _split(stream, inches)
        if name == "difficulty":
            return _difficulty(stream, inches)
        return _compare(stream, metric or stream.focus.headline, inches)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as pdf, svg, png or pgf, the same bytes for the same numbers."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise UsageError(f"a figure is written as {', '.join(FORMATS)}; got {path.name!r}.")
    # Without dates equal numbers give equal bytes; pgf has none, and does not take the option.
    options: dict[str, Any] = {"pdf": {"metadata": {"CreationDate": None}}, "svg": {"metadata": {"Date": None}}}.get(
        kind, {}
    )
    # fontTools warns of the font's own dates while it embeds a subset; the reader can do nothing about them.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    with _matplotlib().rc_context(RC):
        try:
            figure.savefig(path, format=kind, dpi=300, **options)
        except (FileNotFoundError, RuntimeError) as error:
            if kind != "pgf":
                raise
            raise RecollectError(
                f"pgf is measured by LaTeX (pdflatex), which could not be run: {error}. Install a TeX"
                " distribution, or write a .pdf."
            ) from error


def _curves(stream: Stream, ids: Sequence[str], inches: float) -> Figure:
    have = [id for id in ids if any(id in learner.curves for learner in stream.learners)]
    if not have:
        raise NotComputable(f"no learner on {stream.key} has {' or '.join(ids)} over {stream.words.tasks}.")
    beside = inches > 4 and len(have) > 1
    ratio = 0.5 if inches > 4 and not beside else 0.72
    figure, axes = _axes(1 if beside else len(have), len(have) if beside else 1, inches, ratio, sharey=True)
    for ax, id in zip(axes, have, strict=True):
        curve(ax, stream, id)
    _legend(figure, axes[0])
    return figure


def _matrices(stream: Stream, inches: float) -> Figure:
    across = min(len(stream.learners), 4 if inches > 4 else 2)
    figure, axes = _axes(ceil(len(stream.learners) / across), across, inches, 1.12)
    # Two digits of 5 points need a fifth of an inch.
    written = inches / across / stream.T >= 0.2 and len(stream.rows) <= 2 * stream.T
    for place, (ax, learner) in enumerate(zip(axes, stream.learners, strict=False)):
        matrix(ax, stream, learner, written=written)
        if place % across:
            ax.set_ylabel("")
    _hide(axes[len(stream.learners) :])
    return figure


def _split(stream: Stream, inches: float) -> Figure:
    split: list[Learner] = [learner for learner in stream.learners if learner.parts is not None]
    if not split:
        why = stream.why_not("split") or "no run has it"
        raise NotComputable(f"the forgetting on {stream.key} cannot be split: {why}.")
    across = min(len(split), 3 if inches > 4 else 1)
    figure, axes = _axes(ceil(len(split) / across), across, inches, 0.85, sharey=True)
    for ax, learner in zip(axes, split, strict=False):
        parts(ax, stream, learner)
    _hide(axes[len(split) :])
    _legend(figure, axes[0])
    return figure


def _difficulty(stream: Stream, inches: float) -> Figure:
    if not stream.difficulty and "raa" in stream.problem.not_shown:
        raise NotComputable(f"how hard {stream.key} becomes cannot be drawn: {_why_not_rescaled(stream)}.")
    if not stream.difficulty:
        raise NotComputable(
            f"how hard {stream.key} becomes is known from the classes of each {stream.words.task}, which"
            " the runs do not say; give --classes."
        )
    figure, axes = _axes(1, 1, inches, 0.62)
    difficulty(axes[0], stream)
    _legend(figure, axes[0], columns=2)
    return figure


def left_out(name: str, stream: Stream) -> str | None:
    """What a figure of this name cannot show of a stream, and why."""
    rescaled = {"aa-raa": "raa.michel2023", "af-raf": "raf.michel2023"}.get(name)
    if rescaled is None or any(rescaled in learner.curves for learner in stream.learners):
        return None
    return f"{rescaled} is not drawn: {_why_not_rescaled(stream)}"


def _why_not_rescaled(stream: Stream) -> str:
    return stream.why_not("raa") or stream.why_not("raf") or "no learner has a value"


def _compare(stream: Stream, metric: str, inches: float) -> Figure:
    table = next((one for one in stream.comparisons if one.id == metric), None)
    if table is None:
        have = ", ".join(one.id for one in stream.comparisons) or "nothing"
        raise NotComputable(f"the learners on {stream.key} are not compared by {metric}; there is {have}.")
    height = 0.5 + 0.22 * len(table.pairs)
    figure, axes = _axes(1, 1, inches, height / inches)
    differences(axes[0], table)
    return figure


def _axes(rows: int, columns: int, inches: float, ratio: float, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Panels in a grid; `ratio` is the height of a panel over its width."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(inches, rows * inches / columns * ratio), layout="constrained")
    grid: Any = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    return figure, list(grid.ravel())


def _hide(axes: Sequence[Axes]) -> None:
    for ax in axes:
        ax.set_axis_off()


def _legend(figure: Figure, ax: Axes, columns: int = 4) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(columns, max(1, len(labels))))


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtra.of("matplotlib", "report") from None
    return matplotlib
