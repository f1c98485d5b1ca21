"""The page in a real browser: it draws, answers to the reader, sends nothing out and complains of nothing.

Screenshots go to a temporary folder (RECOLLECT_SCREENSHOTS names another). Needs chromium and playwright.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recollect.report.gather import gather
from recollect.report.page import build_page
from recollect.runs import Row, Run, Task, group
from tests.report.samples import make_detectors, make_groups, make_run
from tests.report.test_anomaly import ALL_ROWS, ALLOWED, FOREIGN, IN_OUR_WORDS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "<script>alert(1)</script>"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")


@dataclass
class Opened:
    """A page with all that it did beside showing itself."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    def column(self, key: str) -> list[str]:
        cells = self.page.locator(f"table.learners tbody tr:not([hidden]) td[data-key={key}]")
        return [text.split(",")[0].strip() for text in cells.all_inner_texts()]

    def is_quiet(self) -> bool:
        assert self.complaints == []
        assert self.requests == []
        assert self.dialogs == []
        return True


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    place = Path(os.environ.get("RECOLLECT_SCREENSHOTS", tmp_path))
    place.mkdir(parents=True, exist_ok=True)
    return place


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    contexts = []

    def opened(html: str, **options: Any) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        made = Opened(context.new_page())
        made.page.on("console", lambda message: made.complaints.append(message.text))
        made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
        made.page.on("dialog", lambda dialog: (made.dialogs.append(dialog.message), dialog.dismiss()))

        def watch(route: Any) -> None:
            if route.request.url == path.as_uri():
                route.continue_()
            else:
                made.requests.append(route.request.url)
                route.abort()

        made.page.route("**/*", watch)
        made.page.goto(path.as_uri())
        return made

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def html() -> str:
    return build_page(gather(make_groups(T=8)))


@pytest.mark.parametrize("problem", ["stages", "versions", "releases"])
def test_versions_are_drawn_whole(open_page: Any, problem: str) -> None:
    held = {"stages": 0, "versions": 1, "releases": 3}[problem]
    tasks = tuple(Task(name, n_samples=500, held_out=j >= 3 - held) for j, name in enumerate("abc"))
    scores = [(0.2, 0.1, 0.6), (0.8, 0.3, 0.5), (0.7, 0.9, 0.55), (0.6, 0.8, 0.4)]
    rows = tuple(
        Row(at - 1, task_end=at == 0 or problem == "stages", scores={"accuracy": row}, name=f"v{at}")
        for at, row in enumerate(scores)
    )
    learned = None if problem == "stages" else {j: j for j in range(3 - held)}
    runs = [
        Run(learner=name, stream="s", tasks=tasks, rows=rows, learned_at=learned, problem=problem, status="imported")
        for name in ("m", "n")[: 2 if problem == "stages" else 1]
    ]
    made = open_page(build_page(gather(group(runs))))
    for place in (*(made.page.locator(".picture").all()), *made.page.locator(".curves figure").all()):
        place.locator("svg").first.wait_for()
    assert made.page.locator(".picture[data-picture=changed] svg").count() == 1
    assert made.is_quiet()


def test_charts_below_the_screen_are_drawn_without_scrolling(open_page: Any, html: str) -> None:
    made = open_page(html, viewport={"width": 1280, "height": 400})
    made.page.wait_for_timeout(600)
    figures = "[...document.querySelectorAll('.curves figure')].filter(one => one.offsetParent !== null)"
    drawn = made.page.evaluate(f"{figures}.map(one => one.querySelectorAll('svg path').length)")
    assert len(drawn) > 1
    assert min(drawn) > 0
    assert made.is_quiet()


def test_a_dialect_is_switched(open_page: Any, html: str) -> None:
    made = open_page(html)
    before = made.column("af")
    made.page.select_option("th[data-key=af] select", "forgetting.clsurvey")
    after = made.column("af")
    assert [float(v) for v in after] != [float(v) for v in before]
    contents = gather(make_groups(T=8))
    expected = [one.numbers["forgetting.clsurvey"].value for one in contents.streams[0].ranked]
    assert [float(v) for v in after] == pytest.approx(expected, abs=0.0006)
    assert "clsurvey" in made.text("th[data-key=af] code")
    assert made.is_quiet()


def test_the_table_sorts_and_says_so(open_page: Any, html: str) -> None:
    made = open_page(html)
    button = made.page.locator("th[data-key=aa] button")
    values = [float(v) for v in made.column("aa")]
    assert values == sorted(values, reverse=True), "the best by the headline comes first"
    assert made.page.get_attribute("th[data-key=aa]", "aria-sort") == "descending"
    button.press("Enter")
    assert [float(v) for v in made.column("aa")] == sorted(values)
    made.page.locator("th[data-key=af] button").click()
    forgetting = [float(v) for v in made.column("af")]
    assert forgetting == sorted(forgetting, reverse=True)
    assert made.page.get_attribute("th[data-key=label]", "aria-sort") == "none"
    assert made.is_quiet()


