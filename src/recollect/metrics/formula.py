r"""A card's LaTeX formula as one line of text, for the terminal."""

from __future__ import annotations

import re

_WORDS = {
    "sum": "Σ",
    "arg": "arg ",
    "le": "≤",
    "in": "∈",
    "quad": " ",
} | dict.fromkeys(("left", "right", "mathcal", "mathrm"), "")


def readable(latex: str) -> str:
    r"""Turn the LaTeX of our cards into text: fractions as a/b, words for commands.

    >>> readable(r"\frac{1}{k}\sum_{j<k}\left(\max_{j\le l<k}R_{lj}-R_{kj}\right)")
    '1/k Σ_{j<k} (max_{j≤l<k} R_{lj} - R_{kj})'
    """
    text = re.sub(r"\\overline\{(\w)\}", "\\1\N{COMBINING MACRON}", _fractions(latex))
    text = re.sub(r"\\([a-zA-Z]+) ?", lambda found: _WORDS.get(found[1], found[1]), text)
    text = re.sub(r"\{([A-Za-z]|[A-Za-z]{3,})\}|(?<![_^\w])\{(\w+)\}", r"\1\2", text)
    text = re.sub(r"((?:Σ|max|min)(?:_\{[^}]*\}|_.)?)", r"\1 ", text)
    text = re.sub(r"(?<=[\w)}])(Σ|max)", r" \1", text)
    text = re.sub(r"(?<=[\w)}|])-(?=[\w(|])(?![^{]*\})", " - ", text)
    return re.sub(r" +", " ", text).replace("( ", "(").replace(" )", ")").strip()


def _fractions(text: str) -> str:
    while (start := text.find(r"\frac{")) >= 0:
        top, after = _braced(text, start + 5)
        bottom, end = _braced(text, after)
        text = f"{text[:start]}{_grouped(top)}/{_grouped(bottom)}{text[end:]}"
    return text


def _braced(text: str, at: int) -> tuple[str, int]:
    depth = 0
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[at + 1 : place], place + 1
    raise ValueError(f"a brace is not closed in {text!r}")


def _grouped(part: str) -> str:
    return part if re.fullmatch(r"\w+|\\mathrm\{\w+\}_.|\w_(?:\w|\{\w+\})", part) else f"({part})"
