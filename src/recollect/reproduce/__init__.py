"""Papers computed again: their tables, figures and claims, each with a verdict.

Each module is imported by who needs it; the tables of a paper need numpy alone.
"""
