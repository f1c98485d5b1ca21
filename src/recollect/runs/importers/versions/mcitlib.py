"""MCITlib, CoIN, MLLM-CL: `Result.text` in one folder per checkpoint and data set."""

from __future__ import annotations

import re
from pathlib import Path

from recollect.runs.arrange import Choices
from recollect.runs.importers.files import cannot_read, find_files, head, in_words, is_folder, natural, read_text
from recollect.runs.importers.versions.assemble import runs_of
from recollect.runs.importers.versions.evaluation import Evaluation, Measured
from recollect.runs.run import Run

NAME = "mcitlib"
SUMMARY = "MCITlib, CoIN: folders with Result.text per checkpoint (task<k>) and data set"

_FILE = "Result.text"
_SCORE = re.compile(r"Samples:\s*([0-9]{1,12})\s*\n\s*Accuracy:\s*([0-9]{1,3}(?:\.[0-9]{1,30})?)\s*%")
_ROW = re.compile(r"(?:task|stage|step)[-_]?(\d{1,6})", re.IGNORECASE)


def sniff(path: Path) -> bool:
    """A `Result.text` with samples and accuracy, or a folder with one."""
    if is_folder(path):
        return any(sniff(file) for file in find_files(path, lambda name: name == _FILE))
    return path.name == _FILE and b"Accuracy" in head(path, 4096)


def read(path: Path) -> list[Run]:
    """The run of a folder: rows are checkpoints, columns data sets."""
    return runs_of(evaluations(path), path, NAME, Choices())


def evaluations(path: Path) -> list[Evaluation]:
    """One evaluation per checkpoint: the folder called `task<k>` says which, the other folder the data set."""
    files = list(find_files(path, lambda name: name == _FILE)) if is_folder(path) else [path]
    rows: dict[str, dict[str, Measured]] = {}
    steps: dict[str, int | None] = {}
    for file in sorted(files, key=lambda file: natural(str(file))):
        parts = file.absolute().parent.parts[len(path.absolute().parts) if is_folder(path) else -2 :]
        marked = [part for part in parts if _ROW.search(part)]
        row = marked[-1] if marked else (parts[0] if len(parts) > 1 else "model")
        column = next((part for part in reversed(parts) if part != row), parts[-1] if parts else "task")
        match = _SCORE.search(read_text(file, NAME))
        if match is None:
            raise cannot_read(file, NAME, "'Samples: <n>' and 'Accuracy: <p>%' are expected. Is it whole?")
        if column in rows.setdefault(in_words(row, 200), {}):
            raise cannot_read(file, NAME, f"two files are of {row} on {column}.")
        rows[in_words(row, 200)][in_words(column, 200)] = Measured(float(match[2]), int(match[1]))
        found = _ROW.search(row)
        steps[in_words(row, 200)] = int(found[1]) if found else None
    return [
        Evaluation(
            path=path,
            model=row,
            family=path.absolute().name,
            step=steps[row],
            scores={task: {"accuracy": cell} for task, cell in columns.items()},
            units={"accuracy": "percent"},
        )
        for row, columns in rows.items()
    ]
