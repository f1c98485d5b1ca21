"""Numbers that a file prints about itself, checked against what was read from it.

A tool that writes scores often writes metrics beside them. Computed again from what was read, they prove the reading
and name the definition: "the file says BackwardTransfer -0.0850 = bwt.pyclad_code". A number that no definition gives
is a warning: the file was read wrongly, or is not what it says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recollect.errors import RecollectError
from recollect.runs.run import Run

WARNING = "warning: "
# Every definition is tried on a number that the expected ones do not give; of larger matrices that takes seconds.
MOST_CELLS = 20_000


@dataclass(frozen=True)
class Claim:
    """A number that a file prints: its name there, the value as a fraction, the definitions it is expected to be.

    `row` says that it is the value after that task, not the final one. A `quiet` one is spoken of if nothing gives it.
    """

    name: str
    value: float
    ids: tuple[str, ...]
    row: int | None = None
    quiet: bool = False


def reconciled(run: Run, claims: Sequence[Claim], places: int) -> Run:
    """The run with a note for each number that its file prints; `places` are the decimals of its scores."""
    if run.T * len(run.rows) > MOST_CELLS:
        said = "what the file prints of itself was not checked: the matrix is too large"
        return replace(run, notes=(*run.notes, said)) if claims else run
    notes = [said for said in (_judged(run, claim, places) for claim in claims) if said is not None]
    return replace(run, notes=(*run.notes, *notes)) if notes else run


def agreeing(run: Run, name: str, printed: Sequence[float], read: Sequence[float], slack: float) -> Run:
    """The run with a note on scores that another file prints of it: whether each is the one that was read."""
    if len(printed) == len(read) and all(abs(a - b) <= slack for a, b in zip(printed, read, strict=True)):
        said = f"{name}: all {len(printed)} scores that it prints are those that were read"
    elif len(printed) != len(read):
        said = f"{WARNING}{name}: it prints {len(printed)} scores, and {len(read)} were read; check the reading"
    else:
        apart = [(a, b) for a, b in zip(printed, read, strict=True) if not abs(a - b) <= slack]
        first = f"{apart[0][0]:.4f}, and {apart[0][1]:.4f} was read"
        said = f"{WARNING}{name}: {len(apart)} of {len(read)} scores differ (the first is {first}); check the reading"
    return replace(run, notes=(*run.notes, said))


def _judged(run: Run, claim: Claim, places: int) -> str | None:
    said = _verdict(run, claim, places)
    return None if claim.quiet and said is not None and not said.startswith(WARNING) else said


def _verdict(run: Run, claim: Claim, places: int) -> str | None:
    if not math.isfinite(claim.value):
        return None
    shown = f"the file says {claim.name} {claim.value:.4f}"
    # Half a unit for each of two scores in a difference, and for the number itself.
    slack = 3 * 0.5 * 10.0**-places + 1e-9
    lacking = None
    for id in claim.ids:
        value, why = _value(run, id, claim.row)
        if not math.isnan(value) and abs(value - claim.value) <= slack:
            return f"{shown} = {id}"
        lacking = lacking or (why if math.isnan(value) else None)
    if lacking is not None:
        return f"{shown}: not checked ({claim.ids[0]} {lacking})"
    others = [] if claim.row is not None else _others(run, claim.value, slack)
    if others:
        return f"{shown} = {others[0]}"
    return f"{WARNING}{shown}, and no definition gives that on the scores that were read; check the reading"


def _value(run: Run, id: str, row: int | None) -> tuple[float, str]:
    from recollect.metrics import evaluate, registry

    try:
        outcome = evaluate(run.matrix, registry.get(id), curve=row is not None)
    except RecollectError as error:
        return math.nan, str(error)
    if outcome.curve is not None and row is not None:
        return float(outcome.curve[row]), "has no value in that row"
    return float(outcome.value), outcome.reason or "has no value"


def _others(run: Run, value: float, slack: float) -> list[str]:
    """Definitions that give the value, its sign turned last."""
    from recollect.metrics import dialects

    found = [(one.id, float(np.mean(one.value))) for one in dialects(run.matrix)]
    plain = [id for id, computed in found if abs(computed - value) <= slack]
    turned = [f"{id} with its sign turned" for id, computed in found if abs(computed + value) <= slack and computed]
    return plain + turned
