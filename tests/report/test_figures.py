"""Figures draw what the contents hold, in every format, and compute nothing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import NotComputable, RecollectError, UsageError
from recollect.report.figures import FIGURES, curve, differences, difficulty, make_figure, matrix, parts, save_figure
from recollect.report.figures.style import WIDTHS, colour, marker
from recollect.report.gather import gather
from recollect.report.results import StreamResult
from recollect.runs import group
from tests.report.fits import faults
from tests.report.samples import make_groups, make_run

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

# What the runs here have; the counts of classes are tested with the protocol's own.
DRAWN = tuple(name for name in FIGURES if name != "confusion")


@pytest.fixture(scope="module")
def stream() -> StreamResult:
    return gather(make_groups()).streams[0]


def axis() -> object:
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_functions_take_an_axis_and_return_it(stream: StreamResult) -> None:
    learner = stream.learners[0]
    for draw in (
        lambda ax: curve(ax, stream, "acc.average"),
        lambda ax: matrix(ax, stream, learner),
        lambda ax: parts(ax, stream, learner),
        lambda ax: difficulty(ax, stream),
        lambda ax: differences(ax, stream.comparisons[0]),
    ):
        ax = axis()
        assert draw(ax) is ax


def test_curves_hold_the_numbers_with_a_marker_each(stream: StreamResult) -> None:
    ax = curve(axis(), stream, "forgetting.chaudhry2018")  # type: ignore[arg-type]
    lines = [line for line in ax.lines if line.get_label() in {one.label for one in stream.learners}]
    assert len({line.get_marker() for line in lines}) == len({line.get_color() for line in lines}) == 3
    for line, learner in zip(lines, stream.learners, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), learner.curves["forgetting.chaudhry2018"].value[1:])


def test_the_bars_of_the_split_add_up(stream: StreamResult) -> None:
    learner = stream.learners[0]
    ax = parts(axis(), stream, learner)  # type: ignore[arg-type]
    heights = np.array([[bar.get_height() for bar in bars] for bars in ax.containers])
    expected = learner.curves["forgetting.chaudhry2018"].value
    np.testing.assert_allclose(heights.sum(0)[1:], expected[1:], atol=1e-12)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_every_figure_in_every_format(stream: StreamResult, tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / f"{name}.{kind}"
    save_figure(make_figure(name, stream, width="one"), path)
    begins = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}[kind]
    assert path.read_bytes().startswith(begins)


def test_pgf_or_a_sentence_that_says_what_it_needs(stream: StreamResult, tmp_path: Path) -> None:
    path = tmp_path / "a.pgf"
    if shutil.which("pdflatex"):
        save_figure(make_figure("aa-raa", stream), path)
        assert r"\begin{pgfpicture}" in path.read_text()
    else:
        with pytest.raises(RecollectError, match="LaTeX"):
            save_figure(make_figure("aa-raa", stream), path)


def test_widths_and_same_bytes(stream: StreamResult, tmp_path: Path) -> None:
    assert make_figure("aa-raa", stream, width="one").get_size_inches()[0] == WIDTHS["one"]
    assert make_figure("aa-raa", stream, width=5.0).get_size_inches()[0] == 5
    for name in ("a", "b"):
        save_figure(make_figure("split", stream), tmp_path / f"{name}.pdf")
        save_figure(make_figure("split", stream), tmp_path / f"{name}.svg")
    for kind in ("pdf", "svg"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_names_are_no_mathematics(tmp_path: Path) -> None:
    runs = [make_run(name, s, 3) for name in ("$\\frac{$", "a_b^c & <x>") for s in range(2)]
    made = gather(group(runs)).streams[0]
    for name in DRAWN:
        save_figure(make_figure(name, made), tmp_path / f"{name}.png")


def test_what_cannot_be_drawn_is_said(stream: StreamResult, tmp_path: Path) -> None:
    bare = gather(group([make_run("a", 0, restricted=False)])).streams[0]
    with pytest.raises(NotComputable, match="right answers among its own classes"):
        make_figure("split", bare)
    with pytest.raises(NotComputable, match=r"not compared by acc\.average"):
        make_figure("compare", bare)
    unscored = replace(make_run("a", 0), rows=(), status="running")
    with pytest.raises(NotComputable, match="no learner on split toy has a score"):
        make_figure("matrix", gather(group([unscored])).streams[0])
    with pytest.raises(UsageError, match="unknown figure"):
        make_figure("pie", stream)
    with pytest.raises(UsageError, match="pdf, svg, png, pgf"):
        save_figure(make_figure("matrix", stream), tmp_path / "a.bmp")


def test_a_second_round_of_colours_has_other_markers() -> None:
    looks = {(colour(place), marker(place)) for place in range(32)}
    assert len(looks) == 32


@pytest.fixture(scope="module")
def crowded() -> dict[str, StreamResult]:
    """Twelve learners, one with a long name; and two over forty tasks."""
    names = ["GDumb, balanced, of all our own", *(f"learner {place}" for place in range(11))]
    many = [make_run(name, s, 5, keep=0.5 + 0.04 * i) for i, name in enumerate(names) for s in range(2)]
    long = [make_run(name, s, 40) for name in ("er", "finetune") for s in range(2)]
    made = {"learners": gather(group(many)).streams[0], "tasks": gather(group(long)).streams[0]}
    return made | {f"{n} learners": gather(group(many[: 2 * n])).streams[0] for n in (3, 4)}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("many", ["learners", "tasks"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_or_overlaps(crowded: dict[str, StreamResult], name: str, many: str, width: str) -> None:
    style = "sans" if width == "one" else "serif"
    assert faults(make_figure(name, crowded[many], width=width, style=style)) == []


@pytest.mark.parametrize("n", [3, 4])
def test_square_panels_have_room_for_their_titles(crowded: dict[str, StreamResult], n: int) -> None:
    assert faults(make_figure("matrix", crowded[f"{n} learners"])) == []


def test_what_does_not_fit_is_found() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], "o", label="corner")
    ax.set_xlim(0, 1)
    ax.text(0.5, 0.5, "one")
    ax.text(0.5, 0.5, "two")
    ax.text(0.9, 0.9, "far too long for this")
    found = " ".join(faults(figure))
    assert "'one' and 'two' overlap" in found
    assert "'far too long for this' is cut" in found
    assert "'corner' is clipped" in found


def test_bands_and_differences_stay_where_scores_can_be(crowded: dict[str, StreamResult]) -> None:
    two = gather(group([make_run(n, s, 5, keep=k) for n, k in (("er", 0.9), ("mir", 0.5)) for s in range(2)])).streams[
        0
    ]
    bands = curve(axis(), two, "acc.average").collections  # type: ignore[arg-type]
    ends = np.concatenate([path.vertices[:, 1] for band in bands for path in band.get_paths()])
    assert ends.min() >= 0
    assert ends.max() <= 1
    ax = differences(axis(), crowded["learners"].comparisons[0])  # type: ignore[arg-type]
    lines = np.concatenate([part[:, 0] for lines in ax.collections for part in lines.get_segments()])
    assert np.abs(lines).max() == 1


def test_the_last_task_has_its_tick(crowded: dict[str, StreamResult]) -> None:
    stream = crowded["tasks"]
    for draw in (lambda ax: curve(ax, stream, "acc.average"), lambda ax: difficulty(ax, stream)):
        assert {1, 40} <= set(draw(axis()).get_xticks())
    assert {1, 40} <= set(matrix(axis(), stream, stream.learners[0]).get_yticks())  # type: ignore[arg-type]


def test_classes_are_drawn_where_they_were_counted(stream: StreamResult) -> None:
    from recollect.report.results import Classes
    from recollect.stats import estimate

    shares = np.full((2, 3, 3), 1 / 3)
    for names in (("cat", "dog", "horse"), ("a $ class", "another class of these", "x")):
        classes = Classes(names, estimate(shares), estimate(shares))
        counted = replace(stream, learners=tuple(replace(one, classes=classes) for one in stream.learners))
        assert faults(make_figure("confusion", counted, width="one")) == []
    with pytest.raises(NotComputable, match="confusion: true"):
        make_figure("confusion", stream)
