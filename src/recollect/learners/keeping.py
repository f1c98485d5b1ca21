"""The state of somebody's object, for a checkpoint: as values where that is possible, else as a program.

A program is a pickle that may look up anything when it is read. It is read only from a checkpoint that this user's own
runs have signed (see `recollect.protocol.signing`): whoever restores a state asks `holds_program` first.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from recollect.errors import UsageError
from recollect.learners.base import Resumable, State
from recollect.learners.frozen import freeze, thaw

PROGRAM = "program"


def keep(thing: Any) -> State:
    """The object's own state, or its attributes as values, or a program that brings it back."""
    if isinstance(thing, Resumable):
        return {"own": thing.state()}
    if hasattr(thing, "__dict__"):
        return attributes_of(thing)
    return {PROGRAM: freeze(SimpleNamespace(thing=thing), is_signed=True)}


def attributes_of(thing: Any) -> State:
    """The object's attributes as values where that is possible, else as a program."""
    try:
        return {"pickled": freeze(thing)}
    except UsageError:
        return {PROGRAM: freeze(thing, is_signed=True)}


def give_attributes(thing: Any, state: State) -> None:
    """Make the object one with these attributes and no others."""
    is_signed = PROGRAM in state
    attributes = thaw(state[PROGRAM if is_signed else "pickled"], thing, is_signed)
    vars(thing).clear()
    vars(thing).update(attributes)


def bring_back(state: State, new: Any) -> Any:
    """The object whose state this is; `new` is one like it that has learned nothing."""
    if "own" in state:
        new.restore(state["own"])
    elif hasattr(new, "__dict__"):
        give_attributes(new, state)
    else:
        return thaw(state[PROGRAM], SimpleNamespace(), is_signed=True)["thing"]
    return new


def holds_program(state: Any) -> bool:
    """Whether something in a state is a program, wherever it stands.

    >>> holds_program({"detectors": [{"model": {"program": b""}}]}), holds_program({"model": {"pickled": b""}})
    (True, False)
    """
    if isinstance(state, dict):
        return PROGRAM in state or any(map(holds_program, state.values()))
    return isinstance(state, list | tuple) and any(map(holds_program, state))
