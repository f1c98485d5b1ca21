"""What a reader of a page would complain of, measured in the browser: text that overlaps or is cut, a page too wide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FAULTS = (Path(__file__).parent / "dom.js").read_text()


def faults(page: Any) -> list[str]:
    """Each fault in a sentence; the window is made as high as the page, so that every drawing is in view."""
    width = page.viewport_size["width"]
    for _ in range(3):  # drawings make the page higher
        height = min(30_000, page.evaluate("document.documentElement.scrollHeight"))
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(250)
    return list(page.evaluate(FAULTS))
