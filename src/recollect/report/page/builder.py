"""From contents to one HTML file: templates, style, script and data in a single text."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import MissingExtra
from recollect.report.by_construction import PLAIN, is_plain_at_the_end, said_of_masked, said_of_rescaled
from recollect.report.page.formulas import mathml
from recollect.report.page.pack import to_script
from recollect.report.results import Column, Comparisons, Contents, LearnerResult, StreamResult
from recollect.report.sentences import answers
from recollect.report.words import Name, curve_titles, typeset, with_article
from recollect.stats import Estimate

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
# In the order in which they use each other.
_SCRIPTS = ("dom", "base", "chart", "curves", "online", "heat", "split", "first", "changes", "forest", "table", "main")


def build_page(contents: Contents) -> str:
    """Make the page. It loads nothing, and its policy forbids the browser to load or run anything else."""
    from markupsafe import Markup

    script = wrapped([STATIC / f"{name}.js" for name in _SCRIPTS])
    template = _environment().get_template("page.html")
    return template.render(
        page=contents,
        answers=[answers(stream) for stream in contents.streams],
        titles=[_stream_title(stream) for stream in contents.streams],
        **_lines(contents),
        **_what_is_there(contents),
        formulas={one.id: Markup(mathml(one.latex)) for one in contents.definitions},
        data=Markup(to_script(_for_script(contents))),
        style=Markup((STATIC / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=content_hash(script),
    )


def _lines(contents: Contents) -> dict[str, list[str]]:
    """What does not apply, what is missing and what to know: a line each, of all streams that it is true of."""

    def refusals(stream: StreamResult) -> list[str]:
        return [f"{one.what}: {one.why}" for one in stream.refusals]

    def left_out(stream: StreamResult) -> list[str]:
        if not {"learning", "forgotten"} & set(stream.focus.questions):
            return []  # nobody who asks so expects them
        return [f"{one.what}: {one.why}" for one in stream.left_out if one.part != "split"]

    general = [f"{one.what}: {one.why}" for one in contents.refusals]
    return {
        "left_out": _of_streams(contents, left_out),
        "missing": _of_streams(contents, refusals) + general,
        "about": _of_streams(contents, lambda stream: list(stream.notes)),
        "changing": [str(one) for one in contents.refusals if one.part == "runs"],
    }


def _of_streams(contents: Contents, lines: Callable[[StreamResult], list[str]]) -> list[str]:
    found: dict[str, list[str]] = {}
    for stream in contents.streams:
        for line in lines(stream):
            found.setdefault(line, []).append(stream.key)
    everywhere = len(contents.streams)
    return [line if len(keys) == everywhere else f"{', '.join(keys)}: {line}" for line, keys in found.items()]


def _what_is_there(contents: Contents) -> dict[str, bool]:
    """What the page needs words for."""
    learners = [learner for stream in contents.streams for learner in stream.learners]
    return {
        "untrained": any(one.untrained for one in learners),
        "joint": any(one.joint for one in learners),
        "restricted": any(one.parts for one in learners),
        "classes": any(stream.n_classes for stream in contents.streams),
        "marked": any(stream.rows for stream in contents.streams),
        "by_items": any(stream.changes for stream in contents.streams),
        "versions": all("changed" in stream.focus.questions for stream in contents.streams),
        "flowing": any(stream.flows for stream in contents.streams),
        "losing": any(stream.is_trained for stream in contents.streams),
    }


def wrapped(files: Sequence[Path]) -> str:
    """Script files as one script, in a scope of its own."""
    parts = [file.read_text(encoding="utf-8") for file in files]
    return '\n(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();\n"


def content_hash(script: str) -> str:
    """The name by which a policy allows this script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _for_script(contents: Contents) -> dict[str, Any]:
    """What the script draws; the sentences, pairs and footnotes are in the page itself."""
    better = {one.id: one.better for one in contents.definitions}
    return {
        "labels": contents.labels,
        "shown_first": contents.shown_first,
        "better": better,
        "summaries": {one.id: one.summary for one in contents.definitions},
        "streams": [
            {
                "key": stream.key,
                "words": {
                    "task": stream.words.task,
                    "tasks": stream.words.tasks,
                    "score": stream.words.score,
                    "moment": stream.words.moment,
                    "axis": stream.words.axis,
                },
                "headline": stream.focus.headline,
                "level": stream.words.headline,
                "chance": _chance(stream),
                "comparisons": [_forest(table) for table in stream.comparisons],
                "panels": stream.focus.panels,
                "close": stream.focus.close,
                "bounded": stream.bounded,
                "titles": curve_titles(stream.words, stream.focus),
                "tasks": stream.tasks,
                "rows": stream.rows,
                "numbers": stream.numbers,
                "unscored": stream.unscored,
                "higher_is_better": stream.higher_is_better,
                "columns": stream.columns,
                "learners": stream.learners,
                "differences": stream.differences,
                "watched": stream.watched,
                "costs": stream.costs,
                "changes": [
                    {name: getattr(one, name) for name in ("label", "task", "since", "now", "difference")}
                    for one in stream.changes
                ],
            }
            for stream in contents.streams
        ],
    }


