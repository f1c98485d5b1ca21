"""Formulas as MathML, made when the page is built: browsers draw it without a script."""

from __future__ import annotations

from functools import cache

from recollect.errors import MissingExtra


@cache
def mathml(latex: str) -> str:
    r"""A card's formula as a `<math>` element.

    >>> mathml(r"R_{kk}").startswith("<math")
    True
    >>> r"\arg" in mathml(r"p=\arg\max_{j}R_{lj}")
    False
    """
    try:
        from latex2mathml.converter import convert
    except ModuleNotFoundError:
        raise MissingExtra.of("latex2mathml", "report") from None
    # The converter does not know \arg, and sets its name.
    return str(convert(latex.replace(r"\arg\max", r"\mathrm{arg}\,\max"), display="block"))