def test_a_learner_is_switched_off_everywhere(open_page: Any, html: str) -> None:
    made = open_page(html)
    lines = made.page.locator(".curves figure:first-of-type path.line")
    made.page.locator("#curves").scroll_into_view_if_needed()
    made.page.wait_for_selector(".curves path.line")
    assert lines.count() >= 3
    rows, pairs = (
        made.page.locator("table.learners tbody tr:visible"),
        made.page.locator(".pairs:visible tbody tr:visible"),
    )
    # Charts are drawn as they come into view, and what is below them moves: click when all is in its place.
    made.page.locator("#comparisons details.runs summary").first.scroll_into_view_if_needed()
    made.page.wait_for_timeout(400)
    made.page.locator("#comparisons details.runs summary").first.click()
    pairs.first.wait_for()
    assert (rows.count(), pairs.count()) == (3, 3)
    made.page.get_by_label("finetune", exact=True).first.uncheck()
    assert (rows.count(), pairs.count()) == (2, 1)
    made.page.locator("#curves").scroll_into_view_if_needed()
    made.page.wait_for_timeout(150)
    assert made.page.locator(".curves figure").first.locator("path.line").count() == 2
    made.page.locator("#matrices").scroll_into_view_if_needed()
    assert made.page.locator(".matrices canvas[aria-label^='Score matrix of finetune:']").is_hidden()
    assert made.page.locator(".matrices canvas[aria-label^='Score matrix of er:']").is_visible()
    assert made.is_quiet()


def test_values_on_hover_and_by_keyboard(open_page: Any, html: str) -> None:
    made = open_page(html)
    canvas = made.page.locator(".matrices canvas[aria-label^='Score matrix of er:']")
    canvas.scroll_into_view_if_needed()
    made.page.wait_for_timeout(100)
    box = canvas.bounding_box()
    canvas.hover(position={"x": 30, "y": box["height"] - 10})
    contents = gather(make_groups(T=8))
    matrix = contents.streams[0].learner("er").matrix
    shown = made.text("#tip")
    assert "after task 8, on 1 (task 0)" in shown
    assert f"{matrix.value[7, 0]:.4f} [{matrix.low[7, 0]:.4f}, {matrix.high[7, 0]:.4f}]" in shown
    canvas.focus()
    made.page.keyboard.press("ArrowRight")
    assert "after task 8, on 2 (task 1)" in made.text("#tip")
    for _ in range(8):
        made.page.keyboard.press("ArrowUp")
    assert "untrained, on 2" in made.text("#tip")
    made.page.keyboard.press("Escape")
    assert made.page.locator("#tip").is_hidden()
    chart = made.page.locator(".curves svg.chart").first
    chart.scroll_into_view_if_needed()
    chart.hover(position={"x": 60, "y": 100})
    assert "after task 1 (task 0)" in made.text("#tip")
    chart.focus()
    made.page.keyboard.press("End")
    assert "after task 8" in made.text("#tip")
    assert f"er {contents.streams[0].learner('er').numbers['acc.average'].value:.3f}" in made.text("#tip")
    assert made.is_quiet()


def test_a_difference_has_its_interval_both_ways(open_page: Any, html: str) -> None:
    made = open_page(html)
    canvas = made.page.locator(".matrices canvas[aria-label*='minus that of']")
    made.page.locator("select[aria-label='minus this learner']").scroll_into_view_if_needed()
    made.page.wait_for_timeout(100)
    texts = []
    for first, second in (("0", "1"), ("1", "0")):
        made.page.select_option("select[aria-label='this learner']", first)
        made.page.select_option("select[aria-label='minus this learner']", second)
        canvas.hover(position={"x": 30, "y": canvas.bounding_box()["height"] - 10})
        texts.append(made.text("#tip").split("\n")[-1])
    one = next(d for d in gather(make_groups(T=8)).streams[0].differences if d.first == "er" and d.second == "finetune")
    low, high = one.cells.low[7, 0], one.cells.high[7, 0]
    assert texts[1] == f"{one.cells.value[7, 0]:.4f} [{low:.4f}, {high:.4f}]"
    assert texts[0] == f"−{one.cells.value[7, 0]:.4f} [−{high:.4f}, −{low:.4f}]"
    assert made.is_quiet()


