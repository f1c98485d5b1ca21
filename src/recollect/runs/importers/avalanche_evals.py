"""Lists of what `strategy.eval()` gives, saved as JSON or as the csv of a pandas DataFrame.

`results.append(strategy.eval(stream))` after each experience leaves one dictionary of metrics per call. Avalanche gives
the last value of every metric it has, so a call on one experience carries the others' old values along. What a call
evaluated is told by what changed, and by the accuracy of the stream, which is over that call alone.

    one call per experience     row k is the call after experience k, on all experiences or on those seen
    one call more               the first is the untrained learner's
    one call per cell           T x T calls: call i * T + j evaluates experience j after experience i
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from recollect.runs.importers.avalanche_log import METRIC, NAME, no_scores
from recollect.runs.importers.build import MAX_TASKS, Matrix, Score, check_size, number
from recollect.runs.importers.files import cannot_read, fields_of, in_words
from recollect.runs.importers.table import score_of

# Under such a key lie results of one learner; any other names the learner.
_PLAIN_KEYS = frozenset(["results", "complete results", "eval", "evals", "metrics", "eval_results", "history", "runs"])


@dataclass(frozen=True)
class Calls:
    """The calls of one run, and the name that the file gives it."""

    name: str | None
    calls: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class LaidCalls:
    """Scores after each experience, with what was assumed: `cells` by row, `untrained` before any training."""

    experiences: tuple[int, ...]
    cells: Matrix
    untrained: list[Score] | None
    notes: tuple[str, ...]


def find_calls(value: Any) -> list[Calls]:
    """The lists of calls in a JSON value: a list, runs of lists, or an object that holds such under its keys."""
    if _is_calls(value):
        return [Calls(None, tuple(value))]
    if isinstance(value, list) and value and all(_is_calls(run) for run in value):
        return [Calls(None, tuple(run)) for run in value]
    found: list[Calls] = []
    for key, part in value.items() if isinstance(value, dict) else ():
        name = None if str(key).strip().lower() in _PLAIN_KEYS else str(key)
        if isinstance(part, list) and part:
            found += [Calls(name, one.calls) for one in find_calls(part)]
    return found


def _is_calls(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(call, dict) for call in value)
        and any(METRIC.fullmatch(str(key)) for call in value for key in call)
    )


def is_frame(line: str) -> bool:
    """Whether this is the header of a DataFrame of calls."""
    try:
        names = next(csv.reader([line]), [])
    except csv.Error:
        return False
    return any(METRIC.fullmatch(name) for name in names)


def calls_of_frame(path: Path, text: str) -> Calls:
    """The calls of a csv, one per line; an empty cell is a metric that did not exist yet."""
    lines = fields_of(path, NAME, text.split("\n"))
    names = lines[0]
    wanted = [place for place, name in enumerate(names) if _is_wanted(name)]
    if len({names[place] for place in wanted}) != len(wanted):
        raise cannot_read(path, NAME, "two columns of the table have one name.")
    calls = []
    for number_of, line in enumerate(lines[1:], start=2):
        if len(line) != len(names):
            raise cannot_read(path, NAME, f"line {number_of} has {len(line)} fields; the header has {len(names)}.")
        try:
            cells = {names[place]: score_of(line[place]) for place in wanted}
        except ValueError as error:
            raise cannot_read(path, NAME, f"line {number_of}: {error}.") from None
        calls.append({name: value for name, value in cells.items() if value is not None})
    return Calls(None, tuple(calls))


def _is_wanted(name: str) -> bool:
    return METRIC.fullmatch(name) is not None or name.startswith(
        ("Top1_Acc_Stream/eval_phase/", "Loss_Exp/eval_phase/")
    )


def lay_out_calls(path: Path, calls: Sequence[Mapping[str, Any]], wanted: str) -> LaidCalls:
    """The calls as rows after experiences."""
    known = [_scores(path, call, wanted) for call in calls]
    experiences = sorted({exp for scores in known for exp in scores})
    T, n = len(experiences), len(calls)
    if not T:
        other = {match["stream"] for call in calls for key in call if (match := METRIC.fullmatch(str(key)))}
        raise no_scores(path, wanted, other)
    check_size(path, NAME, n, T)
    if T > MAX_TASKS or experiences != list(range(T)):
        raise cannot_read(path, NAME, f"it evaluates experiences {in_words(str(experiences))}; expected 0, 1, 2, ...")
    order = "experiences are taken to have been learned in the order of their numbers: the calls do not say it"
    rows: Matrix = [[scores.get(exp) for exp in experiences] for scores in known]
    if n == T * T and T > 1 and _is_one_per_cell(calls, known, T, wanted):
        cells: Matrix = [[rows[i * T + j][j] for j in range(T)] for i in range(T)]
        return LaidCalls(tuple(experiences), cells, None, (f"one call per cell: {n} calls for {T} experiences", order))
    if n not in (T, T + 1):
        raise cannot_read(
            path,
            NAME,
            f"it holds {n} calls of eval for {T} experiences; expected {T} (one after each experience), {T + 1} (one"
            f" before training) or {T * T} (one per cell). Which call followed which experience cannot be told.",
        )
    untrained = rows[0] if n == T + 1 else None
    said = [order]
    if untrained is not None:
        said.append(f"{n} calls for {T} experiences: the first is taken for the untrained learner's")
    kept = rows[1:] if untrained is not None else rows
    evaluated, note = _without_carried(calls[-T:], kept, wanted)
    if note:
        said.append(note)
    return LaidCalls(tuple(experiences), evaluated, untrained, tuple(said))


def _scores(path: Path, call: Mapping[str, Any], wanted: str) -> dict[int, Score]:
    found: dict[int, Score] = {}
    for key, value in call.items():
        match = METRIC.fullmatch(str(key))
        if match is None or match["stream"] != wanted:
            continue
        exp = int(match["exp"])
        if exp in found:
            raise cannot_read(path, NAME, f"experience {exp} has several task labels in '{in_words(key)}'.")
        try:
            found[exp] = number(value)
        except ValueError as error:
            raise cannot_read(path, NAME, f"'{in_words(key)}': {error}.") from None
    return found


def _is_one_per_cell(
    calls: Sequence[Mapping[str, Any]], known: Sequence[dict[int, Score]], T: int, wanted: str
) -> bool:
    """Whether call i * T + j changes experience j alone, and gives its accuracy as the stream's where it gives one."""
    for place, ((before, after), call) in enumerate(zip(pairwise([{}, *known]), calls, strict=True)):
        j = place % T
        carried = {exp: score for exp, score in after.items() if exp != j}
        if j not in after or any(exp in before and before[exp] != score for exp, score in carried.items()):
            return False
        if any(exp not in before for exp in carried):
            return False
        stream = _of_stream(call, wanted)
        if stream is not None and stream != after[j]:
            return False
    return True


