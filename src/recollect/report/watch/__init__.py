"""Experiments while they run: what is in the run folders, as a page of a local server or as a table in the terminal."""
