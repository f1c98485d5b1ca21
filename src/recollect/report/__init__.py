"""From runs to what people read: tables of metrics over seeds, comparisons, gates, pages and figures.

Each module is imported by who needs it; a table of one file does not pay for the page.
"""
