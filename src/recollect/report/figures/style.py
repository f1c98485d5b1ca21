"""How figures look: widths of paper columns, a colour-blind-safe palette, markers beside colours."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axis import Axis

# Okabe and Ito's colours, yellow left out (too light on paper) and orange darkened.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b27a00", "#56b4e9", "#555555", "#7d6bb0")
MARKERS = ("o", "s", "^", "D", "v", "P", "h", "X")
WIDTHS = {"one": 3.25, "two": 6.75}
# Times-like for most templates, sans for the others; the fonts of the machine come first.
STYLES: dict[str, dict[str, Any]] = {
    "serif": {"font.family": "serif", "mathtext.fontset": "stix"},
    "sans": {"font.family": "sans-serif", "mathtext.fontset": "dejavusans"},
}

PARTS = {
    "within": ("#a8451b", "", "within the {task}"),
    "older": ("#9a8fc4", "....", "confused with older {tasks}"),
    "newer": ("#6fa3c4", "////", "confused with newer {tasks}"),
}

RC: dict[str, Any] = {
    "font.size": 8,
    **STYLES["serif"],
    "font.serif": ["Times New Roman", "Nimbus Roman", "Liberation Serif", "STIXGeneral", "DejaVu Serif"],
    "font.sans-serif": ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"],
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.2,
    "hatch.linewidth": 0.4,
    "pdf.fonttype": 42,
    "svg.hashsalt": "recollect",
    "pgf.rcfonts": False,
    "pgf.texsystem": "pdflatex",
}


def colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def marker(place: int) -> str:
    """The learner's marker; when the colours begin again, the markers are others.

    >>> marker(0), marker(8)
    ('o', 's')
    """
    return MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]


def text(name: str) -> str:
    r"""A foreign name as plain text: matplotlib would read a pair of dollars as mathematics.

    >>> print(text("er ($M$)"))
    er (\$M\$)
    """
    return name.replace("$", r"\$")


def fitted(name: str, letters: int, lines: int = 2) -> str:
    r"""A name on at most so many lines of so many letters, as plain text; what has no room ends in an ellipsis.

    >>> fitted("GDumb, balanced, of our own", 16)
    'GDumb, balanced,\nof our own'
    >>> fitted("a-name-that-never-ends", 10, lines=1)
    'a-name-th…'
    """
    letters = max(letters, 6)
    parts = wrap(name, letters, break_on_hyphens=True) or [name]
    if len(parts) > lines:
        rest = name[len("".join(parts[: lines - 1])) :].strip() if lines > 1 else name
        parts = [*parts[: lines - 1], rest[: letters - 1].rstrip() + "…"]
    return text("\n".join(parts))


def task_ticks(n: int, most: int = 10) -> list[int]:
    """The ticks of n tasks, at most so many: whole numbers at round steps, and always the last.

    >>> task_ticks(12), task_ticks(20), task_ticks(100, most=6), task_ticks(33, most=6)
    ([2, 4, 6, 8, 10, 12], [1, 5, 10, 15, 20], [1, 20, 40, 60, 80, 100], [1, 10, 20, 33])
    """
    if n <= most:
        return list(range(1, n + 1))
    step = next(step for step in _STEPS if n // step + 1 <= most)
    inner = [k for k in range(step, n, step) if n - k >= 0.6 * step]
    return [1, *inner, n] if step > 2 else list(range(2 - n % 2, n + 1, 2))


_STEPS = tuple(digit * 10**power for power in range(9) for digit in (1, 2, 5))


def whole_ticks(axis: Axis, most: int = 9) -> None:
    """Rows and samples are counted: no tick between two of them."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=most, integer=True))
