"""What records of schema 1 did not say: the problem, and what the learner is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.runs.run import SCENARIOS

# The learners that were not contestants when schema 1 was written.
_ROLES = {"joint_incremental": "joint", "joint_final": "reference", "cumulative": "reference", "random": "floor"}


def from_schema_1(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header as schema 2 has it; a labelled learner has its name in its configuration.

    >>> lifted = from_schema_1({"schema": 1, "learner": "all-lof", "learner_config": {"learner": "cumulative"},
    ...                         "stream": {"scenario": "concept-aware"}})
    >>> lifted["problem"], lifted["role"]
    ('detection', 'reference')
    """
    stream, source, config = (_mapping(header.get(key)) for key in ("stream", "source", "learner_config"))
    problem = "detection" if source.get("tool") == "pyclad" else SCENARIOS.get(stream.get("scenario"), "classification")
    role = _ROLES.get(str(config.get("learner", header.get("learner"))), "contestant")
    return {**header, "schema": 2, "problem": problem, "role": role}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
