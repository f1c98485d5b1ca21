"""pyCLAD's JSON output: a score matrix for each metric callback."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.runs.importers.build import Score, check_size, matrix_run, number, whole
from recollect.runs.importers.files import cannot_read, guess_json, in_words, load_json, mentions
from recollect.runs.importers.reconcile import Claim, reconciled
from recollect.runs.run import Run

NAME = "pyclad"
SUMMARY = "pyCLAD: the JSON of JsonOutputWriter, a run for each concept metric callback"

_PREFIX = "concept_metric_callback_"
_LOST = "<not serializable>"


def sniff(path: Path) -> bool:
    """JSON with a concept metric callback at the top."""
    if not mentions(path, _PREFIX.encode()):
        return False
    value = guess_json(path)
    return isinstance(value, dict) and any(str(key).startswith(_PREFIX) for key in value)


def read(path: Path, *, metric: str | None = None) -> list[Run]:
    """A run for each callback, or only that of `metric` (ROC-AUC, ...); concepts as they were learned."""
    output = load_json(path, NAME)
    found = {}
    if isinstance(output, dict):
        found = {key.removeprefix(_PREFIX): value for key, value in output.items() if key.startswith(_PREFIX)}
    if not found:
        raise cannot_read(path, NAME, f"no key starts with {_PREFIX}: no ConceptMetricCallback was written.")
    if metric is not None and metric not in found:
        have = ", ".join(in_words(name) for name in found)
        raise cannot_read(path, NAME, f"there is no metric '{in_words(metric)}' in it; it has: {have}.")
    runs, lost = [], []
    for name, callback in found.items():
        if metric not in (None, name):
            continue
        run = _run(path, output, name, callback, alone=len(found) == 1)
        runs.append(run) if run is not None else lost.append(name)
    if not runs:
        raise cannot_read(
            path,
            NAME,
            f"every score of {', '.join(map(in_words, lost))} is '{_LOST}': pyCLAD writes that for"
            " float32. Return float(value) from the metric and run again.",
        )
    skipped = f"{', '.join(map(in_words, lost))} was left out: all its scores are '{_LOST}'" if lost else None
    return [replace(run, notes=(*run.notes, skipped)) for run in runs] if skipped else runs


def _run(path: Path, output: dict[str, Any], name: str, callback: Any, alone: bool) -> Run | None:
    matrix = callback.get("metric_matrix") if isinstance(callback, dict) else None
    order = callback.get("concepts_order") if isinstance(callback, dict) else None
    if not isinstance(matrix, dict) or not isinstance(order, list):
        raise cannot_read(path, NAME, f"the callback {in_words(name)} has no metric_matrix with its concepts_order.")
    if not all(isinstance(c, str) for c in order) or len(set(order)) != len(order):
        raise cannot_read(
            path,
            NAME,
            "concepts_order does not name each learned concept once; a concept learned twice has one row.",
        )
    check_size(path, NAME, len(order), len(order))
    rows: list[list[Score]] = []
    lost = 0
    elsewhere: set[str] = set()
    for learned in order:
        scores = matrix.get(learned, {})
        if not isinstance(scores, dict):
            raise cannot_read(path, NAME, f"the row of concept {in_words(learned)} is {in_words(scores)}.")
        lost += sum(scores.get(evaluated) == _LOST for evaluated in order)
        elsewhere |= set(scores) - set(order)
        try:
            values = (scores.get(evaluated) for evaluated in order)
            rows.append([None if value == _LOST else number(value) for value in values])
        except ValueError as error:
            raise cannot_read(path, NAME, f"after concept {in_words(learned)}, {error}.") from None
    if lost == len(order) ** 2:
        return None
    scores_in = [cell for row in rows for cell in row if cell is not None]
    fraction = all(0 <= cell <= 1 for cell in scores_in)
    stream = _name(output, "dataset")
    run = matrix_run(
        path,
        NAME,
        problem="detection",
        role="reference" if _name(output, "strategy") == _KEEPS_EVERYTHING else "contestant",
        matrix=rows,
        names=order,
        learner=_learner(output),
        stream=stream if alone else f"{stream} [{name}]",
        config=_options(output),
        seed=whole(output["model"].get("random_state")) if isinstance(output.get("model"), dict) else None,
        unit="fraction" if fraction else "raw",
        metric=name,
        notes=(
            f"scores are {in_words(name)}, in the order in which the concepts were learned",
            f"{lost} scores are '{_LOST}' (float32 in pyCLAD): left empty" if lost else None,
            f"left out, because never learned: {in_words(', '.join(sorted(elsewhere)), 200)}" if elsewhere else None,
            None if fraction else "scores outside 0 to 1: taken as they are (raw), higher is better",
        ),
    )
    return reconciled(run, _claims(callback), places=8)


# pyCLAD's names of its metrics, and the definitions that its code and its documents give.
_PRINTED = {
    "ContinualAverage": ("acc.continual_average",),
    "BackwardTransfer": ("bwt.pyclad_code", "bwt.diazrodriguez2018"),
    "ForwardTransfer": ("fwt.diazrodriguez2018",),
    "ForgettingMeasure": ("forgetting.pyclad_code",),
}


def _claims(callback: dict[str, Any]) -> list[Claim]:
    """The metrics that the file prints of this matrix; of those given after every concept, the last."""
    final, steps = (callback.get(key) for key in ("metrics", "stepwise_metrics"))
    printed = dict(final) if isinstance(final, dict) else {}
    for name, values in steps.items() if isinstance(steps, dict) else ():
        if isinstance(values, list) and values:
            printed.setdefault(name, values[-1])
    return [
        Claim(name, float(printed[name]), ids)
        for name, ids in _PRINTED.items()
        if isinstance(printed.get(name), int | float)
        and not isinstance(printed[name], bool)
        and abs(printed[name]) < 1e300
    ]


# pyCLAD's own name of the strategy that trains on everything seen so far.
_KEEPS_EVERYTHING = "Cumulative"


def _options(output: dict[str, Any]) -> dict[str, Any]:
    """The options of strategy and model; a buffer's fill is its state and no option."""
    found: dict[str, Any] = {}
    for part in ("strategy", "model"):
        if isinstance(output.get(part), dict):
            _flatten(part, output[part], found)
    ends = ("model.random_state", ".current_size", ".verbose", ".device")
    return {
        key: value
        for key, value in found.items()
        if value != _LOST and key not in ("strategy.name", "model.name") and not key.endswith(ends)
    }


def _flatten(prefix: str, value: Any, into: dict[str, Any], deep: int = 0) -> None:
    if isinstance(value, dict) and deep < 8:
        for key, part in value.items():
            _flatten(f"{prefix}.{in_words(str(key))}", part, into, deep + 1)
    elif isinstance(value, str | int | float | bool):
        into[prefix] = value
    elif isinstance(value, list):
        into[prefix] = in_words(str(value), 200)


def _name(output: dict[str, Any], key: str) -> str:
    part = output.get(key)
    return in_words(part["name"], 100) if isinstance(part, dict) and isinstance(part.get("name"), str) else "unknown"


def _learner(output: dict[str, Any]) -> str:
    """Strategy and model: the same strategy with another detector is another learner."""
    names = [name for name in (_name(output, "strategy"), _name(output, "model")) if name != "unknown"]
    return " ".join(names) or "unknown"
