"""The watching page in a real browser: it follows the folders, shows names as text, and complains of nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.report.watch.looking import Watcher
from recollect.report.watch.server import WatchServer
from tests.report.samples import make_run
from tests.report.test_browser import HOSTILE, browser, pytestmark, screenshots  # noqa: F401
from tests.report.test_watch import finished, served, under_way


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Any]:  # noqa: F811
    """Open the page on a folder; what the page complains of is in `complaints`."""
    servers, contexts = [], []

    def open_on(place: Path, **options: Any) -> tuple[Any, list[str]]:
        serving = served(WatchServer(Watcher([place])))
        servers.append(serving)
        server = next(serving)
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.goto(server.address)
        page.locator("#summary", has_text=re.compile("runs?:")).wait_for()
        return page, complaints

    yield open_on
    for context in contexts:
        context.close()
    for serving in servers:
        next(serving, None)


def test_it_follows_runs_and_opens_one(visit: Any, tmp_path: Path, screenshots: Path) -> None:  # noqa: F811
    place = tmp_path / "runs"
    for seed in range(3):
        for learner in ("er", "gdumb", HOSTILE):
            finished(place / "first" / f"{learner[:2].strip('<')}-s{seed}", learner, seed)
    under_way(place / "first" / "failed").fail(f"ValueError: {HOSTILE}")
    with under_way(place / "second" / "er-s0") as opened:
        page, complaints = visit(place)
        line = page.locator("tr", has_text="running")
        assert "2/4" in line.inner_text()
        assert "2 to come" in page.locator("details", has_text="second").inner_text()
        opened.append(make_run("er", 0, T=4).rows[3])
        page.locator("tr", has_text="3/4").wait_for()
        line.locator("button").click()
        heat = page.locator("dialog svg.heat")
        assert heat.get_attribute("aria-label") == "scores of er, 3 of 4 rows"
        assert "task 3 of 4" in page.locator("dialog").inner_text()
        opened.append(make_run("er", 0, T=4).rows[4])
        page.locator("dialog svg.heat[aria-label$='4 of 4 rows']").wait_for()
        page.keyboard.press("Escape")
    page.select_option("#states", "failed")
    assert page.locator("tbody tr:visible").count() == 1
    assert f"ValueError: {HOSTILE}" in page.locator("tbody tr:visible").inner_text()
    page.select_option("#states", "")
    page.fill("#find", "gdumb")
    assert page.locator("tbody tr:visible").count() == 3
    page.fill("#find", "")
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=screenshots / f"watch-{width}-{scheme}.png", full_page=True)
    assert complaints == []


def test_the_full_report_opens(visit: Any, tmp_path: Path) -> None:
    for seed in range(2):
        finished(tmp_path / "runs" / "first" / f"er-s{seed}", seed=seed)
    page, complaints = visit(tmp_path / "runs")
    with page.context.expect_page() as there:
        page.locator("a", has_text="full report").click()
    report = there.value
    report.wait_for_selector("table.learners tbody tr")
    assert report.title() == "first"
    assert complaints == []


def test_thousands_of_runs_stay_usable(visit: Any, tmp_path: Path) -> None:
    first = finished(tmp_path / "runs" / "many" / "r0")
    files = {file.name: file.read_bytes() for file in first.iterdir()}
    for k in range(1, 1200):
        folder = first.with_name(f"r{k}")
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
    page, complaints = visit(tmp_path / "runs")
    page.locator("#summary", has_text=re.compile("^1200 runs: 1200 finished$")).wait_for(timeout=60_000)
    assert page.locator("tbody tr").count() == 50
    page.locator("button.more", has_text="1150 not shown").click()
    assert page.locator("tbody tr").count() == 250
    asked = "document.getElementById('find').dispatchEvent(new Event('input'))"
    spent = page.evaluate(f"() => {{ const before = performance.now(); {asked}; return performance.now() - before; }}")
    assert spent < 1000
    assert complaints == []
