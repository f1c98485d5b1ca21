"""Avalanche: `eval_results.csv`, the text log, `get_all_metrics()` saved as JSON, or metrics as JSON lines.

Every metric is called `Top1_Acc_Exp/eval_phase/<stream>_stream/Task<nnn>/Exp<nnn>`, without the task where there are
no task labels. The four files hold it thus:

eval_results.csv    a row an evaluated experience, with the experience trained last. An online stream writes the
                    number of the last small experience there; where that is none of those evaluated, it is refused.
text log            `name = value` under each evaluation, and the beginnings and ends of training phases
                    (`avalanche_log`); the one file that tells what was learned in an online stream.
get_all_metrics()   name -> [[iterations], [values]].
JSON lines          an object a line, `{"step": iterations, name: value, ...}`, as the logger of the survey of online
                    continual learning (Soutif et al. 2023) writes them; lines of training lie between.

The CSV file and the text log have 4 decimals, JSON has all of them.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from recollect.runs.importers.avalanche_log import METRIC, NAME, TENSOR, Events, log_runs, no_scores, score_of
from recollect.runs.importers.build import Score, check_size, make_run, named, number, origin_of, whole
from recollect.runs.importers.events import Evaluated, Laid, Learned, lay_out
from recollect.runs.importers.files import (
    cannot_read,
    guess_json,
    head_lines,
    in_words,
    load_json,
    mentions,
    read_text,
)
from recollect.runs.run import ACCURACY, Row, Run
from recollect.runs.timeline import ends_among

SUMMARY = "Avalanche: eval_results.csv, the text log, get_all_metrics() as JSON, or metrics as JSON lines"

# What the table calls the experience before any training; here a mark that a run begins anew.
UNTRAINED = "untrained"
_HEADER = "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting"


def sniff(path: Path) -> bool:
    """The header of the CSV, or the names of its metrics in a log or in JSON."""
    lines = head_lines(path)
    if lines and lines[0].strip() == _HEADER:
        return True
    if mentions(path, b"-- >> Start of eval phase << --") or mentions(path, b"-- >> Start of training phase << --"):
        return True
    if not mentions(path, b"Top1_Acc_Exp/eval_phase/"):
        return False
    if _are_json_lines(lines):
        return True
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith(("{", "[")):
        value = guess_json(path)
        return isinstance(value, dict) and any(METRIC.fullmatch(str(key)) for key in value)
    return True


def read(path: Path, *, eval_stream: str = "test") -> list[Run]:
    """The run of one file. `eval_stream` picks the stream that was evaluated (a log may hold several)."""
    text = read_text(path, NAME)
    if text.split("\n", 1)[0].strip() == _HEADER:
        note = "accuracies have 4 decimals; a bare 0 is a metric that was not monitored: left empty"
        return _from_events(path, _split_csv(list(_csv_events(path, text))), [note])
    elif _are_json_lines(text.lstrip().split("\n", 2)):
        run = _from_json(path, _series_of_lines(path, text), eval_stream)
    elif text.lstrip().startswith("{"):
        run = _from_json(path, load_json(path, NAME), eval_stream)
    else:
        runs, notes = log_runs(path, text, eval_stream)
        return _from_events(path, runs, ["accuracies have the 4 decimals of the log", *notes])
    return [run]


def _csv_events(path: Path, text: str) -> Iterable[Learned | Evaluated]:
    training = "None"
    accuracies = missing = 0
    joined = TENSOR.sub(r"\1", text)
    try:
        lines = list(csv.reader(joined.split("\n")[1:]))
    except csv.Error as error:
        raise cannot_read(path, NAME, f"{error}.") from None
    for place, fields in enumerate(lines, start=2):
        if not fields:
            continue
        if len(fields) != 5 or whole(fields[0]) is None or (whole(fields[1]) is None and fields[1] != "None"):
            raise cannot_read(
                path,
                NAME,
                f"line {place} is '{in_words(','.join(fields))}'; expected {_HEADER}. Is the file whole?",
            )
        if fields[1] != training:
            training = fields[1]
            yield Learned(UNTRAINED if training == "None" else str(whole(training)))
        # A metric that was not monitored is the integer 0 in the source; a measured one has 4 decimals.
        accuracies += 1
        missing += fields[2] == "0"
        score = None if fields[2] == "0" else score_of(path, fields[2])
        yield Evaluated({str(whole(fields[0])): score})
    if accuracies and missing == accuracies:
        raise cannot_read(
            path,
            NAME,
            "every eval_accuracy is the '0' that Avalanche writes for a metric that was not monitored."
            " Add accuracy_metrics(experience=True) to the EvaluationPlugin and run again.",
        )


def _split_csv(events: Events) -> list[Events]:
    """The events of each run of a table: one begins untrained again, or with the first experience again."""
    runs: list[Events] = [[]]
    first: str | None = None
    for event in events:
        if isinstance(event, Learned):
            if event.task in (first, UNTRAINED):
                runs.append([])
            first = None if event.task == UNTRAINED else first or event.task
            if event.task == UNTRAINED:
                continue
        runs[-1].append(event)
    return runs


def _from_events(path: Path, runs: Sequence[Events], notes: Sequence[str]) -> list[Run]:
    """The runs that were evaluated after training; of several the notes say which is which, and what is missing."""
    kept = {place: events for place, events in enumerate(runs, start=1) if _is_evaluated(events)}
    if not kept:
        raise cannot_read(path, NAME, "no experience was ever learned and evaluated after it.")
    lines = [lay_out(events) for events in kept.values()]
    every = sorted({task for line in lines for task in line.tasks}, key=int)
    made = []
    for place, events in kept.items():
        line = lay_out(events, also=every)
        _check_that_learned_are_evaluated(path, events)
        check_size(path, NAME, len(line.rows), len(line.tasks))
        missing = _missing(line)
        said = [*notes, *line.notes, missing]
        if not ends_among(line.rows):
            said.append("every evaluation lies inside a training phase or before it: none is an experience's end")
        names = [f"experience {task}" for task in line.tasks]
        if len(runs) == 1:
            return [_run(path, line.rows, names, said)]
        said += [_runs_in(len(runs), len(kept)), f"this is run {place} of {len(runs)} in the log"]
        suffix = f" (run {place}, not whole)" if missing else ""
        made.append(_run(path, line.rows, names, said, part=place, suffix=suffix))
    return made


def _is_evaluated(events: Events) -> bool:
    learned = False
    for event in events:
        if isinstance(event, Learned):
            learned = True
        elif learned:
            return True
    return False


def _missing(line: Laid) -> str | None:
    """What a run lacks: experiences that were not reached, or whose training is not in the log."""
    if line.learned == len(line.tasks):
        return None
    learned, rest = line.tasks[: line.learned], line.tasks[line.learned :]
    skipped = [task for task in rest if int(task) < max(map(int, learned))]
    said = f"{line.learned} of {len(line.tasks)} experiences were learned: later rows are missing"
    if skipped:
        said += f"; training on experience {', '.join(skipped)} is not in the log, though on later ones it is"
    return said


def _runs_in(count: int, kept: int) -> str:
    rest = f", of which {count - kept} were never evaluated and are left out" if kept < count else ""
    return (
        f"the log holds {count} runs{rest}. Whole ones are taken for runs of one learner; if its settings were changed"
        " between them, choose one with --run"
    )


def _check_that_learned_are_evaluated(path: Path, events: Sequence[Learned | Evaluated]) -> None:
    learned = {event.task for event in events if isinstance(event, Learned)}
    evaluated = {task for event in events if isinstance(event, Evaluated) for task in event.scores}
    if learned and evaluated.isdisjoint(learned):
        raise cannot_read(
            path,
            NAME,
            f"none of the experiences that were learned ({_few(learned)}) was evaluated ({_few(evaluated)} were). In an"
            " online stream small experiences have numbers of their own: give the text log or get_all_metrics() of"
            " a run that evaluates after each call of train.",
        )


def _few(numbers: set[str]) -> str:
    shown = sorted(numbers, key=int)
    return ", ".join(shown if len(shown) < 5 else [*shown[:2], "...", shown[-1]])


def _are_json_lines(lines: Sequence[str]) -> bool:
    """Whether a file begins as JSON lines do; its first line may be spoiled."""
    return any(_record(line) is not None for line in lines[:2])


def _record(line: str) -> dict[str, Any] | None:
    """The object on a line of JSON lines, metrics at a step; None if the line is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    step = whole(record.get("step")) if isinstance(record, dict) else None
    return None if step is None else {**record, "step": step}