def _of_stream(call: Mapping[str, Any], wanted: str) -> float | None:
    """The accuracy over what a call evaluated, if there is one number for it."""
    values = [v for key, v in call.items() if str(key).startswith(f"Top1_Acc_Stream/eval_phase/{wanted}_stream")]
    one = values[0] if len(values) == 1 else None
    return float(one) if isinstance(one, int | float) and not isinstance(one, bool) else None


def _without_carried(calls: Sequence[Mapping[str, Any]], rows: Matrix, wanted: str) -> tuple[Matrix, str | None]:
    """Rows in which values that a call carried along from the one before are empty.

    A call that evaluated the newest experience alone has its accuracy as the stream's, and every other value, losses
    included, as it was.
    """
    made: Matrix = [list(row) for row in rows]
    blanked = 0
    for k in range(1, len(rows)):
        older = [j for j, score in enumerate(rows[k]) if score is not None and j != k and rows[k - 1][j] is not None]
        same = older and all(rows[k][j] == rows[k - 1][j] for j in older)
        stream = _of_stream(calls[k], wanted)
        if not same or rows[k][k] is None or (stream is not None and stream != rows[k][k]):
            continue
        if stream is None and not _same_losses(calls[k - 1], calls[k], older, wanted):
            continue
        for j in older:
            made[k][j] = None
        blanked += len(older)
    if not blanked:
        return made, None
    return made, f"{blanked} values were carried along by a call that evaluated the newest experience alone: left empty"


def _same_losses(before: Mapping[str, Any], after: Mapping[str, Any], older: Sequence[int], wanted: str) -> bool:
    """Whether the losses of these experiences are there and did not change; without losses, if there are several."""
    losses = [
        key
        for key in after
        if str(key).startswith(f"Loss_Exp/eval_phase/{wanted}_stream") and int(str(key)[-3:] or 0) in older
    ]
    if not losses:
        return len(older) > 1
    return all(before.get(key) == after[key] for key in losses)