def test_comparisons_switch_their_metric(open_page: Any, html: str) -> None:
    made = open_page(html)
    made.page.select_option("select.compared", "1")
    made.page.locator(".compared-by:visible details.runs summary").click()
    assert "forgetting.chaudhry2018" in made.text(".pairs:visible caption")
    assert made.page.locator(".pairs:visible").count() == 1
    assert "forgetting.chaudhry2018" in (made.page.locator(".forest:visible svg").get_attribute("aria-label") or "")
    assert made.page.locator(".forest:visible svg circle").count() == 3


def test_the_first_screen_answers_with_a_picture_each(open_page: Any, html: str) -> None:
    made = open_page(html, viewport={"width": 1280, "height": 800})
    bottom = made.page.evaluate("document.querySelector('#answer').getBoundingClientRect().bottom")
    assert bottom <= 800
    pictures = made.page.locator("[data-picture] svg.chart")
    assert pictures.count() == 3
    assert pictures.nth(0).locator("path").count() >= 3, "one mark per learner"
    assert pictures.nth(1).locator("path.line").count() == 3
    assert pictures.nth(2).locator("rect").count() >= 9, "three parts per learner"
    pictures.nth(0).focus()
    made.page.keyboard.press("Home")
    assert "joint_incremental (joint)" in made.text("#tip")
    assert made.is_quiet()


def test_more_columns_are_behind_a_button_and_the_table_fits(open_page: Any, html: str) -> None:
    made = open_page(html)
    fits = "(t => t.scrollWidth <= t.clientWidth + 1)(document.querySelector('#learners .wide'))"
    assert made.page.evaluate(fits)
    assert made.page.locator("th[data-key=raa]").is_hidden()
    made.page.locator("button.more").click()
    assert made.page.locator("th[data-key=raa]").is_visible()
    assert made.is_quiet()


def test_the_mark_of_a_plateau_lies_on_its_curve_though_its_row_was_not_evaluated(open_page: Any) -> None:
    from tests.reproduce.samples import make_run as make_known
    from tests.reproduce.samples import saturating

    rows = (0, 1, 2, 3, 5, 6, 7, 8, 9, 11, 13, 15, 17, 19)
    runs = [make_known("gdumb", seed, saturating, T=20, rows=rows) for seed in range(3)]
    made = open_page(build_page(gather(group(runs))))
    ring = made.page.locator("[data-picture=learning] circle.ring")
    assert ring.count() == 1
    assert "NaN" not in made.page.inner_html("[data-picture=learning]")
    place = [float(ring.get_attribute(name) or "nan") for name in ("cx", "cy")]
    line = made.page.locator("[data-picture=learning] path.line").get_attribute("d") or ""
    points = [tuple(map(float, point.split(","))) for point in line[1:].split("L")]
    at = [
        y0 + (y1 - y0) * (place[0] - x0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(points) if x0 <= place[0] <= x1
    ]
    assert place[1] == pytest.approx(at[0], abs=0.01)


def test_figures_have_tables_for_those_who_cannot_see_them(open_page: Any, html: str) -> None:
    made = open_page(html)
    made.page.locator(".curves details summary").first.click()
    made.page.locator(".curves details table").first.wait_for()
    cells = made.page.locator(".curves details table").first.locator("tbody td")
    assert cells.count() == 8 * 3
    label = made.page.locator(".curves svg.chart").first.get_attribute("aria-label")
    assert "er ends at" in label
    assert made.is_quiet()


def test_hostile_names_show_as_text(open_page: Any, screenshots: Path) -> None:
    names = (HOSTILE, "</script><img src=x onerror=alert(2)>\u2028'\"", "er")
    runs = [
        make_run(learner, s, 5, stream=HOSTILE, name=lambda j: f"{HOSTILE}{j}") for learner in names for s in range(2)
    ]
    made = open_page(build_page(gather(group(runs), title=HOSTILE)))
    assert made.page.title() == HOSTILE
    assert HOSTILE in made.text(".switches")
    for section in ("curves", "matrices", "forgetting", "notes"):
        made.page.locator(f"#{section}").scroll_into_view_if_needed()
        made.page.wait_for_timeout(50)
    canvas = made.page.locator(".matrices figure canvas").first
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": 150, "y": 150})
    assert HOSTILE in made.text("#tip")
    assert made.page.locator("img").count() == 0
    made.page.screenshot(path=str(screenshots / "hostile.png"))
    assert made.is_quiet()


@pytest.mark.parametrize("look", ["light", "dark", "phone", "print"])
def test_it_fits_every_reader(open_page: Any, html: str, screenshots: Path, look: str) -> None:
    options: dict[str, Any] = {"color_scheme": "dark" if look == "dark" else "light"}
    if look == "phone":
        options["viewport"] = {"width": 390, "height": 844}
    made = open_page(html, **options)
    page = made.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing pushes the page wider"
    if look == "print":
        page.pdf(path=str(screenshots / "print.pdf"), format="A4", print_background=True)
    else:
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": page.viewport_size["width"], "height": height})
        page.wait_for_timeout(300)
        page.screenshot(path=str(screenshots / f"{look}.png"))
    assert made.is_quiet()


def test_five_hundred_tasks_still_draw(open_page: Any, screenshots: Path) -> None:
    T = 500
    tasks = tuple(Task(f"t{j}", 2, 100) for j in range(T))
    rows = tuple(Row(k, scores={"accuracy": tuple(0.9 * 0.99 ** abs(k - j) for j in range(T))}) for k in range(T))
    runs = [Run(learner=name, stream="long", seed=0, tasks=tasks, rows=rows) for name in ("a", "b")]
    made = open_page(build_page(gather(group(runs))))
    canvas = made.page.locator(".matrices canvas[aria-label^='Score matrix of b']")
    canvas.scroll_into_view_if_needed()
    made.page.wait_for_timeout(200)
    colours = canvas.evaluate(
        "c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " const s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i+1] << 8 | d[i+2]);"
        " return s.size; }"
    )
    assert colours > 50
    made.page.screenshot(path=str(screenshots / "t500.png"))
    assert made.is_quiet()


