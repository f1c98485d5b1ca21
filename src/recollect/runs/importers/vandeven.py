"""Van de Ven's continual-learning: a pickled dictionary of accuracies per context over time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollect.runs.importers.build import check_size, make_run, named, number, whole
from recollect.runs.importers.files import cannot_read, in_words, natural
from recollect.runs.importers.pickles import load_dict, may_hold
from recollect.runs.run import ACCURACY, Row, Run
from recollect.runs.timeline import ends_among

NAME = "vandeven"
SUMMARY = "van de Ven's continual-learning: dict-*.pkl with 'acc per context' over iterations"


def sniff(path: Path) -> bool:
    """A pickle with a key `acc per context`."""
    return may_hold(path, "acc per context")


def read(path: Path) -> list[Run]:
    """The run of one file. Of several evaluations of a context, the last is its end."""
    results = load_dict(path, NAME)
    columns = results.get("acc per context")
    if not isinstance(columns, dict) or not columns:
        raise cannot_read(path, NAME, "'acc per context' is not a dictionary with a list for each context.")
    # As strings, 'context 10' would come before 'context 2'.
    names = sorted(columns, key=lambda name: natural(str(name)))
    T = len(names)
    lengths = {len(columns[name]) if isinstance(columns[name], list | tuple) else -1 for name in names}
    if len(lengths) != 1 or lengths & {-1, 0}:
        raise cannot_read(path, NAME, "the contexts do not have lists of one common length.")
    S = lengths.pop()
    check_size(path, NAME, S, T)
    contexts = _whole_numbers(path, results, "x_context", S)
    iterations = _whole_numbers(path, results, "x_iteration", S) if "x_iteration" in results else [None] * S
    if contexts is None:
        raise cannot_read(path, NAME, "it has no 'x_context': which context each evaluation followed is not known.")
    task_free = S > 1 and set(contexts) == {T} and T > 1
    rows = []
    for i, context in enumerate(contexts):
        if not 1 <= context <= T or (i and context < contexts[i - 1]):
            raise cannot_read(path, NAME, f"x_context must rise from 1 to {T}; it says {context} at place {i}.")
        ends = i + 1 == S or contexts[i + 1] != context
        try:
            # A context that has not come yet was not evaluated; the tool writes 0 there.
            score = tuple(number(columns[name][i]) if j < context else None for j, name in enumerate(names))
        except ValueError as error:
            raise cannot_read(path, NAME, f"{error}.") from None
        after = context - 1 if ends else context - 2
        notes = {} if iterations is None or iterations[i] is None else {"iteration": iterations[i]}
        rows.append(Row(-1 if task_free and not ends else after, task_end=ends, scores={ACCURACY: score}, notes=notes))
    learner, stream, scenario = _names(path)
    run = make_run(
        path,
        NAME,
        rows=rows,
        tasks=named(names),
        learner=learner,
        guessed=path.stem if learner == path.stem else None,
        stream=stream,
        scenario=scenario,
        unit="fraction",
        seen_only=not task_free,
        complete=not task_free and len(ends_among(rows)) == T,
        notes=(
            "contexts that had not come yet are written as 0: left empty",
            "x_iteration counts iterations, not samples; it is kept beside each row",
            "task-free stream: every context is evaluated each time, and none has an end of its own"
            if task_free
            else None,
        ),
    )
    return [run]


def _whole_numbers(path: Path, results: Any, key: str, S: int) -> list[int] | None:
    values = results.get(key)
    if values is None:
        return None
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != S:
        raise cannot_read(path, NAME, f"'{key}' is not a list of {S} numbers, one for each evaluation.")
    numbers = [whole(value) for value in values]
    if any(n is None for n in numbers):
        raise cannot_read(path, NAME, f"'{key}' holds {in_words(values[numbers.index(None)])}, not a whole number.")
    return [n for n in numbers if n is not None]


def _names(path: Path) -> tuple[str, str, str | None]:
    """Data set and scenario of `dict-splitMNIST5-class--...`; the rest of the name tells the learner."""
    found = re.match(r"dict-(?P<data>[A-Za-z0-9]+)-(?P<scenario>task|domain|class)(?:--(?P<rest>.*))?$", path.stem)
    if not found:
        return path.stem, "unknown", None
    return found["rest"] or path.stem, found["data"], f"{found['scenario']}-incremental"
