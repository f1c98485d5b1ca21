"""GEM's results: a text file with the untrained scores, a bar, and a row of scores after each task."""

from __future__ import annotations

import re
from pathlib import Path

from recollect.inputs import plain_number
from recollect.runs.importers.build import Score, check_size, matrix_run, number
from recollect.runs.importers.files import cannot_read, head_lines, in_words, read_text
from recollect.runs.importers.reconcile import Claim, reconciled
from recollect.runs.run import Run

NAME = "gem"
SUMMARY = "GEM (GradientEpisodicMemory): <model>_<data>.pt_<date>_<id>.txt"


def sniff(path: Path) -> bool:
    """A line that is only a bar, after one line of numbers."""
    lines = [line.strip() for line in head_lines(path) if line.strip()][:2]
    return len(lines) == 2 and lines[1] == "|" and _is_row(lines[0])


def read(path: Path) -> list[Run]:
    """The run of one file: the row above the bar is the untrained learner's."""
    lines = read_text(path, NAME).split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    if len(lines) < 2 or lines[1].strip() != "|":
        raise cannot_read(path, NAME, "its second line is not the bar '|' that follows the untrained scores.")
    untrained = _row(path, lines[0])
    body = []
    rest = lines[2:]
    while rest and rest[0].strip():
        body.append(_row(path, rest.pop(0)))
    check_size(path, NAME, len(body), len(untrained))
    for i, row in enumerate(body):
        if len(row) != len(untrained):
            raise cannot_read(
                path,
                NAME,
                f"row {i} has {len(row)} scores, the untrained row has {len(untrained)}. Is the file whole?",
            )
    if len(body) > len(untrained):
        raise cannot_read(
            path,
            NAME,
            f"it has {len(body)} rows for {len(untrained)} tasks: a task was visited more than once.",
        )
    learner, stream = _names(path)
    run = matrix_run(
        path,
        NAME,
        body,
        untrained=untrained,
        learner=learner,
        guessed=path.stem if learner == path.stem else None,
        stream=stream,
        unit="fraction",
        notes=(
            "the row above the bar is the learner before any training",
            "scores have the 4 decimals that GEM prints",
        ),
    )
    return [reconciled(run, _claims(rest), places=4)]


def _is_row(line: str) -> bool:
    return bool(re.fullmatch(r"[\s\d.+\-enaif]+", line, re.ASCII)) and any(c.isdigit() for c in line)


def _row(path: Path, line: str) -> list[Score]:
    try:
        return [number(plain_number(word)) for word in line.split()]
    except ValueError:
        raise cannot_read(path, NAME, f"'{in_words(line)}' is not a row of numbers separated by blanks.") from None


def _names(path: Path) -> tuple[str, str]:
    """Model and data file of the file's name, `<model>_<data>.pt_<date>_<id>.txt`."""
    found = re.match(r"(?P<model>[a-z]+)_(?P<data>.+?)\.pt_\d{4}_", path.name)
    return (found["model"], found["data"]) if found else (path.stem, "unknown")


_PRINTED = {
    "Final Accuracy": ("acc.average",),
    "Backward": ("bwt.gem_code", "bwt.lopezpaz2017"),
    "Forward": ("fwt.begin_docs", "fwt.lopezpaz2017"),
}


def _claims(summary: list[str]) -> list[Claim]:
    """The three numbers below the matrix."""
    found = {
        match[1]: float(match[2])
        for line in summary
        if (match := re.match(r"\s*(Final Accuracy|Backward|Forward)\s*:\s*(-?[0-9]+\.[0-9]+)\s*$", line))
    }
    return [Claim(name, value, _PRINTED[name]) for name, value in found.items()]
