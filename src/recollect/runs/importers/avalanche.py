"""Avalanche: `eval_results.csv`, the text log, or `get_all_metrics()` saved as JSON."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from recollect.runs.importers.build import Score, check_size, make_run, named, number, whole
from recollect.runs.importers.files import (
    cannot_read,
    guess_json,
    head_lines,
    in_words,
    load_json,
    mentions,
    read_text,
)
from recollect.runs.importers.timeline import Evaluated, Learned, lay_out
from recollect.runs.run import Row, Run

NAME = "avalanche"
SUMMARY = "Avalanche: eval_results.csv, the text log, or get_all_metrics() as JSON"

_HEADER = "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting"
_METRIC = re.compile(
    r"Top1_Acc_Exp/eval_phase/(?P<stream>[^/\s]+)_stream(?:/Task(?P<task>\d{1,6}))?/Exp(?P<exp>\d{1,6})"
)
_TENSOR = re.compile(r"\n?tensor\(([^,()]*)[^()]*\)")
# Loggers print tensors as they are, on a line of their own.
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"


def sniff(path: Path) -> bool:
    """The header of the CSV, or the names of its metrics in a log or in JSON."""
    lines = head_lines(path)
    if lines and lines[0].strip() == _HEADER:
        return True
    if mentions(path, b"-- >> Start of eval phase << --"):
        return True
    if not mentions(path, b"Top1_Acc_Exp/eval_phase/"):
        return False
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith(("{", "[")):
        value = guess_json(path)
        return isinstance(value, dict) and any(_METRIC.fullmatch(str(key)) for key in value)
    return True


def read(path: Path, *, eval_stream: str = "test") -> list[Run]:
    """The run of one file. `eval_stream` picks the stream that was evaluated (a log may hold several)."""
    text = read_text(path, NAME)
    first = text.lstrip()[:1]
    if text.split("\n", 1)[0].strip() == _HEADER:
        run = _from_events(
            path,
            _csv_events(path, text),
            "accuracies have 4 decimals; a bare 0 is a metric that was not monitored: left empty",
        )
    elif first == "{":
        run = _from_json(path, load_json(path, NAME), eval_stream)
    else:
        run = _from_events(path, _log_events(path, text, eval_stream), "accuracies have the 4 decimals of the log")
    return [run]


def _csv_events(path: Path, text: str) -> Iterable[Learned | Evaluated]:
    training = "None"
    accuracies = missing = 0
    joined = _TENSOR.sub(r"\1", text)
    try:
        lines = list(csv.reader(joined.split("\n")[1:]))
    except csv.Error as error:
        raise cannot_read(path, NAME, f"{error}.") from None
    for place, fields in enumerate(lines, start=2):
        if not fields:
            continue
        if len(fields) != 5 or whole(fields[0]) is None or (whole(fields[1]) is None and fields[1] != "None"):
            raise cannot_read(
                path,
                NAME,
                f"line {place} is '{in_words(','.join(fields))}'; expected {_HEADER}. Is the file whole?",
            )
        if fields[1] != training:
            if fields[1] == "None":
                raise cannot_read(path, NAME, f"line {place} is untrained again: two runs in one file?")
            training = fields[1]
            yield Learned(str(whole(training)))
        # A metric that was not monitored is the integer 0 in the source; a measured one has 4 decimals.
        accuracies += 1
        missing += fields[2] == "0"
        score = None if fields[2] == "0" else _score(path, fields[2])
        yield Evaluated({str(whole(fields[0])): score})
    if accuracies and missing == accuracies:
        raise cannot_read(
            path,
            NAME,
            "every eval_accuracy is the '0' that Avalanche writes for a metric that was not monitored."
            " Add accuracy_metrics(experience=True) to the EvaluationPlugin and run again.",
        )


def _log_events(path: Path, text: str, wanted: str) -> Iterable[Learned | Evaluated]:
    other: set[str] = set()
    training, phases, under_way, found = "", 0, False, False
    scores: dict[str, Score] = {}
    metric = re.compile(rf"\s*{_METRIC.pattern} = \s*({_NUMBER})")
    for line in _TENSOR.sub(r"\1", text).split("\n"):
        if line.startswith("-- >> Start of training phase"):
            # InteractiveLogger does not say which experience it is: they are numbered as they come.
            training, under_way = str(phases), True
            phases += 1
        elif line.startswith("-- Starting training on experience "):
            training = line.split()[5]
        elif line.startswith("-- >> End of training phase"):
            under_way = False
            if whole(training) is not None:
                yield Learned(str(whole(training)))
        elif line.startswith("-- >> End of eval phase") and scores:
            yield Evaluated(scores, inside=under_way)
            scores = {}
        elif match := metric.match(line):
            if match["stream"] == wanted:
                scores[str(int(match["exp"]))] = _score(path, match[match.lastindex or 0])
                found = True
            else:
                other.add(match["stream"])
    if scores:
        yield Evaluated(scores, inside=under_way)
    if not found:
        streams = f"; it has evaluations of: {', '.join(sorted(other))}" if other else ""
        raise cannot_read(path, NAME, f"no Top1_Acc_Exp of the stream '{in_words(wanted)}' is in it{streams}.")


def _from_events(path: Path, events: Iterable[Learned | Evaluated], note: str) -> Run:
    line = lay_out(list(events))
    if not line.learned:
        raise cannot_read(path, NAME, "no experience was ever learned: it holds evaluations before training only.")
    check_size(path, NAME, len(line.rows), len(line.tasks))
    notes = [note, *line.notes]
    if line.learned < len(line.tasks):
        notes.append(f"{line.learned} of {len(line.tasks)} experiences were learned: later rows are missing")
    return _run(path, line.rows, [f"experience {task}" for task in line.tasks], notes)


def _from_json(path: Path, metrics: Any, wanted: str) -> Run:
    if not isinstance(metrics, dict):
        raise cannot_read(path, NAME, "it is not the dictionary of get_all_metrics().")
    series: dict[int, tuple[list[int], list[Score]]] = {}
    for name, value in metrics.items():
        match = _METRIC.fullmatch(name)
        if match and match["stream"] == wanted:
            if int(match["exp"]) in series:
                raise cannot_read(path, NAME, f"experience {int(match['exp'])} has several task labels in '{name}'.")
            series[int(match["exp"])] = _series(path, name, value)
    if not series:
        raise cannot_read(path, NAME, f"no Top1_Acc_Exp of the stream '{in_words(wanted)}' is in it.")
    exps = sorted(series)
    check_size(path, NAME, max(len(xs) for xs, _ in series.values()), len(exps))
    ends, moments = _task_ends(path, series)
    # Of several values at one moment the last counts.
    cells = [dict(zip(*series[exp], strict=True)) for exp in exps]
    after = -1
    rows = []
    for x in moments:
        after = ends.get(x, after)
        score = tuple(column.get(x) for column in cells)
        rows.append(Row(after, task_end=x in ends or x == 0, score=score, extra={"iteration": x}))
    notes = [
        "experiences are taken to have been learned in the order of their numbers: the metrics do not say it",
        f"{len(ends)} of {len(moments)} moments of evaluation are ends of experiences; x counts iterations",
    ]
    return _run(path, rows, [f"experience {exp}" for exp in exps], notes, complete=len(ends) == len(exps))


def _task_ends(path: Path, series: dict[int, tuple[list[int], list[Score]]]) -> tuple[dict[int, int], Sequence[int]]:
    """Which moments are ends of experiences: all, or those evaluated once more before training went on."""
    T = len(series)
    counts: Counter[int] = Counter()
    for xs, _ in series.values():
        counts |= Counter(xs)
    moments = sorted(counts)
    trained = [x for x in moments if x > 0]
    twice = [x for x in trained if counts[x] > 1]
    if len(trained) == T:
        return {x: i for i, x in enumerate(trained)}, moments
    if len(twice) == T:
        return {x: i for i, x in enumerate(twice)}, moments
    if len(trained) == 1:
        # One evaluation, after everything: it is the last experience's end.
        return {trained[0]: T - 1}, moments
    raise cannot_read(
        path,
        NAME,
        f"{T} experiences were evaluated at {len(trained)} moments of training, and which of them are ends of"
        " experiences cannot be told from iterations. Give eval_results.csv or the text log of that run.",
    )


def _series(path: Path, name: str, value: Any) -> tuple[list[int], list[Score]]:
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(v, list) for v in value)):
        raise cannot_read(path, NAME, f"'{name}' is not a pair of lists, iterations and values.")
    xs, values = value
    steps = [whole(x) for x in xs]
    if len(xs) != len(values) or any(x is None or x < 0 for x in steps):
        raise cannot_read(path, NAME, f"'{name}' is not a list of iterations with a value each.")
    if len(xs) > 100_000:
        raise cannot_read(path, NAME, f"'{name}' has {len(xs):,} evaluations; up to 100,000 are read.")
    try:
        return [x for x in steps if x is not None], [number(v) for v in values]
    except ValueError as error:
        raise cannot_read(path, NAME, f"in '{name}', {error}.") from None


def _score(path: Path, text: str) -> Score:
    try:
        return number(float(text))
    except ValueError:
        raise cannot_read(path, NAME, f"'{in_words(text)}' is not an accuracy.") from None


def _run(path: Path, rows: Sequence[Row], names: list[str], notes: list[str], complete: bool = True) -> Run:
    return make_run(
        path,
        NAME,
        rows=rows,
        tasks=named(names),
        learner=path.absolute().parent.name,
        unit="fraction",
        notes=notes,
        complete=complete,
    )
