"""The page as text: complete in itself, hostile names as text, numbers that survive packing."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from recollect.report.gather import gather
from recollect.report.page import build_page
from recollect.report.page.pack import pack, to_script, unpack
from recollect.runs import group
from recollect.stats import Estimate
from tests.report.samples import make_groups, make_run
from tests.report.test_gather import imported

HOSTILE = "<script>alert(1)</script>"
QUOTES = "\"'></td><img src=x onerror=alert(2)>\u2028&amp;"


class Reader(HTMLParser):
    """What a browser would see: elements with their attributes, and the text outside of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside not in ("script", "style"):
            self.text += data


@pytest.fixture(scope="module")
def hostile() -> str:
    runs = [
        make_run(learner, seed, 4, stream=f"stream {HOSTILE}", name=lambda j: f"{QUOTES}{j}")
        for learner in (HOSTILE, QUOTES, "$x^2$ {{ 7 * 7 }} {% raw %}")
        for seed in range(2)
    ]
    return build_page(gather(group(runs), title=HOSTILE, command=f"recollect report '{HOSTILE}'"))


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    made: dict[str, object] = json.loads(found[1])
    return made


def test_hostile_names_are_text(hostile: str) -> None:
    reader = Reader(hostile)
    assert [tag for tag, _ in reader.found].count("script") == 2, "the data and our script, nothing else"
    assert not any(tag == "img" or name.startswith("on") for tag, attrs in reader.found for name in attrs)
    assert HOSTILE in reader.text
    assert "{{ 7 * 7 }}" in reader.text
    assert "</script><" not in json.dumps(data_of(hostile)).replace(HOSTILE, "")
    assert HOSTILE in data_of(hostile)["labels"]  # type: ignore[operator]
    assert "\u2028" not in hostile[hostile.index('id="data"') :].split("</script>")[0]


def test_nothing_is_loaded(hostile: str) -> None:
    for tag, attrs in Reader(hostile).found:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    style = hostile[hostile.index("<style>") : hostile.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_admits_our_script_only(hostile: str) -> None:
    import base64
    import hashlib

    script = hostile[hostile.rindex("<script>") + 8 : hostile.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(attrs["content"] for tag, attrs in Reader(hostile).found if attrs.get("http-equiv"))
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_the_sections_in_their_order() -> None:
    page = build_page(gather(make_groups()))
    ids = [attrs["id"] for tag, attrs in Reader(page).found if tag == "section"]
    assert ids == ["answer", "learners", "curves", "matrices", "forgetting", "comparisons", "notes"]


def test_every_definition_shown_has_its_footnote() -> None:
    contents = gather(make_groups())
    reader = Reader(build_page(contents))
    offered = {attrs["value"] for tag, attrs in reader.found if tag == "option" and "." in (attrs.get("value") or "")}
    noted = {(attrs.get("id") or "").removeprefix("def-") for _, attrs in reader.found}
    assert {id for id in offered if id and not id.startswith(("timings.", "cost."))} <= noted
    assert sum(tag == "math" for tag, _ in reader.found) == len(contents.definitions)
    assert contents.streams[0].fingerprints[0] in reader.text
    assert "0123abc" in reader.text


def test_tables_are_real_tables() -> None:
    reader = Reader(build_page(gather(make_groups())))
    tags = [tag for tag, _ in reader.found]
    assert tags.count("caption") == tags.count("table") > 3
    assert all("scope" in attrs for tag, attrs in reader.found if tag == "th" and attrs.get("data-key"))


def test_imported_results_alone_make_a_page() -> None:
    text = Reader(build_page(gather(imported()))).text
    assert "continual average of ROC-AUC" in text
    assert "evaluated" in text
    assert "tasks or concepts" in text, "one page for both kinds of streams"
    assert "experiences are taken" in text or "read as a file of avalanche" in text
    assert "Forgetting is not split here" in text


def test_one_run_one_task() -> None:
    page = build_page(gather(group([make_run("a", 0, 1)])))
    assert "no other learner is here" in page


def test_a_page_is_the_same_bytes_each_time() -> None:
    contents = gather(make_groups(seeds=2))
    assert build_page(contents) == build_page(gather(make_groups(seeds=2)))


@pytest.mark.parametrize("scale", [1.0, 1e-3, 250.0, 1e9])
def test_packing_keeps_four_digits(scale: float) -> None:
    rng = np.random.default_rng(0)
    value = rng.normal(size=(20, 20)) * scale
    value[3, 4] = np.nan
    packed = pack(Estimate(value, value - scale, value + scale, 5, "t", value))
    for name, expected in (("value", value), ("low", value - scale), ("high", value + scale)):
        error = np.nanmax(np.abs(unpack(packed, name) - expected))
        assert error <= max(0.5e-4, 1e-4 * scale)
    assert np.isnan(unpack(packed)[3, 4])


def test_packing_without_intervals_and_without_values() -> None:
    nothing = np.full(3, np.nan)
    assert "low" not in pack(Estimate(np.ones(3), nothing, nothing, 1, "t", nothing))
    assert np.isnan(unpack(pack(Estimate(nothing, nothing, nothing, 0, "t", nothing)))).all()


def test_json_has_no_nan() -> None:
    assert to_script([float("nan"), float("inf"), np.array([np.nan, 1.0])]) == "[null,null,[null,1.0]]"


def test_templates_are_in_the_package() -> None:
    import recollect.report.page as package

    folder = Path(package.__file__).parent
    assert {p.suffix for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts} == {
        ".py",
        ".html",
        ".css",
        ".js",
    }
