"""Runs and rows as JSON, and back: the schema of the record.

Fields that hold nothing are left out, so a record is short and a later schema can add to it. Each version of
the schema that was ever written is read for ever: an older one is lifted step by step in `_LIFT`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.runs.identity import Identity
from recollect.runs.older import from_schema_1, lift_line, with_targets
from recollect.runs.run import ACCURACY, Measure, Online, Plan, Row, Run, Source, Start, Task
from recollect.runs.seeds import Seeds
from recollect.runs.timeline import RowFacts

SCHEMA = 2

# From version to the function that lifts a header to the next version.
_LIFT: dict[int, Any] = {1: from_schema_1}

_NUMBERS: frozenset[type] = frozenset((int, float, type(None)))
_COUNTS: frozenset[type] = frozenset((int, type(None)))
_last_tasks: tuple[Any, tuple[Task, ...]] = ([], ())
_COUNT_LIMIT = 2**53  # counts become float64


def header_to_json(run: Run) -> dict[str, Any]:
    """All of a run but its rows, ready for `json.dumps`."""
    stream = {
        "name": run.stream,
        "scenario": run.scenario,
        "online": run.online,
        "data_hash": run.data_hash,
        "fingerprint": run.fingerprint,
        "tasks": [_task_to_json(task) for task in run.tasks],
    }
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "status": run.status,
        "experiment": run.experiment,
        "planned_seeds": list(run.planned_seeds),
        "tuning": dict(run.tuning),
        "learner": run.learner,
        "learner_config": dict(run.learner_config),
        "identity": None if run.identity is None else run.identity.to_json(),
        "role": run.role,
        "joint_learner": run.joint_learner,
        "problem": run.problem,
        "stream": _filled(stream),
        "seed": run.seed,
        "seeds": None if run.seeds is None else asdict(run.seeds),
        "metric": run.metric,
        "unit": run.unit,
        "higher_is_better": run.higher_is_better,
        "targets": [asdict(target) for target in run.targets],
        "plan": _filled(asdict(run.plan)),
        "learned_at": None if run.learned_at is None else sorted(run.learned_at.items()),
        "row_facts": None if run.row_facts is None else run.row_facts.to_json(),
        "visits": [list(visit) for visit in run.visits],
        "created": run.created,
        "finished": run.finished,
        "timings": dict(run.timings),
        "cost": dict(run.cost),
        "row_costs": [dict(one) for one in run.row_costs],
        "versions": dict(run.versions),
        "revision": run.revision,
        "starts": [_filled(asdict(start)) for start in run.starts],
        "source": None if run.source is None else _filled(asdict(run.source)),
        "notes": list(run.notes),
        "error": run.error,
    }
    empty: tuple[Any, ...] = (None, {}, [])
    # That no task was ever learned is not that nothing is known of it.
    told = {"targets", *(("learned_at",) if run.learned_at is not None else ())}
    return {key: value for key, value in header.items() if value not in empty or key in told}


def header_from_json(data: Any, rows: tuple[Row, ...] = (), path: Path | None = None) -> Run:
    """The run that `header_to_json` described.

    Raises UsageError on a newer schema and on anything that is not a run.
    """
    data = lift(data)
    try:
        stream = data["stream"]
        learned_at, facts, source = data.get("learned_at"), data.get("row_facts"), data.get("source")
        return Run(
            learner=_text(data["learner"]),
            stream=_text(stream["name"]),
            tasks=_tasks(stream["tasks"]),
            rows=rows,
            learner_config=_mapping(data.get("learner_config")),
            identity=None if data.get("identity") is None else Identity.from_json(data["identity"]),
            role=data["role"],
            problem=_text(data["problem"]),
            scenario=stream.get("scenario"),
            online=stream.get("online"),
            experiment=_text_or_none(data.get("experiment")),
            planned_seeds=tuple(map(_whole, data.get("planned_seeds", ()))),
            tuning=_mapping(data.get("tuning")),
            metric=_text(data.get("metric", ACCURACY)),
            unit=data.get("unit", "fraction"),
            higher_is_better=bool(data.get("higher_is_better", True)),
            targets=tuple(Measure(**target) for target in data.get("targets", ())),
            plan=_plan(data.get("plan")),
            learned_at=None if learned_at is None else {_whole(t): _whole(r) for t, r in learned_at},
            row_facts=None if facts is None else RowFacts(*(tuple(map(_whole, facts[k])) for k in ("own", "inside"))),
            visits=tuple((_whole(step), _whole(task)) for step, task in data.get("visits", ())),
            data_hash=_text_or_none(stream.get("data_hash")),
            status=data.get("status", "finished"),
            error=_text_or_none(data.get("error")),
            joint_learner=_text_or_none(data.get("joint_learner")),
            versions=_mapping(data.get("versions")),
            revision=_text_or_none(data.get("revision")),
            source=None if source is None else Source(**source),
            notes=tuple(map(_text, data.get("notes", ()))),
            path=path,
            **own_fields(data),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"it is not a run header as version {SCHEMA} describes it ({_reason(error)}).") from None


def own_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """What one run alone says of itself, when it was made and what it cost: it differs between runs that are alike."""
    seeds = data.get("seeds")
    return {
        "seed": _whole_or_none(data.get("seed")),
        "seeds": None if seeds is None else Seeds(**seeds),
        "starts": tuple(_start(start) for start in data.get("starts", ())),
        "created": _text_or_none(data.get("created")),
        "finished": _text_or_none(data.get("finished")),
        "timings": _mapping(data.get("timings")),
        "cost": _mapping(data.get("cost")),
        "row_costs": tuple(map(_mapping, data.get("row_costs", ()))),
    }


def lift(data: Any) -> dict[str, Any]:
    """Check the schema version of a header and bring an old one up to date."""
    version = data.get("schema") if isinstance(data, dict) else None
    if type(version) is not int or version < 1:
        raise UsageError('it is not a run of Recollect: an object with a "schema" is expected.')
    if version > SCHEMA:
        raise UsageError(
            f"it was written by a newer Recollect (schema {version}; this one reads up to {SCHEMA})."
            " Install a newer version: pip install -U recollect"
        )
    for old in range(version, SCHEMA):
        data = _LIFT[old](data)
    return dict(data) if "targets" in data else with_targets(data)


def row_to_json(row: Row) -> dict[str, Any]:
    """One line of rows.jsonl.

    >>> row_to_json(Row(0, step=100, scores={"accuracy": (0.5, None)}))
    {'after': 0, 'step': 100, 'scores': {'accuracy': [0.5, None]}}
    """
    line: dict[str, Any] = {"after": row.after}
    if row.step is not None:
        line["step"] = row.step
    if not row.task_end:
        line["task_end"] = False
    if row.scores:
        line["scores"] = {name: [_finite(v, name) for v in values] for name, values in row.scores.items()}
    for key in ("correct", "n", "masked", "joint", "standard_error"):
        values = getattr(row, key)
        if values is not None:
            line[key] = [_finite(value, key) for value in values]
    if row.restricted is not None:
        line["restricted"] = [list(counts) for counts in row.restricted]
    if row.errors:
        line["errors"] = {side: [_finite(v, side) for v in counts] for side, counts in row.errors.items()}
    if row.reasons:
        line["reasons"] = {target: dict(reasons) for target, reasons in row.reasons.items()}
    for key in ("reason", "state", "name", "items", "confusion"):
        if getattr(row, key) is not None:
            line[key] = getattr(row, key)
    if row.pooled is not None:
        line["pooled"] = _finite(row.pooled, "pooled")
    if row.online is not None:
        line["online"] = _online_to_json(row.online)
    if row.signals:
        line["signals"] = list(row.signals)
    if row.notes:
        line["notes"] = dict(row.notes)
    return line


def row_from_json(line: Any, metric: str) -> Row:
    """The row that `row_to_json` described; ValueError or TypeError if it is none.

    `metric` is the run's own target: rows that were written before targets had names are lifted with it.
    This is the hot loop of reading a thousand runs: one look at the types of each list, no loop over values.

    >>> row_from_json({"after": 0, "scores": {"accuracy": [0.5, None]}}, "accuracy").scores
    {'accuracy': (0.5, None)}
    """
    if type(line) is not dict or type(line.get("after")) is not int:
        raise ValueError('a row is an object with a whole number "after"')
    if "score" in line or "extra" in line:
        line = lift_line(line, metric)
    given = {name: _FIELDS[name](value) for name, value in line.items() if value is not None and name in _FIELDS}
    row = object.__new__(Row)  # as `Row(**given)` makes it, in a third of the time
    state = vars(row)
    state.update(_PLAIN)
    for name in _MAPPINGS:
        state[name] = {}
    state.update(given)
    return row


def _numbers(values: Any) -> dict[str, tuple[Any, ...]]:
    return {name: _tuple(of, name, _NUMBERS) for name, of in _mapping(values).items()}


def _counts(values: Any) -> dict[str, tuple[Any, ...]]:
    return {name: _tuple(of, name, _COUNTS) for name, of in _mapping(values).items()}


def _online_to_json(online: Online) -> dict[str, Any]:
    line: dict[str, Any] = {"n": online.n}
    if online.unscored:
        line["unscored"] = online.unscored
    if online.scores:
        line["scores"] = {
            name: None if value is None else _finite(value, name) for name, value in online.scores.items()
        }
    if online.reasons:
        line["reasons"] = dict(online.reasons)
    if online.steps:
        line["steps"] = list(online.steps)
        for key in ("sliding", "fading"):
            line[key] = {name: [_finite(v, name) for v in values] for name, values in getattr(online, key).items()}
    return line


def _online(data: Any) -> Online:
    line = _mapping(data)
    curves = {
        key: {name: _tuple(values, name, _NUMBERS) for name, values in _mapping(line.get(key)).items()}
        for key in ("sliding", "fading")
    }
    steps = tuple(map(_whole, line.get("steps", ())))
    if any(len(values) != len(steps) for curve in curves.values() for values in curve.values()):
        raise ValueError("the scores over time of a row have one value per step")
    return Online(
        _whole(line["n"]),
        {name: _number_or_none(value) for name, value in _mapping(line.get("scores")).items()},
        _texts(line.get("reasons")),
        _whole(line.get("unscored", 0)),
        steps,
        **curves,
    )


def _texts(values: Any) -> dict[str, str]:
    return {name: _text(value) for name, value in _mapping(values).items()}


def _text_tables(values: Any) -> dict[str, dict[str, str]]:
    return {name: _texts(of) for name, of in _mapping(values).items()}


def _number_or_none(value: Any) -> float | None:
    if type(value) not in _NUMBERS:
        raise ValueError(f"a score of a row is a number; got {str(value)[:40]}")
    return None if value is None else float(value)


def _tuple(values: Any, name: str, allowed: frozenset[type]) -> tuple[Any, ...]:
    if type(values) is not list or not allowed.issuperset(map(type, values)):
        kind = "numbers" if float in allowed else "whole numbers"
        raise ValueError(f'"{name}" is a list of {kind} or null')
    return tuple(values)


def _table(values: Any) -> tuple[tuple[int | None, ...], ...]:
    # A text or an object among the lists shows by the type of what it holds.
    if type(values) is not list or not _COUNTS.issuperset(map(type, chain.from_iterable(values))):
        raise ValueError('"restricted" is a list of lists of whole numbers or null')
    return tuple(map(tuple, values))


def _finite(value: float | None, name: str) -> float | None:
    """NaN is "not evaluated", which JSON writes as null; infinity is no score."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value) or abs(value) > _COUNT_LIMIT:
        raise UsageError(f"A {name} is a finite number below 2**53, or NaN if not evaluated; got {value}.")
    return value


