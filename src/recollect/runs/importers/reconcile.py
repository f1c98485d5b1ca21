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

    `row` says that it is the value after that task, not the final one.
    """

    name: str
    value: float
    ids: tuple[str, ...]
    row: int | None = None


def reconciled(run: Run, claims: Sequence[Claim], places: int) -> Run:
    """The run with a note for each number that its file prints; `places` are the decimals of its scores."""
    if run.T * len(run.rows) > MOST_CELLS:
        said = "what the file prints of itself was not checked: the matrix is too large"
        return replace(run, notes=(*run.notes, said)) if claims else run
    notes = [said for said in (_judged(run, claim, places) for claim in claims) if said is not None]
    return replace(run, notes=(*run.notes, *notes)) if notes else run


def _judged(run: Run, claim: Claim, places: int) -> str | None:
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
