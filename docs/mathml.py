"""A hook of mkdocs: formulas become MathML when the site is built, so that pages need no script and no network."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace ``$$ ... $$`` by MathML."""
    return re.sub(r"\$\$\n(.+?)\n\$\$", lambda m: convert(m[1], display="block"), markdown, flags=re.S)