def _series_of_lines(path: Path, text: str) -> dict[str, tuple[list[int], list[Any]]]:
    """The accuracies of JSON lines as `get_all_metrics()` has them: steps and values under each name."""
    series: dict[str, tuple[list[int], list[Any]]] = {}
    for place, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        record = _record(line)
        if record is None:
            raise cannot_read(
                path,
                NAME,
                f"line {place} is '{in_words(line)}'; expected an object with a step. Is the file whole?",
            )
        for name in filter(METRIC.fullmatch, record):
            steps, values = series.setdefault(name, ([], []))
            # The file is appended to: of two runs in it, the second would overwrite parts of the first.
            if steps and record["step"] < steps[-1]:
                raise cannot_read(
                    path,
                    NAME,
                    f"on line {place} the step falls from {steps[-1]} to {record['step']}:"
                    " two runs in one file? Give the lines of one.",
                )
            steps.append(record["step"])
            values.append(record[name])
    return series


def _from_json(path: Path, metrics: Any, wanted: str) -> Run:
    if not isinstance(metrics, dict):
        raise cannot_read(path, NAME, "it is not the dictionary of get_all_metrics().")
    series: dict[int, tuple[list[int], list[Score]]] = {}
    other = set()
    for name, value in metrics.items():
        match = METRIC.fullmatch(name)
        if match and match["stream"] != wanted:
            other.add(match["stream"])
        elif match:
            if int(match["exp"]) in series:
                raise cannot_read(path, NAME, f"experience {int(match['exp'])} has several task labels in '{name}'.")
            series[int(match["exp"])] = _series(path, name, value)
    if not series:
        raise no_scores(path, wanted, other)
    exps = sorted(series)
    check_size(path, NAME, max(len(xs) for xs, _ in series.values()), len(exps))
    ends, moments = _task_ends(path, series)
    # Of several values at one moment the last counts.
    cells = [dict(zip(*series[exp], strict=True)) for exp in exps]
    after = -1
    rows = []
    for x in moments:
        after = ends.get(x, after)
        score = tuple(column.get(x) for column in cells)
        rows.append(Row(after, task_end=x in ends or x == 0, scores={ACCURACY: score}, notes={"iteration": x}))
    notes = [
        "experiences are taken to have been learned in the order of their numbers: the metrics do not say it",
        f"{len(ends)} of {len(moments)} moments of evaluation are ends of experiences; x counts iterations",
    ]
    return _run(path, rows, [f"experience {exp}" for exp in exps], notes, complete=len(ends) == len(exps))


