"""Pages of few and many learners and tasks, wide and narrow: nothing overlaps, is cut or pushes the page wider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recollect.report.gather import gather
from recollect.report.page import build_page
from recollect.runs import Group, Row, Run, Task, group
from tests.report.dom import FAULTS, faults
from tests.report.samples import make_detectors, make_groups, make_run
from tests.report.test_browser import CHROMIUM, browser, open_page  # noqa: F401 - fixtures

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")

LONG = (
    "a learner with spaces and a name of sixty letters, or even more",
    "<b>&amp;</b>",
    r"\textbf{x}_1^2 $\alpha$ 50% #",
)


def twelve() -> tuple[Group, ...]:
    return group([make_run(f"learner {i}", s, 5, keep=0.5 + 0.04 * i) for i in range(12) for s in range(2)])


def long_stream() -> tuple[Group, ...]:
    return group([make_run(name, 0, 100, restricted=False, keep=keep) for name, keep in (("er", 0.99), ("mir", 0.5))])


def long_names() -> tuple[Group, ...]:
    runs = [
        make_run(learner, s, 4, keep=0.6 + 0.1 * i, stream="s" * 80, name=lambda j: f"<{j}> " + "w" * 60)
        for i, learner in enumerate(LONG)
        for s in range(2)
    ]
    return group(runs)


def rewards() -> tuple[Group, ...]:
    """Raw scores far below zero, as returns of a robot may be."""
    return group(
        [
            Run(
                learner=name,
                stream="reward",
                seed=seed,
                tasks=tuple(Task(f"t{j}") for j in range(4)),
                rows=tuple(
                    Row(i, scores={"reward": tuple(-10.5 * (i - j) - 9 + seed for j in range(4))}) for i in range(4)
                ),
                metric="reward",
                unit="raw",
            )
            for name in ("er", "mir")
            for seed in range(3)
        ]
    )


def errors() -> tuple[Group, ...]:
    """RMSE, far above 1: lower is better, and a drop is as large as the scores."""
    return group(
        [
            Run(
                learner=name,
                stream="error",
                seed=seed,
                tasks=tuple(Task(f"t{j}") for j in range(4)),
                rows=tuple(
                    Row(i, scores={"rmse": tuple(50 + far * max(i - j, 0) + 3 * j + seed for j in range(4))})
                    for i in range(4)
                ),
                problem="regression",
                metric="rmse",
                unit="raw",
                higher_is_better=False,
            )
            for name, far in (("er", 2.0), ("mir", 4.0))
            for seed in range(2)
        ]
    )


def one_of_each() -> tuple[Group, ...]:
    return group([make_run("er", 0, 1)])


CASES: dict[str, Callable[[], tuple[Group, ...]]] = {
    "few": lambda: make_groups(T=5, seeds=2),
    "twelve": twelve,
    "hundred tasks": long_stream,
    "long names": long_names,
    "one run, one task": one_of_each,
    "negative scores": rewards,
    "errors": errors,
    "detectors": lambda: make_detectors(seeds=2, rows=("visits", "batches")),
}


@pytest.fixture(scope="module", params=CASES)
def made(request: Any) -> str:
    return build_page(gather(CASES[request.param]()))


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits(open_page: Any, made: str, width: int) -> None:  # noqa: F811
    opened = open_page(made, viewport={"width": width, "height": 800})
    assert faults(opened.page) == []
    assert opened.is_quiet()


def test_what_does_not_fit_is_found(open_page: Any) -> None:  # noqa: F811
    opened = open_page(build_page(gather(make_groups(T=4, seeds=2))))
    opened.page.evaluate(
        "document.querySelector('[data-picture=ahead] svg').insertAdjacentHTML('beforeend',"
        ' \'<text x="300" y="50">one</text><text x="302" y="50">two</text><path d="MNaN,0"></path>\');'
        "document.querySelector('main').insertAdjacentHTML('beforeend', '<div style=\"width: 3000px\">wide</div>')"
    )
    found = " ".join(opened.page.evaluate(FAULTS))
    assert '"one" and "two" overlap' in found
    assert "NaN in" in found
    assert "the page is" in found


def test_the_bars_of_what_was_forgotten_are_as_long_as_it_is(open_page: Any) -> None:  # noqa: F811
    opened = open_page(build_page(gather(errors())))
    widths = opened.page.eval_on_selector_all(
        "[data-picture=forgotten] rect", "them => them.map(one => one.width.baseVal.value)"
    )
    assert max(widths) == pytest.approx(2 * min(widths), rel=0.01)


@pytest.mark.parametrize("width", [1280, 390])
def test_chance_is_named_beside_the_marks(open_page: Any, width: int) -> None:  # noqa: F811
    """The last learner guesses: its mark lies on the line of chance."""
    groups = group([make_run(name, s, 5, keep=keep) for name, keep in (("er", 0.9), ("none", 0.01)) for s in range(2)])
    opened = open_page(build_page(gather(groups)), viewport={"width": width, "height": 800})
    assert opened.page.evaluate("""() => {
      const root = document.querySelector("[data-picture=ahead] svg"), box = one => one.getBoundingClientRect();
      const word = [...root.querySelectorAll("text")].filter(one => one.textContent === "chance").map(box)[0];
      return Boolean(word) && ![...root.querySelectorAll("path")].map(box).some(
        mark => mark.left < word.right && mark.right > word.left && mark.top < word.bottom && mark.bottom > word.top);
    }""")
