"""online-continual-learning (RaptorMai): a pickle with an array of accuracies for all runs."""

from __future__ import annotations

from pathlib import Path

from recollect.runs.importers.build import array_matrix, check_size, make_run, named, task_rows
from recollect.runs.importers.files import cannot_read
from recollect.runs.importers.pickles import array_of, load_dict, may_hold
from recollect.runs.run import ACCURACY, Row, Run

NAME = "raptormai"
SUMMARY = "online-continual-learning: <model>_<data>.pkl with {'time', 'acc_array': (runs, tasks, tasks)}"


def sniff(path: Path) -> bool:
    """A pickle with a key `acc_array`."""
    return may_hold(path, "acc_array")


def read(path: Path) -> list[Run]:
    """A run for each entry of the first axis; every task is evaluated after each."""
    results = load_dict(path, NAME)
    array = array_of(path, NAME, results, "acc_array")
    offline = array.ndim == 2
    if not (offline or (array.ndim == 3 and array.shape[1] == array.shape[2])) or 0 in array.shape:
        raise cannot_read(
            path, NAME, f"'acc_array' has shape {array.shape}; expected (runs, N, N), or (runs, N) offline."
        )
    T = array.shape[-1]
    check_size(path, NAME, 1 if offline else T, T, array.shape[0])
    learner, _, stream = path.stem.partition("_")
    try:
        matrices = [array_matrix(run.reshape(-1, T)) for run in array]
    except ValueError as error:
        raise cannot_read(path, NAME, f"{error}.") from None
    notes = ["runs are numbered as they come in the file; the tool does not store their seeds"]
    if offline:
        notes.append("one evaluation after all tasks: the learner was trained offline, on everything at once")
    return [
        make_run(
            path,
            NAME,
            rows=(Row(T - 1, scores={ACCURACY: tuple(matrix[0])}),) if offline else task_rows(matrix),
            tasks=named(T),
            learner=learner,
            stream=stream or "unknown",
            seed=index,
            part=index + 1,
            unit="fraction",
            notes=notes,
            complete=not offline,
        )
        for index, matrix in enumerate(matrices)
    ]