def _task_to_json(task: Task) -> dict[str, Any]:
    return {key: value for key, value in asdict(task).items() if value is not None and value is not False}


def _tasks(data: Any) -> tuple[Task, ...]:
    """The tasks of a stream; runs of one experiment, read one after the other, share them."""
    global _last_tasks
    known, tasks = _last_tasks
    if data != known:
        tasks = tuple(map(_task, data))
        _last_tasks = (data, tasks)
    return tasks


def _task(data: Mapping[str, Any]) -> Task:
    classes, counts = data.get("classes"), data.get("class_counts")
    return Task(
        _text(data["name"]),
        _whole_or_none(data.get("n_classes")),
        _whole_or_none(data.get("n_samples")),
        None if classes is None else tuple(classes),
        None if counts is None else tuple(map(_whole, counts)),
        data.get("held_out", False) is True,
    )


def _start(data: Mapping[str, Any]) -> Start:
    return Start(
        _text(data["at"]),
        _whole(data.get("rows", 0)),
        _mapping(data.get("versions")),
        _text_or_none(data.get("revision")),
    )


def _plan(data: Mapping[str, Any] | None) -> Plan:
    if data is None:
        return Plan()
    rows = data.get("rows")
    return Plan(
        None if rows is None else tuple(map(_whole, rows)),
        data.get("columns", "all"),
        _whole_or_none(data.get("every")),
        _whole_or_none(data.get("subsample")),
        _whole_or_none(data.get("online")),
        _number_or_none(data.get("fading")),
        _whole_or_none(data.get("probe")),
        True if data.get("items") is True else None,
        True if data.get("confusion") is True else None,
    )


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"a text was expected, not {str(value)[:40]!r}")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"a whole number was expected, not {str(value)[:40]!r}")
    return value


