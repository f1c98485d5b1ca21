"""``recollect identify``: which definition gives this published number?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from recollect.cli import options, output
from recollect.errors import NotComputable
from recollect.metrics import identify as find
from recollect.metrics import registry
from recollect.metrics.formula import readable
from recollect.report.words import shown
from recollect.text import Table


@options.takes_inputs
def identify(
    paths: options.Paths,
    value: Annotated[str, typer.Option("--value", help="The published number, with the digits it was printed with.")],
    digits: Annotated[
        int | None, typer.Option("--digits", min=0, max=15, help="Printed decimals, where trailing zeros were cut.")
    ] = None,
    family: Annotated[str, typer.Option("--family", "-f", "--metric", "-m", help="Look in one family only.")] = "all",
    reference: options.Reference = "uniform",
    as_json: options.AsJson = False,
    *,
    inputs: options.Inputs,
) -> None:
    """Name the definitions that give a published number on this matrix; exit 1 if none does.

    The number is tried as a fraction and as percent, as it is and with its sign turned. Several seeds: their mean.

    Example: recollect identify results.csv --value 15.0
    """
    groups = inputs.groups(paths)
    # The default reference is no wish: a family without one is looked through as it is.
    takes = {name for metric in registry.resolve(family) for name in metric.card.parameters}
    given = {"reference": options.read_reference(reference)} if reference != "uniform" or "reference" in takes else {}
    rows, data = [], []
    for group in groups:
        for match in find(group.matrix, value, digits, family, **given):
            how = " and ".join(
                said for said, on in (("in percent", match.percent), ("with the sign turned", match.sign_turned)) if on
            )
            card = registry.get(match.id).card
            rows.append((group.learner, match.id, shown(match.value, 6), how, readable(card.latex)))
            data.append({"learner": group.learner, "stream": group.stream, **asdict(match)})
    if as_json:
        output.show_json(data)
    elif rows:
        output.show(Table(("learner", "id", "value", "printed", "formula"), tuple(rows), right=(2,)))
    if not data:
        raise NotComputable(f"none: no definition gives {value} on this matrix, as a fraction or in percent.")
