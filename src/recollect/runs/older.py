"""What older records did not say, and how they said the rest: schema 1, and lines whose targets had no names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.runs.scenarios import SCENARIOS, UNSAID

# The learners that were not contestants when schema 1 was written.
_ROLES = {"joint_incremental": "joint", "joint_final": "reference", "cumulative": "reference", "random": "floor"}
# What was asked where records name a tool and not the problem.
_ASKED_BY = {"pyclad": "detection"}
# The targets of a problem when records did not name them: proportions, of which more is better.
_TARGETS = {"detection": ("roc_auc", "average_precision", "f1")}
_NUMBERS = frozenset((int, float, type(None)))
_SIDES = {"older", "own", "newer"}


def from_schema_1(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header as schema 2 has it; a labelled learner has its name in its configuration.

    >>> lifted = from_schema_1({"schema": 1, "learner": "all-lof", "learner_config": {"learner": "cumulative"},
    ...                         "stream": {"scenario": "concept-aware"}})
    >>> lifted["problem"], lifted["role"]
    ('detection', 'reference')
    """
    stream, source, config = (_mapping(header.get(key)) for key in ("stream", "source", "learner_config"))
    scenario = SCENARIOS.get(str(stream.get("scenario")))
    problem = _ASKED_BY.get(str(source.get("tool")), UNSAID if scenario is None else scenario.problem)
    role = _ROLES.get(str(config.get("learner", header.get("learner"))), "contestant")
    return {**header, "schema": 2, "problem": problem, "role": role}


def with_targets(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header with the further targets that its rows may have scores of."""
    others = [name for name in _TARGETS.get(str(header.get("problem")), ()) if name != header.get("metric")]
    return {**header, "targets": [{"name": name, "unit": "fraction", "higher_is_better": True} for name in others]}


def lift_line(line: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """A row of `score` and `extra` as rows are written now; what nothing ever read stays, as notes.

    >>> beside = {"scores": {"f1": [0.5]}, "state": "ab", "seconds": 2}
    >>> lift_line({"after": 0, "score": [0.9], "extra": beside}, "roc_auc")
    {'after': 0, 'scores': {'roc_auc': [0.9], 'f1': [0.5]}, 'state': 'ab', 'notes': {'seconds': 2}}
    """
    lifted = {key: value for key, value in line.items() if key not in ("score", "extra")}
    notes = dict(line.get("extra") or {})
    scores = {} if line.get("score") is None else {metric: line["score"]}
    if "scores" in notes and _is_columns(notes["scores"]):
        scores |= {name: values for name, values in notes.pop("scores").items() if name not in scores}
    if scores:
        lifted["scores"] = scores
    if "errors" in notes and _is_columns(notes["errors"]) and notes["errors"].keys() == _SIDES:
        lifted["errors"] = notes.pop("errors")
    if "standard_error" in notes and _is_columns({"": notes["standard_error"]}):
        lifted["standard_error"] = notes.pop("standard_error")
    reasons = _mapping(notes.get("reasons")) if "reasons" in notes else {}
    if reasons and all(isinstance(text, str) for text in reasons.values()):
        lifted["reasons"] = {metric: notes.pop("reasons")}
    for key in ("reason", "state"):
        if isinstance(notes.get(key), str):
            lifted[key] = notes.pop(key)
    return {**lifted, "notes": notes} if notes else lifted


def _is_columns(value: Any) -> bool:
    """Lists of numbers by name; a line that others recorded may hold anything here."""
    if type(value) is not dict:
        return False
    for column in value.values():
        if type(column) is not list or not _NUMBERS.issuperset(map(type, column)):
            return False
    return True


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
