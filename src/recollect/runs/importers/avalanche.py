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

list of calls       what `strategy.eval()` gave after each experience, as JSON or as a DataFrame's csv
                    (`avalanche_evals`).

The CSV file and the text log have 4 decimals, JSON has all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.runs.importers.avalanche_evals import Calls, calls_of_frame, find_calls, is_frame, lay_out_calls
from recollect.runs.importers.avalanche_log import METRIC, NAME, TENSOR, Events, log_runs, score_of
from recollect.runs.importers.avalanche_series import are_json_lines, calls_of_lines, lay_out_series, series_of_lines
from recollect.runs.importers.build import check_size, make_run, matrix_run, named, origin_of, whole
from recollect.runs.importers.events import Evaluated, Laid, Learned, lay_out
from recollect.runs.importers.files import (
    cannot_read,
    fields_of,
    guess_json,
    head_lines,
    in_words,
    load_json,
    mentions,
    read_text,
)
from recollect.runs.importers.reconcile import Claim, reconciled
from recollect.runs.run import Row, Run
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
    if are_json_lines(lines) or is_frame(lines[0] if lines else ""):
        return True
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith(("{", "[")):
        value = guess_json(path)
        return bool(find_calls(value)) or _is_of_all_metrics(value)
    return True


def read(path: Path, *, eval_stream: str = "test") -> list[Run]:
    """The run of one file. `eval_stream` picks the stream that was evaluated (a log may hold several)."""
    text = read_text(path, NAME)
    if text.split("\n", 1)[0].strip() == _HEADER:
        note = "accuracies have 4 decimals; a bare 0 is a metric that was not monitored: left empty"
        return _from_events(path, _split_csv(list(_csv_events(path, text))), [note])
    if are_json_lines(text.lstrip().split("\n", 2)):
        lines = calls_of_lines(path, text, eval_stream)
        if lines:
            return _from_calls(path, [Calls(None, calls) for calls in lines], eval_stream, origin_of(path).learner)
        series = lay_out_series(path, series_of_lines(path, text), eval_stream)
    elif is_frame(text.split("\n", 1)[0]):
        return _from_calls(path, [calls_of_frame(path, text)], eval_stream)
    elif text.lstrip().startswith(("{", "[")):
        value = load_json(path, NAME)
        calls = [] if _is_of_all_metrics(value) else find_calls(value)
        if calls:
            return _from_calls(path, calls, eval_stream)
        series = lay_out_series(path, value, eval_stream)
    else:
        runs, notes = log_runs(path, text, eval_stream)
        return _from_events(path, runs, ["accuracies have the 4 decimals of the log", *notes])
    names = [f"experience {exp}" for exp in series.experiences]
    return [_run(path, series.rows, names, series.notes, series.complete)]


def _csv_events(path: Path, text: str) -> Iterable[Learned | Evaluated]:
    training = "None"
    accuracies = missing = 0
    joined = TENSOR.sub(r"\1", text)
    for place, fields in enumerate(fields_of(path, NAME, joined.split("\n")[1:]), start=2):
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
        lost = None if fields[4] == "0" else score_of(path, fields[4])
        yield Evaluated({str(whole(fields[0])): score}, printed={} if lost is None else {"forgetting": lost})
    if accuracies and missing == accuracies:
        raise cannot_read(
            path,
            NAME,
            "every eval_accuracy is the '0' that Avalanche writes for a metric that was not monitored."
            " Add accuracy_metrics(experience=True) to the EvaluationPlugin and run again.",
        )


def _is_of_all_metrics(value: Any) -> bool:
    return isinstance(value, dict) and any(METRIC.fullmatch(str(key)) for key in value)


def _from_calls(path: Path, found: Sequence[Calls], wanted: str, learner: str | None = None) -> list[Run]:
    """A run for each list of calls; lists under one name are runs of one learner."""
    origin = origin_of(path)
    made = []
    for place, one in enumerate(found, start=1):
        laid = lay_out_calls(path, one.calls, wanted)
        several = f"the file holds {len(found)} runs" if len(found) > 1 else None
        made.append(
            matrix_run(
                path,
                NAME,
                laid.cells,
                [f"experience {exp}" for exp in laid.experiences],
                laid.untrained,
                learner=one.name or learner or path.stem,
                guessed=None if one.name else learner or path.stem,
                seed=origin.seed if len(found) == 1 else None,
                unit="fraction",
                notes=[*laid.notes, several, origin.note if len(found) == 1 else None],
                part=place if len(found) > 1 else None,
            )
        )
    return made


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
            run = _run(path, line.rows, names, said, learned_at=line.learned_at)
            return [reconciled(run, claims_of(events), places=4)]
        said += [_runs_in(len(runs), len(kept)), f"this is run {place} of {len(runs)} in the log"]
        suffix = f" (run {place}, not whole)" if missing else ""
        run = _run(path, line.rows, names, said, part=place, suffix=suffix, learned_at=line.learned_at)
        made.append(reconciled(run, claims_of(events) if not missing else [], places=4))
    return made


def claims_of(events: Events) -> list[Claim]:
    """What the last evaluation prints of the whole stream."""
    last = next((event.printed for event in reversed(events) if isinstance(event, Evaluated)), {})
    ids = {"StreamForgetting": ("forgetting.first",), "StreamBWT": ("bwt.lopezpaz2017",)}
    return [*_column(events), *(Claim(name, last[name], expected) for name, expected in ids.items() if name in last)]


def _column(events: Events) -> list[Claim]:
    """The column `forgetting` of the table: its mean over the experiences before the newest, after each of them."""
    learned: list[str] = []
    rows: dict[int, dict[str, float]] = {}
    for event in events:
        if isinstance(event, Learned):
            if event.task in learned:  # where experiences come again, the column's reference is another
                return []
            learned.append(event.task)
        elif "forgetting" in event.printed:
            rows.setdefault(len(learned) - 1, {}).update(dict.fromkeys(event.scores, event.printed["forgetting"]))
    means = {i: sum(row.values()) / i for i, row in rows.items() if i > 0 and set(row) == set(learned[:i])}
    return [
        Claim("forgetting (mean over the experiences before)", mean, ("forgetting.first",), row=i, quiet=i < max(means))
        for i, mean in means.items()
    ]


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


def _run(
    path: Path,
    rows: Sequence[Row],
    names: list[str],
    notes: Sequence[str | None],
    complete: bool = True,
    part: int | None = None,
    suffix: str = "",
    learned_at: Mapping[int, int] | None = None,
) -> Run:
    origin = origin_of(path)
    return make_run(
        path,
        NAME,
        rows=rows,
        tasks=named(names),
        learner=origin.learner + suffix,
        guessed=origin.learner,
        # One folder names one seed.
        seed=origin.seed if part is None else None,
        unit="fraction",
        notes=[*notes, origin.note if part is None else None],
        complete=complete,
        learned_at=learned_at,
        part=part,
    )