def test_without_a_script_the_words_and_tables_are_there(open_page: Any, html: str) -> None:
    made = open_page(html, java_script_enabled=False)
    assert "er has the highest average accuracy" in made.text("#answer")
    assert made.page.locator("table.learners tbody tr").count() == 3
    assert made.page.locator("math").count() > 30


def test_detectors_are_drawn_in_their_own_words(open_page: Any, screenshots: Path) -> None:
    made = open_page(build_page(gather(make_detectors(rows=ALL_ROWS))))
    page = made.page
    page.set_viewport_size({"width": 1280, "height": page.evaluate("document.documentElement.scrollHeight")})
    page.wait_for_timeout(400)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.evaluate("document.querySelectorAll('.definitions, .refusals').forEach(one => one.remove())")
    page.wait_for_timeout(200)
    spoken = page.evaluate("[...document.querySelectorAll('[aria-label]')].map(e => e.ariaLabel).join(' ')")
    drawn = page.evaluate("[...document.querySelectorAll('svg text')].map(e => e.textContent).join(' ')")
    text = f"{made.text('body')} {spoken} {drawn}".replace(ALLOWED, "").replace(IN_OUR_WORDS, "")
    assert FOREIGN.findall(text) == []
    assert {"concepts learned", "visits", "batches"} <= set(page.locator(".curves svg text").all_text_contents())
    page.screenshot(path=str(screenshots / "detectors.png"))
    assert made.is_quiet()


def test_rows_that_are_batches(open_page: Any) -> None:
    made = open_page(build_page(gather(make_detectors(rows=["batches"], one_class="r2l"))))
    canvas = made.page.locator(".matrices canvas[aria-label^='Score matrix of naive-ECOD: 12 rows, 5 concepts']")
    canvas.scroll_into_view_if_needed()
    made.page.wait_for_timeout(100)
    canvas.focus()
    made.page.keyboard.press("ArrowRight")
    assert "after batch 1, on 1 (web)" in made.text("#tip")
    for _ in range(4):
        made.page.keyboard.press("ArrowDown")
    assert "after batch 5 (dos, probe learned), on 1 (web)" in made.text("#tip")
    for _ in range(3):
        made.page.keyboard.press("ArrowRight")
    assert "no ROC-AUC: its test set holds normal samples only" in made.text("#tip")
    chart = made.page.locator(".curves svg.chart").first
    chart.scroll_into_view_if_needed()
    chart.focus()
    made.page.keyboard.press("Home")
    assert made.text("#tip") == "after batch 1"
    assert made.page.locator(".curves svg.chart").first.locator("line.learned").count() == 4
    assert made.is_quiet()


@pytest.mark.parametrize("look", ["light", "dark", "phone", "print"])
def test_a_page_of_detectors_fits_every_reader(open_page: Any, screenshots: Path, look: str) -> None:
    options: dict[str, Any] = {"color_scheme": "dark" if look == "dark" else "light"}
    if look == "phone":
        options["viewport"] = {"width": 390, "height": 844}
    made = open_page(build_page(gather(make_detectors(rows=["visits"]))), **options)
    page = made.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if look == "print":
        page.pdf(path=str(screenshots / "detectors-print.pdf"), format="A4", print_background=True)
    else:
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": page.viewport_size["width"], "height": height})
        page.wait_for_timeout(300)
        page.screenshot(path=str(screenshots / f"detectors-{look}.png"))
    assert made.is_quiet()
