"""Runs as an index has them: what alike runs share once, the rest of each in one piece, the rows where they were.

An index holds complete, sealed, plain runs alone (see `packed`). Whatever is not in it is read from the run's folder
when it is asked for, and the last seal tells whether those are the rows that the numbers were made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.runs.alike import kind_of
from recollect.runs.codec import SCHEMA, header_from_json, own_fields
from recollect.runs.identity import Identity
from recollect.runs.packed import Layout, Packed, pack
from recollect.runs.reading import ROWS, read_rows
from recollect.runs.run import Run

# What differs between the seeds of one learner: at hand at once, and when it is asked for.
_AT_ONCE = ("seed", "created", "finished")
_LATER = ("seeds", "starts", "timings", "cost", "row_costs")
_OF_SEED = ("order", "start")


@dataclass(frozen=True)
class Entry:
    """A run in an index: three texts that it shares with others, and what is its own."""

    stream: bytes
    rest: bytes
    layout: bytes
    own: bytes
    later: bytes
    data: bytes


class IndexedRun(Run):
    """A run whose rows, costs and starts are read when they are asked for."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)  # `dataclasses.replace` makes a whole run


class _WhenAsked:
    """An attribute that is found out once; what is in the run's own `__dict__` goes before it."""

    def __init__(self, name: str, of: Callable[[Any], Any]) -> None:
        self._name, self._of = name, of

    def __get__(self, run: Any, kind: type) -> Any:
        if run is None:
            return self
        value = vars(run)[self._name] = self._of(run)
        return value


def entry_of(run: Run, header: Mapping[str, Any]) -> Entry | None:
    """What an index keeps of a run that was just read; None of a run that is no matter for an index."""
    kind = kind_of(run) if header.get("schema") == SCHEMA and run.status == "finished" else None
    packed = None if kind is None else pack(run, kind[0])
    if packed is None:
        return None
    identity = header.get("identity") or {}
    own = [*(header.get(name) for name in _AT_ONCE), *(identity.get(name, "") for name in _OF_SEED)]
    later = {name: header[name] for name in (*_LATER, "rows") if name in header}
    apart = {"seal", "rows", "stream", *_AT_ONCE, *_LATER}
    rest = {name: value for name, value in header.items() if name not in apart}
    if identity:
        rest["identity"] = {name: value for name, value in identity.items() if name not in _OF_SEED}
    texts = (header["stream"], rest, own, later)
    stream, shared, alone, asked = (json.dumps(part, separators=(",", ":")).encode() for part in texts)
    return Entry(stream, shared, packed.layout.text.encode(), alone, asked, packed.data)


def prototype(stream: bytes, rest: bytes) -> dict[str, Any]:
    """The attributes that runs with these texts share."""
    made = vars(header_from_json({**json.loads(rest), "stream": json.loads(stream)}))
    if made["identity"] is None:
        apart = {*_LATER, "rows", "path"}
    else:
        apart = {*_LATER, "rows", "path", "identity"}
        made["_identity"] = made["identity"]
    return {name: value for name, value in made.items() if name not in apart}


def indexed(place: str, shared: dict[str, Any], layout: Layout, own: bytes, later: bytes, data: bytes) -> Run:
    """The run of an entry; `shared` is its prototype."""
    run = object.__new__(IndexedRun)
    state = vars(run)
    state.update(shared)
    state["seed"], state["created"], state["finished"], order, start = json.loads(own)
    state["_packed"] = Packed(layout, data)
    state["_own"] = (place, later, order, start)
    return run


def _later(name: str) -> Callable[[Any], Any]:
    def of(run: Any) -> Any:
        told = own_fields(json.loads(run._own[1]))
        vars(run).update({each: told[each] for each in _LATER})
        return told[name]

    return of


def _rows(run: Any) -> Any:
    place, later = run._own[:2]
    try:
        read = read_rows(f"{place}/{ROWS}", run.metric, may_be_torn=False)
    except FileNotFoundError:
        read = None
    if read is None or json.loads(later)["rows"] != {"count": len(read.rows), "seal": read.seal}:
        raise UsageError(f"{place} was changed while it was being read. Give the command again.")
    return read.rows


def _identity(run: Any) -> Identity:
    shared: Identity = run._identity
    text = shared.shared  # worked out once for all seeds
    made = replace(shared, **dict(zip(_OF_SEED, run._own[2:], strict=True)))
    vars(made)["shared"] = text
    return made


for _name, _of in {
    "rows": _rows,
    "path": lambda run: Path(run._own[0]),
    "identity": _identity,
    **{name: _later(name) for name in _LATER},
}.items():
    setattr(IndexedRun, _name, _WhenAsked(_name, _of))
