"""What a reader of a figure would complain of, measured: text that is cut or overlaps, markers and bands clipped."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

# Boxes of text have some air in them.
AIR = 1.0


def faults(figure: Any) -> list[str]:
    """Each fault in a sentence; none is a figure that may be printed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts = [(text, text.get_window_extent(renderer)) for text in _texts(figure)]
    width, height = canvas.get_width_height()
    found = [
        f"{text.get_text()!r} is cut"
        for text, box in texts
        if box.x0 < -AIR or box.y0 < -AIR or box.x1 > width + AIR or box.y1 > height + AIR
    ]
    found += [
        f"{a.get_text()!r} and {b.get_text()!r} overlap"
        for (a, one), (b, other) in combinations(texts, 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > AIR and min(one.y1, other.y1) - max(one.y0, other.y0) > AIR
    ]
    for ax in figure.axes:
        if ax.get_visible() and ax.axison:
            found += _clipped(ax)
    return found


def _texts(figure: Any) -> list[Any]:
    """Every text that is drawn: titles, labels, ticks in view, the legend's names, what stands in cells."""
    from matplotlib.text import Text

    outside = {
        id(tick.label1)
        for ax in figure.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in axis.get_major_ticks() + axis.get_minor_ticks()
        if not _in_view(axis, tick)
    }
    off = {id(text) for ax in figure.axes if not ax.axison for text in ax.findobj(Text)}
    return [
        text
        for text in figure.findobj(Text)
        if text.get_text().strip() and text.get_visible() and id(text) not in outside | off
    ]


def _in_view(axis: Any, tick: Any) -> bool:
    low, high = sorted(axis.get_view_interval())
    return bool(low - 1e-9 <= tick.get_loc() <= high + 1e-9)


def _clipped(ax: Any) -> list[str]:
    """Markers on the border that are cut there, and bands beyond what the scores can be."""
    found = []
    box = ax.get_window_extent()
    for line in ax.lines:
        if line.get_marker() in ("None", "", " ", None) or not line.get_clip_on():
            continue
        points = ax.transData.transform(np.column_stack([np.asarray(v, dtype=float) for v in line.get_data()]))
        points = points[np.isfinite(points).all(axis=1)]
        half = 0.5 * line.get_markersize() * ax.figure.dpi / 72
        near = np.minimum(points - [box.x0, box.y0], [box.x1, box.y1] - points).min(axis=1) if len(points) else points
        if len(points) and (near < half - AIR).any():
            found.append(f"a marker of {line.get_label()!r} is clipped")
    for band in ax.collections:
        for path in band.get_paths():
            low, high = path.vertices[:, 1].min(), path.vertices[:, 1].max()
            if band.get_alpha() is not None and ax.lines and (low < -1.0001 or high > 1.0001):
                found.append(f"a band reaches from {low:.2f} to {high:.2f}")
    return found
