"""The report as one self-contained HTML page."""

from recollect.report.page.builder import build_page

__all__ = ["build_page"]
