"""Figures for papers: functions that take a matplotlib axis and what `gather` computed, draw, and return the axis.

>>> from recollect.report.figures import curve, FIGURES
>>> sorted(FIGURES)
['aa-raa', 'af-raf', 'compare', 'confusion', 'difficulty', 'matrix', 'split']
"""

from recollect.report.figures.classes import confusion
from recollect.report.figures.comparison import differences
from recollect.report.figures.curves import curve
from recollect.report.figures.difficulty import difficulty
from recollect.report.figures.matrices import matrix
from recollect.report.figures.sheet import FIGURES, left_out, make_figure, save_figure
from recollect.report.figures.split import parts

__all__ = [
    "FIGURES",
    "confusion",
    "curve",
    "differences",
    "difficulty",
    "left_out",
    "make_figure",
    "matrix",
    "parts",
    "save_figure",
]
