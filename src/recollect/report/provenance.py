"""Where the runs come from: configurations, seeds, versions, revisions, and what did not finish."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from recollect.report.results import Provenance, Refusal
from recollect.runs import Group, Row, Run

# Of thousands of runs so many are told of one by one.
MOST_LINES = 12


def of_group(stream: str, label: str, group: Group) -> Provenance:
    """What made the runs of a group; where they differ, every value once."""
    runs = group.runs
    return Provenance(
        label=label,
        stream=stream,
        config=config_text(group),
        seeds=seeds_text(group.seeds),
        n=len(runs),
        status=_once(run.status for run in runs),
        made=_span(run.finished or run.created for run in runs),
        versions=_once(", ".join(f"{k} {v}" for k, v in run.versions.items()) for run in runs),
        revision=_once(run.revision for run in runs),
        source=_once(_source(run) for run in runs),
        path=_paths(runs),
        experiment=_once(run.experiment for run in runs),
    )


def config_text(group: Group) -> str:
    return ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value, default=repr)}"
        for key, value in group.learner_config.items()
    )


def seeds_text(seeds: Sequence[int | None]) -> str:
    """Seeds in few words.

    >>> seeds_text((0, 1, 2, 3, 7)), seeds_text((None,)), seeds_text((4, 5))
    ('0-3, 7', 'not recorded', '4, 5')
    """
    known = sorted(seed for seed in seeds if seed is not None)
    if not known:
        return "not recorded"
    spans: list[list[int]] = []
    for seed in known:
        if spans and seed == spans[-1][-1] + 1:
            spans[-1].append(seed)
        else:
            spans.append([seed])
    return ", ".join(f"{span[0]}-{span[-1]}" if len(span) > 2 else ", ".join(map(str, span)) for span in spans)


def run_refusals(groups: Sequence[Group]) -> tuple[Refusal, ...]:
    """Runs that are not finished, and rows whose learner gave no scores: a line for each reason."""
    silent: dict[tuple[str, str], list[Run]] = {}
    runs_of = [run for group in groups for run in group.runs]
    found = _unfinished([(run, why) for run in runs_of if (why := run.why_incomplete) is not None])
    for run in runs_of:
        speaking = run.rows if run.packed is None else ()
        for what in dict.fromkeys(_silence(row, run) for row in speaking if row.reason is not None):
            silent.setdefault(what, []).append(run)
    guessed = [run for group in groups for run in group.runs if run.source is not None and run.source.rows is None]
    if guessed:
        unsaid = f"which way the matrices of {_learners(guessed)} lie was not said"
        found.append(Refusal(unsaid, "rows are taken for time; `--rows tasks` turns them", part="runs"))
    for (rows, reason), runs in silent.items():
        who = runs[0].name if len(runs) == 1 else f"{len(runs)} runs ({_learners(runs)})"
        found.append(Refusal(f"{rows} of {who}", reason, part="runs" if rows == "rows" else ""))
    return tuple(found)


def _unfinished(parts: Sequence[tuple[Run, str]]) -> list[Refusal]:
    """A line for each run that is not finished; of many runs one for each reason, and no more than a reader reads."""
    if len(parts) <= MOST_LINES:
        return [Refusal(f"a part of {run.name}", why, part="runs") for run, why in parts]
    by_reason: dict[str, list[Run]] = {}
    for run, why in parts:
        by_reason.setdefault(why, []).append(run)
    often = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    made = [
        Refusal(
            f"a part of {len(runs):,} runs ({_learners(runs)})" if len(runs) > 1 else f"a part of {runs[0].name}",
            why,
            part="runs",
        )
        for why, runs in often[:MOST_LINES]
    ]
    if rest := [run for _, runs in often[MOST_LINES:] for run in runs]:
        made.append(Refusal(f"a part of {len(rest):,} more runs ({_learners(rest)})", "for other reasons", part="runs"))
    return made


def _silence(row: Row, run: Run) -> tuple[str, str]:
    """Which row has no scores, and why; that the untrained learner gives none is no surprise."""
    return "the row before any training" if row is run.timeline.base else "rows", str(row.reason)


def _learners(runs: Sequence[Run], most: int = 6) -> str:
    names = list(dict.fromkeys(run.learner for run in runs))
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _once(values: Iterable[str | None]) -> str:
    return "; ".join(dict.fromkeys(value for value in values if value))


def _span(times: Iterable[str | None]) -> str:
    known = sorted(time for time in times if time)
    if not known:
        return ""
    return known[0] if known[0] == known[-1] else f"{known[0]} to {known[-1]}"


def _source(run: Run) -> str | None:
    if run.source is None:
        return None
    version = f" {run.source.version}" if run.source.version else ""
    digest = f", sha256 {run.source.sha256[:12]}…" if run.source.sha256 else ""
    return f"{run.source.tool}{version}: {run.source.path}{digest}"


def _paths(runs: Sequence[Run]) -> str:
    paths = [str(run.path) for run in runs if run.path is not None]
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more" if paths else ""
