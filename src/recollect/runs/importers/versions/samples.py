"""Single test items of versions: `samples_*.jsonl` of lm-eval, summaries of inspect_ai, episodes of lerobot.

Files are streamed: of each item the key, the mark and its place in the file are kept, and texts are looked up when
they are shown.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.runs.importers.files import cannot_read, in_words
from recollect.runs.importers.versions.evaluation import Evaluation, listing, mapping, name_of
from recollect.runs.importers.versions.zipped import member
from recollect.runs.item_answers import ItemAnswer

_DATE = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(.+)_({_DATE})\.jsonl")
_RESULTS = re.compile(rf".+_({_DATE})\.json")


@dataclass
class ItemMarks:
    """The marks of one version on one task: 1 or 0 by item, and a way to show an item."""

    by_item: dict[str, int] = field(default_factory=dict)
    show: Callable[[str], ItemAnswer] = lambda key: ItemAnswer()
    unmarked: int = 0


def marks_of(one: Evaluation, task: str, metric: str) -> ItemMarks | None:
    """The marks that lie beside an evaluation, for one task and one of its scores; None where there are none."""
    path = one.files.get(task, one.path)
    if path.suffix == ".eval" or (path.suffix == ".json" and _mentions(path, b'"eval"')):
        return _of_inspect(path, metric) if task in one.scores else None
    if path.suffix == ".json" and _mentions(path, b'"per_task"'):
        return _of_lerobot(path, task)
    found = [marks for leaf in _leaves(one, task) if (marks := _of_lmeval(path, leaf, metric)) is not None]
    return _joined(found) if found else None


def _leaves(one: Evaluation, task: str) -> list[str]:
    """The tasks whose items a column has: its own, or those of its group."""
    waiting, leaves = [task], []
    while waiting:
        name = waiting.pop(0)
        below = one.groups.get(name, ())
        waiting += [member for member in below if member != name]
        if not below:
            leaves.append(name)
    return leaves


def _joined(found: Sequence[ItemMarks]) -> ItemMarks:
    if len(found) == 1:
        return found[0]
    owner = {key: marks for marks in found for key in marks.by_item}
    return ItemMarks(
        {key: mark for marks in found for key, mark in marks.by_item.items()},
        lambda key: owner[key].show(key),
        sum(marks.unmarked for marks in found),
    )


def _of_lmeval(results: Path, task: str, metric: str) -> ItemMarks | None:
    """The file of the same date; where that is not there, the last one of the task in the folder."""
    own = _RESULTS.fullmatch(results.name)
    files = {
        match[2]: file
        for file in sorted(results.parent.glob("samples_*.jsonl"))
        if (match := _SAMPLES.fullmatch(file.name)) and match[1] == task
    }
    if not files:
        return None
    file = files[own[1]] if own and own[1] in files else files[max(files)]
    name, wanted = name_of(metric), metric.partition(",")[2]
    marks, places = ItemMarks(), dict[str, int]()
    seen: Counter[str] = Counter()
    for at, sample in _lines(file):
        if wanted and sample.get("filter", wanted) != wanted:
            continue
        base = f"{task}/{sample.get('doc_hash') or sample.get('doc_id')}"
        key = f"{base}#{seen[base]}" if seen[base] else base
        seen[base] += 1
        mark = _mark(sample.get(name))
        if mark is None:
            marks.unmarked += 1
        else:
            marks.by_item[key], places[key] = mark, at
    marks.show = lambda key: _shown_lmeval(file, places[key]) if key in places else ItemAnswer()
    return marks


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object of a file of lines, with its place; one line at a time."""
    at = 0
    with file.open("rb") as lines:
        for place, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield at, mapping(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise cannot_read(file, "lm-eval", f"line {place} is not JSON: {error}. Is it whole?") from None
            at += len(line)


def _mark(value: Any) -> int | None:
    """1 or 0; None for a score that is neither right nor wrong (a likelihood, a part of a point).

    >>> _mark(1.0), _mark(False), _mark([-2.5, 3]), _mark(0.5), _mark("C"), _mark("I")
    (1, 0, None, None, 1, 0)
    """
    if isinstance(value, str):
        return {"C": 1, "I": 0}.get(value.upper())
    return int(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


def _shown_lmeval(file: Path, at: int) -> ItemAnswer:
    with file.open("rb") as lines:
        lines.seek(at)
        sample = mapping(json.loads(lines.readline()))
    arguments = mapping(sample.get("arguments"))
    first = next(iter(arguments.values()), None)
    asked = mapping(first).get("arg_0") if isinstance(first, dict) else None
    answers = listing(sample.get("filtered_resps")) or listing(sample.get("resps"))
    return ItemAnswer(
        asked=_text(asked if asked is not None else sample.get("doc")),
        target=_text(sample.get("target")),
        answered=_text(answers[0] if len(answers) == 1 else answers),
    )


def _text(value: Any) -> str:
    """A text of a file on one line; what is no text as JSON, so that nothing is lost."""
    if value is None or value == []:
        return ""
    return in_words(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 2000)


def _mentions(path: Path, word: bytes) -> bool:
    with path.open("rb") as file:
        return word in file.read(2**14)


def task_name(entry: Mapping[str, Any]) -> str:
    """The name of a task of lerobot: its group and its number there.

    >>> task_name({"task_group": "libero_object", "task_id": 4})
    'libero_object/4'
    """
    return in_words(f"{entry.get('task_group', 'task')}/{entry.get('task_id', 0)}", 200)


def _of_lerobot(path: Path, task: str) -> ItemMarks | None:
    """The episodes of a task, known by their places: the file tells no seeds."""
    for entry in map(mapping, listing(mapping(json.loads(path.read_bytes())).get("per_task"))):
        if task_name(entry) == task:
            outcomes = listing(mapping(entry.get("metrics")).get("successes"))
            return ItemMarks({f"episode {k}": int(outcome) for k, outcome in enumerate(outcomes)})
    return None


def _of_inspect(path: Path, metric: str) -> ItemMarks | None:
    if path.suffix == ".eval":
        data = member(path, "summaries.json", "inspect")
        samples = [] if data is None else listing(json.loads(data))
    else:
        samples = listing(mapping(json.loads(path.read_bytes())).get("samples"))
    if not samples:
        return None
    scorer = metric.split("/")[0] if "/" in metric else None
    marks, shown = ItemMarks(), dict[str, Mapping[str, Any]]()
    for sample in map(mapping, samples):
        scores = mapping(sample.get("scores"))
        own = scorer if scorer in scores else next(iter(scores), None)
        score = mapping(scores.get(own)) if own is not None else {}
        mark = _mark(score.get("value"))
        if mark is None:
            marks.unmarked += 1
            continue
        key = f"{sample.get('id')}/{sample.get('epoch', 1)}"
        marks.by_item[key], shown[key] = mark, {**sample, "answer": score.get("answer")}
    marks.show = lambda key: ItemAnswer(
        *(_text(shown.get(key, {}).get(name)) for name in ("input", "target", "answer"))
    )
    return marks