def _whole_or_none(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _mapping(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if type(value) is not dict:
        raise ValueError(f"an object was expected, not {str(value)[:40]!r}")
    return value


def _filled(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def _reason(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)


# How each field of a row is read; fields that a line does not have are what `Row` says.
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "after": _whole,
    "step": _whole,
    "task_end": lambda value: value is not False,
    "scores": _numbers,
    "correct": lambda values: _tuple(values, "correct", _COUNTS),
    "n": lambda values: _tuple(values, "n", _COUNTS),
    "restricted": _table,
    "masked": lambda values: _tuple(values, "masked", _COUNTS),
    "joint": lambda values: _tuple(values, "joint", _NUMBERS),
    "errors": _counts,
    "standard_error": lambda values: _tuple(values, "standard_error", _NUMBERS),
    "reasons": _text_tables,
    "reason": _text_or_none,
    "state": _text_or_none,
    "notes": _mapping,
    "name": _text_or_none,
    "pooled": _number_or_none,
    "online": _online,
    "signals": lambda values: tuple(map(_whole, values)),
    "items": _text_or_none,
    "confusion": _text_or_none,
}
# What a row has where its line says nothing: as `Row` says, in the order of its fields.
_PLAIN = {field.name: field.default for field in fields(Row)}
_MAPPINGS = [field.name for field in fields(Row) if field.default_factory is dict]
