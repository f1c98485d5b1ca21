"""FACIL: `<experiment>/results/acc_taw-<date>.txt` and `acc_tag-<date>.txt`, written by numpy.savetxt.

`taw` answers among the task's own classes (task-aware), `tag` among all (task-agnostic). Only tasks seen so far are
evaluated; the zeros above the diagonal are "not evaluated".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.inputs import plain_number
from recollect.runs.importers.build import Matrix, check_size, make_run, named, number, task_rows, whole
from recollect.runs.importers.files import cannot_read, in_words, is_folder, load_json, read_text
from recollect.runs.importers.reconcile import Claim, reconciled
from recollect.runs.run import Run

NAME = "facil"
SUMMARY = "FACIL: results/acc_taw-<date>.txt and acc_tag-<date>.txt (an experiment's folder too)"

_FILE = re.compile(r"acc_(?P<kind>taw|tag)(?P<date>-.*)?\.txt")
_KINDS = {"taw": ("task-incremental", "task-aware"), "tag": ("class-incremental", "task-agnostic")}


def sniff(path: Path) -> bool:
    """A file of that name, or an experiment's folder whose results hold one."""
    return bool(_files(path))


def read(path: Path) -> list[Run]:
    """A run for each accuracy file: task-aware and task-agnostic."""
    files = _files(path)
    if not files:
        raise cannot_read(path, NAME, "there is no acc_taw-<date>.txt or acc_tag-<date>.txt in its results.")
    return [_read(file) for file in files]


def _files(path: Path) -> list[Path]:
    if not is_folder(path):
        return [path] if _FILE.fullmatch(path.name) else []
    places = [path, path / "results"]
    found = (file for place in places if is_folder(place) for file in sorted(place.glob("acc_ta[wg]*.txt")))
    return [file for file in found if _FILE.fullmatch(file.name)]


def _read(path: Path) -> Run:
    match = _FILE.fullmatch(path.name)
    if match is None:
        raise cannot_read(path, NAME, "it is not called acc_taw-<date>.txt or acc_tag-<date>.txt.")
    table = _table(path)
    T = len(table)
    if any(cell not in (0, None) for i, row in enumerate(table) for cell in row[i + 1 :]):
        raise cannot_read(
            path, NAME, "it has scores above the diagonal, and FACIL evaluates the tasks seen so far only."
        )
    cells: Matrix = [[*row[: i + 1], *[None] * (T - i - 1)] for i, row in enumerate(table)]
    # A run that was stopped leaves rows of zeros.
    done = max((i + 1 for i, row in enumerate(table) if any(row[: i + 1])), default=0)
    arguments = _arguments(path, match["date"] or "")
    approach, seed = arguments.get("approach"), whole(arguments.get("seed"))
    learner = approach if isinstance(approach, str) else path.absolute().parent.parent.name
    scenario, said = _KINDS[match["kind"]]
    datasets = arguments.get("datasets")
    stream = "+".join(map(str, datasets)) if isinstance(datasets, list) else "unknown"
    run = make_run(
        path,
        NAME,
        rows=task_rows(cells[:done]),
        tasks=named(T),
        learner=learner,
        guessed=None if isinstance(approach, str) else learner,
        stream=f"{stream} ({match['kind']})",
        seed=seed,
        unit="fraction",
        scenario=scenario,
        seen_only=True,
        config={key: value for key, value in arguments.items() if _is_option(key, value)},
        notes=(
            f"accuracies are {said}, with 6 decimals; zeros above the diagonal are tasks that were not evaluated",
            f"{done} of {T} tasks were learned: later rows are missing" if done < T else None,
        ),
    )
    return reconciled(run, _claims(path, match, T) if done == T else [], places=6)


def _table(path: Path) -> Matrix:
    rows = [line.split() for line in read_text(path, NAME).split("\n") if line.strip()]
    check_size(path, NAME, len(rows), max(map(len, rows), default=0))
    if any(len(row) != len(rows) for row in rows):
        raise cannot_read(path, NAME, f"it has {len(rows)} rows of {len(rows[0])} scores; expected a square table.")
    try:
        return [[number(plain_number(word)) for word in row] for row in rows]
    except ValueError as error:
        raise cannot_read(path, NAME, f"{error}.") from None


def _arguments(path: Path, date: str) -> dict[str, Any]:
    """The arguments of the experiment, beside its results folder."""
    for place in (path.parent, path.parent.parent):
        file = place / f"args{date}.txt"
        if file.is_file():
            try:
                value = load_json(file, NAME)
            except UsageError:
                return {}
            return value if isinstance(value, dict) else {}
    return {}


_NO_OPTIONS = frozenset(
    ["seed", "approach", "datasets", "gpu", "results_path", "exp_name", "log", "save_models", "last_layer_analysis"]
)


def _is_option(key: object, value: object) -> bool:
    return isinstance(key, str) and key not in _NO_OPTIONS and isinstance(value, str | int | float)


def _claims(path: Path, match: re.Match[str], T: int) -> list[Claim]:
    """The averages that FACIL writes beside the accuracies."""
    claims = []
    for name, file, id in (
        (f"avg_accs_{match['kind']}", f"avg_accs_{match['kind']}{match['date'] or ''}.txt", "acc.average"),
        (f"forg_{match['kind']}", f"forg_{match['kind']}{match['date'] or ''}.txt", "forgetting.chaudhry2018"),
    ):
        beside = path.with_name(file)
        words = read_text(beside, NAME).split() if beside.is_file() else []
        try:
            values = [plain_number(word) for word in words]
        except ValueError:
            continue
        if id == "acc.average" and values:
            claims.append(Claim(in_words(name), values[-1], (id,)))
        elif len(values) == T * T and T > 1:
            claims.append(Claim(f"mean of the last row of {name}", sum(values[-T:-1]) / (T - 1), (id,)))
    return claims
