"""Formulas as MathML, made when the page is built: browsers draw it without a script."""

from __future__ import annotations

from functools import cache

from recollect.errors import MissingExtra


@cache
def mathml(latex: str) -> str:
    r"""A card's formula as a `<math>` element.

    >>> mathml(r"R_{kk}").startswith("<math")
    True
    """
    try:
        from latex2mathml.converter import convert
    except ModuleNotFoundError:
        raise MissingExtra.of("latex2mathml", "report") from None
    return str(convert(latex, display="block"))
