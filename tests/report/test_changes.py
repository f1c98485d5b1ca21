"""Versions on the page: what changed column by column, what became of items, and words that a release team uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recollect.report.changes import changes_of, flows_between
from recollect.report.gather import gather
from recollect.report.page import build_page
from recollect.report.sentences import answers
from recollect.runs import group, load
from tests.cli.test_items import evaluated
from tests.runs.importers.versions.writing import lmeval_results


def releases(folder: Path) -> Path:
    for week, north in enumerate((0.80, 0.81, 0.70)):
        name = f"release-{week}"
        lmeval_results(folder / f"{name}.json", name, {"north": north, "south": 0.6}, date=float(week), n=2000)
    return folder


def test_releases_are_told_without_words_of_continual_learning(tmp_path: Path) -> None:
    contents = gather(group(load(releases(tmp_path / "weekly"))))
    (stream,) = contents.streams
    text = " ".join(str(sentence) for one in answers(stream) for sentence in (*one.said, *one.more))
    assert "1 worse: north by −0.100 [−0.127, −0.073] since release-0; 1 cannot be told from no change" in text
    page = build_page(contents)
    told = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)
    for word in ("forgot", "RAA", "still learning", "untrained learner's", "seed cannot"):
        assert word not in told.split("Definitions")[0], word


def test_items_flow_from_version_to_version(tmp_path: Path) -> None:
    evaluated(tmp_path, 0, "base", {"a": True, "b": True, "c": False, "d": False})
    evaluated(tmp_path, 1, "step1", {"a": True, "b": False, "c": True, "d": False})
    evaluated(tmp_path, 2, "step2", {"a": False, "b": False, "c": True, "d": False})
    (of_all,) = group(load(tmp_path))
    (change,) = changes_of(of_all, "model")
    assert (change.since, change.now) == ("base", "step2")
    assert change.counts == {"always": 0, "forgotten": 2, "learned": 1, "never": 1}
    assert change.p == 1.0
    assert (change.before, change.after) == (0.5, 0.25)
    steps = flows_between(of_all, "model")
    assert [(one.before, one.after, one.counts["forgotten"], one.counts["learned"]) for one in steps] == [
        ("base", "step1", 1, 1),
        ("step1", "step2", 1, 0),
    ]
    page = build_page(gather([of_all]))
    assert 'aria-label="0 always, 2 forgotten, 1 learned, 1 never"' in page


def test_a_change_without_items_has_the_error_of_both_scores(tmp_path: Path) -> None:
    (of_all,) = group(load(releases(tmp_path / "weekly")))
    north = next(one for one in changes_of(of_all, "x") if one.task == "north")
    error = (0.8 * 0.2 / 1999 + 0.7 * 0.3 / 1999) ** 0.5
    assert float(north.difference.high - north.difference.low) / 2 == pytest.approx(1.959964 * error, rel=1e-6)
    assert north.counts is None
