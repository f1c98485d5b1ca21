"""The four figures of Michel et al. 2023, drawn from what the other modules computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import MissingExtra
from recollect.matrix import Array
from recollect.report.figures.curves import curve
from recollect.report.figures.sheet import save_figure
from recollect.report.figures.style import COLOURS, MARKERS, PARTS, RC, WIDTHS, text
from recollect.reproduce.toy import WINDOW, Toy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from recollect.report.results import StreamResult
    from recollect.stats import Estimate

WIDE = WIDTHS["two"]
# Classes 1 to 4: the two on the left are blues, the two on the right oranges; markers tell the tasks apart.
SHADES = ("#0072b2", "#b23c00", "#56b4e9", "#e69f00")
TASK_MARKERS = ("o", "^")


def draw(path: Path, make: Callable[[], Figure]) -> None:
    """Make a figure in the style of the reports and write it beside `path` as .png and .pdf."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtra.of("matplotlib", "report") from None
    style: Any = RC
    with matplotlib.rc_context(style):
        figure = make()
    for kind in ("png", "pdf"):
        save_figure(figure, path.with_suffix(f".{kind}"))


def toy_figure(toy: Toy) -> Figure:
    """Figure 1: three tiles with decision regions, and what became of task 1 beside them."""
    figure = _figure(WIDE, 2.2)
    tiles = figure.subplots(1, 4, gridspec_kw={"width_ratios": [1, 1, 1, 0.8]})
    picture = toy.picture
    for ax, answers, classes, title in (
        (tiles[0], picture.first, (0, 1), "after task 1:\nclass 1 or 2?"),
        (tiles[1], picture.second, (2, 3), "after task 2:\nclass 3 or 4?"),
        (tiles[2], picture.union, (0, 1, 2, 3), "after task 2:\n1, 2, 3 or 4?"),
    ):
        _tile(ax, answers, picture.x, picture.y, classes)
        ax.set_title(title)
    _what_became(tiles[3], toy)
    handles, labels = tiles[2].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower left", ncols=4, handletextpad=0.2, columnspacing=1, markerscale=1.6
    )
    return figure


def coefficient_figure(panels: Sequence[tuple[int, tuple[Array, Array], tuple[Array, Array]]]) -> Figure:
    """Figure 2: (K, by definition, closed forms) a panel; lines and, laid over them, markers."""
    figure = _figure(WIDE, 2.5)
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, (K, defined, closed) in zip(axes, panels, strict=True):
        tasks, every = np.arange(1, K + 1), max(1, K // 20)
        for place, name in enumerate((r"$\gamma_k$", r"$\beta_k$")):
            shade = COLOURS[place]
            ax.plot(tasks, defined[place], color=shade, label=f"{name}, definition")
            ax.plot(
                tasks,
                closed[place],
                color=shade,
                linestyle="none",
                marker=MARKERS[place],
                markevery=(every - 1, every),
                markerfacecolor="white",
                label=f"{name}, closed form",
            )
        ax.set_title(f"$K = {K}$")
        ax.set_xlabel("$k$, tasks learned")
        ax.set_ylim(0, 1.04)
        ax.set_xlim(0, K + K / 40)
        ax.set_xticks([1, *range(K // 4, K + 1, K // 4)])
    axes[0].set_ylabel("coefficient")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


def curve_figure(streams: Sequence[StreamResult], ids: tuple[str, str]) -> Figure:
    """Figures 3 and 4: one column per stream, the metric in the top row and its rescaled form below.

    With one stream the two are side by side.
    """
    several = len(streams) > 1
    figure = _figure(WIDE, 4.2 if several else 2.6)
    panels: Any = figure.subplots(2, len(streams), squeeze=False, sharex="col") if several else None
    if panels is None:
        panels = figure.subplots(1, 2, squeeze=False).T
    for column, stream in enumerate(streams):
        for row, id in enumerate(ids):
            ax = _points(curve(panels[row][column], stream, id), stream.T)
            ax.set_ylim(*_limits(stream, id))
            if several and row == 0:
                ax.set_xlabel("")
            if several and column:
                ax.set_ylabel("")
            if row == 0 or not several:
                ax.set_title(text(stream.key))
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(4, max(1, len(labels))))
    return figure


def _points(ax: Axes, T: int) -> Axes:
    """Where there are few evaluations each one is a point, and none is cut at the edge."""
    for line in ax.get_lines():
        line.set_markevery(max(1, np.size(line.get_xdata()) // 12))
    ax.set_xlim(1 - (T - 1) / 50, T + (T - 1) / 50)
    return ax


def _limits(stream: StreamResult, id: str) -> tuple[float, float]:
    """A scale for each metric: on that of AA nothing of RAA would be seen."""
    bands = [learner.curves[id] for learner in stream.learners if id in learner.curves]
    if not bands:
        return (0.0, 1.0)
    top = max(float(np.nanmax(band.value)) for band in bands)
    bottom = min(float(np.nanmin(band.value)) for band in bands)
    return min(0.0, bottom * 1.1), min(1.02, top * 1.15)


def _tile(ax: Axes, answers: Any, x: Array, y: Any, classes: Sequence[int]) -> None:
    from matplotlib.colors import ListedColormap

    ax.imshow(
        answers,
        origin="lower",
        extent=WINDOW,
        cmap=ListedColormap(SHADES),
        vmin=-0.5,
        vmax=3.5,
        alpha=0.28,
        interpolation="nearest",
        aspect="auto",
    )
    for label in classes:
        own = np.flatnonzero(y == label)[::3]
        ax.plot(
            x[own, 0],
            x[own, 1],
            linestyle="none",
            marker=TASK_MARKERS[label // 2],
            ms=2.2,
            mec="white",
            mew=0.2,
            color=SHADES[label],
            label=f"class {label + 1}",
        )
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)


def _what_became(ax: Axes, toy: Toy) -> None:
    """Task 1's accuracy: when learned, then asked the same question, then asked among four classes."""
    bars: tuple[tuple[str, Estimate], ...] = (
        ("learned", toy.learned),
        ("later,\n1 or 2?", toy.first_kept),
        ("later,\n1-4?", toy.first_all),
    )
    for place, (_, number) in enumerate(bars):
        value, low, high = (float(part) for part in (number.value, number.low, number.high))
        ax.bar(place, value, width=0.62, color="#9db8c7", edgecolor="#555555", linewidth=0.4)
        if np.isfinite(low) and high > low:
            ax.vlines(place, max(low, 0), min(high, 1), color="black", linewidth=1)
    after = float(toy.first_kept.value), float(toy.first_all.value)
    _drop(ax, 1, float(toy.learned.value), after[0], f"within {float(toy.within.value):.2f}", PARTS["within"][0])
    _drop(ax, 2, after[0], after[1], f"newer {float(toy.newer.value):.2f}", PARTS["newer"][0])
    ax.set_xticks(range(3), [name for name, _ in bars], fontsize=6)
    ax.set_xlim(-0.5, 2.6)
    ax.set_ylim(0, 1.14)
    ax.set_title(f"accuracy on task 1\n({toy.learned.n} seeds)")


def _drop(ax: Axes, place: int, top: float, bottom: float, text: str, shade: str) -> None:
    if top - bottom > 0.05:
        ax.annotate("", (place, bottom), (place, top), arrowprops={"arrowstyle": "->", "color": shade, "lw": 1.2})
        ax.text(place + 0.1, (top + bottom) / 2, text, va="center", fontsize=6.5, color=shade, rotation=90)
    else:
        ax.text(place, top + 0.02, text, ha="center", va="bottom", fontsize=6.5, color=shade)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