def _chance(stream: StreamResult) -> float | None:
    """What guessing scores at the end, where the headline is what is then."""
    known = stream.difficulty.get("aa")
    return float(known[-1]) if known is not None and stream.focus.headline == "acc.average" else None


def _forest(table: Comparisons) -> dict[str, Any]:
    """What is drawn of the pairs."""
    pairs = [
        {
            "first": pair.first,
            "second": pair.second,
            "difference": pair.together or pair.comparison.difference,
            "behind": pair.is_apart,
            "holm_p": pair.holm_p,
        }
        for pair in table.pairs
    ]
    return {"id": table.id, "better": table.better, "pairs": pairs}


def _ranked(stream: StreamResult) -> list[tuple[int, LearnerResult]]:
    """The learners with their places, the best first."""
    return [(stream.labels[one.label], one) for one in stream.ranked]


def _marks(stream: StreamResult) -> set[tuple[str, str]]:
    """The (metric, learner) that is ahead of every other contestant."""
    # A part of forgetting is no contest: less of one may be more of another.
    leads = [(table.id, table.lead) for table in stream.comparisons if not table.id.startswith("split.")]
    return {(id, lead.best) for id, lead in leads if lead is not None and lead.is_confirmed}


def _sorted_by(stream: StreamResult, column: Column) -> str:
    if column.id != stream.focus.headline:
        return "none"
    return "descending" if stream.higher_is_better else "ascending"


def _footnotes(stream: StreamResult) -> list[str]:
    """What to know of columns that stand side by side."""
    made = []
    for rescaled, plain in PLAIN.items():
        values = ([float(one.numbers[id].value) for one in stream.learners] for id in (rescaled, plain))
        if is_plain_at_the_end(*values):
            made.append(f"{said_of_rescaled(rescaled, stream.words)}.")
    if stream.masked and any(column.key == "fwt" for column in stream.columns):
        who = "" if len(stream.masked) == len(stream.learners) else ", ".join(stream.masked)
        made.append(f"{said_of_masked(who, stream.words)}.")
    return made


def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ModuleNotFoundError:
        raise MissingExtra.of("jinja2", "report") from None
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "value": _value,
        "ends": _ends,
        "p": _p,
        "plain": _text,
        "key": _short_key,
        "breakable": _breakable,
        "ticked": _ticked,
        "begin": _begin,
        "unbroken": _unbroken,
        "article": with_article,
        "ranked": _ranked,
        "marks": _marks,
        "sorted_by": _sorted_by,
        "footnotes": _footnotes,
    }
    made.tests |= {"name": lambda part: isinstance(part, Name)}
    return made


def _text(value: float, unit: str = "") -> str:
    """A number of the table; three digits after the point for scores, three that count for costs.

    >>> _text(.6125), _text(1234.5, "s"), _text(.0456, "s")
    ('0.613', '1234', '0.0456')
    """
    if not unit and abs(value) <= 10:
        return typeset(value)
    text = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def _value(number: Estimate, unit: str = "") -> str:
    """The value, or that there is none."""
    return _text(float(number.value), unit) if number.is_known else "–"


def _ends(number: Estimate | None, unit: str = "") -> str:
    """The interval of a number, empty where there is none."""
    if number is None or np.isnan(number.low) or np.isnan(number.high):
        return ""
    return f"[{_text(float(number.low), unit)}, {_text(float(number.high), unit)}]"


def _p(value: float) -> str:
    """A p value for a table.

    >>> _p(.0625), _p(.00001), _p(float("nan")), _p(1.0)
    ('0.062', '<0.001', '–', '1')
    """
    if np.isnan(value):
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.2g}"


def _short_key(id: str) -> str:
    """An id as a menu shows it; costs lose the name of their group."""
    return id.removeprefix("timings.").removeprefix("cost.")


def _breakable(id: str) -> str:
    """An id that may be broken where its words end."""
    return id.replace(".", ".\u200b").replace("_", "_\u200b")


def _unbroken(text: str) -> str:
    """Text whose intervals stay on one line, with the number before them; `code` is marked."""
    return _ticked(re.sub(r" \[[^\]]*\]", lambda found: found[0].replace(" ", "\u00a0"), text))


def _begin(text: str) -> str:
    """A sentence begins with a capital."""
    return text[:1].upper() + text[1:]


def _ticked(text: str) -> str:
    """Text in which `code` is marked as in our docstrings; all of it is escaped."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 and place < len(parts) - 1 else part
        for place, part in enumerate(parts)
    )


def _stream_title(stream: StreamResult) -> str:
    what = [f"{stream.T} {stream.words.tasks if stream.T > 1 else stream.words.task}"]
    if stream.rows:
        what.append(f"{len(stream.rows)} {stream.words.rows}")
    if stream.n_classes:
        what.append(f"{stream.n_classes} classes")
    if stream.scenario and stream.scenario not in stream.key:
        what.append(stream.scenario)
    if stream.words.scores > 1:
        what.append(f"scored by {stream.words.score}")
    if stream.online is not None:
        what.append("one pass" if stream.online else "several passes")
    return ", ".join(what)