def _task_ends(path: Path, series: dict[int, tuple[list[int], list[Score]]]) -> tuple[dict[int, int], Sequence[int]]:
    """Which moments are ends of experiences: all, or those evaluated once more before training went on."""
    T = len(series)
    counts: Counter[int] = Counter()
    for xs, _ in series.values():
        counts |= Counter(xs)
    moments = sorted(counts)
    trained = [x for x in moments if x > 0]
    twice = [x for x in trained if counts[x] > 1]
    if len(trained) == T:
        return {x: i for i, x in enumerate(trained)}, moments
    if len(twice) == T:
        return {x: i for i, x in enumerate(twice)}, moments
    untrained = sum(0 in xs for xs, _ in series.values())
    if len(trained) == 1 and untrained in (0, T):
        # One evaluation, after everything: it is the last experience's end.
        return {trained[0]: T - 1}, moments
    raise cannot_read(
        path,
        NAME,
        f"{T} experiences were evaluated at {len(trained)} moments of training, and which of them are ends of"
        " experiences cannot be told from iterations. Give eval_results.csv or the text log of that run.",
    )


def _series(path: Path, name: str, value: Any) -> tuple[list[int], list[Score]]:
    if not (isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(v, list) for v in value)):
        raise cannot_read(path, NAME, f"'{name}' is not a pair of lists, iterations and values.")
    xs, values = value
    steps = [whole(x) for x in xs]
    if len(xs) != len(values) or any(x is None or x < 0 for x in steps):
        raise cannot_read(path, NAME, f"'{name}' is not a list of iterations with a value each.")
    if len(xs) > 100_000:
        raise cannot_read(path, NAME, f"'{name}' has {len(xs):,} evaluations; up to 100,000 are read.")
    try:
        return [x for x in steps if x is not None], [number(v) for v in values]
    except ValueError as error:
        raise cannot_read(path, NAME, f"in '{name}', {error}.") from None


def _run(
    path: Path,
    rows: Sequence[Row],
    names: list[str],
    notes: Sequence[str | None],
    complete: bool = True,
    part: int | None = None,
    suffix: str = "",
) -> Run:
    origin = origin_of(path)
    return make_run(
        path,
        NAME,
        rows=rows,
        tasks=named(names),
        learner=origin.learner + suffix,
        # One folder names one seed.
        seed=origin.seed if part is None else None,
        unit="fraction",
        notes=[*notes, origin.note if part is None else None],
        complete=complete,
        part=part,
    )
