"""Options that several commands share, and how they read their inputs."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, Literal, get_type_hints

import typer

from recollect.errors import UsageError
from recollect.inputs import plain_whole
from recollect.metrics import Metric, registry
from recollect.problems import problem_of
from recollect.report.words import few, focus_of
from recollect.runs import Group, Run, attach_joint, group, load, load_all
from recollect.runs.arrange import Choices
from recollect.runs.masked import with_task_given
from recollect.runs.reduced import without as leave_out
from recollect.text import visible

Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", help="An id, letters such as AF, a family or `all`; may be given several times."),
]
Interval = Annotated[
    Literal["t", "bca", "iqm", "seeds", "items", "auto"],
    typer.Option(
        "--interval",
        help="Interval over seeds (seeds is Student t; or bca, iqm), over the test items of one run, or auto: seeds"
        " where there are two, else items where their number is known.",
    ),
]
Reference = Annotated[
    str,
    typer.Option(help="What RAA and RAF compare with: uniform, prior, untrained, joint, or a matrix file."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
AsMarkdown = Annotated[bool, typer.Option("--md", help="Print a Markdown table.")]
AsLatex = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")]


@dataclass(frozen=True)
class Inputs:
    """What every command that reads results takes: the companions of a matrix file, and how to read it."""

    classes: Annotated[
        str | None, typer.Option(help="New classes of each task: 50,10,10; one number stands for every task.")
    ] = None
    samples: Annotated[
        str | None, typer.Option(help="Test samples of each task: 100,80; one number stands for every task.")
    ] = None
    untrained: Annotated[Path | None, typer.Option(help="File with the untrained scores, one per task.")] = None
    joint: Annotated[Path | None, typer.Option(help="Matrix file of the learner retrained on all data seen.")] = None
    unit: Annotated[
        Literal["auto", "fraction", "percent", "raw"],
        typer.Option(help="Unit of the scores in a matrix file; auto reads scores above 1 as percent."),
    ] = "auto"
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The scores of a matrix file are errors (RMSE, loss).")
    ] = False
    target: Annotated[
        str | None,
        typer.Option(help="Which score of detectors to read, of those that the runs hold: roc_auc, f1, ..."),
    ] = None
    without: Annotated[
        list[str] | None,
        typer.Option(help="A concept to leave out, such as one without a score; may be given several times."),
    ] = None
    rows: Annotated[
        Literal["time", "tasks"] | None,
        typer.Option(help="What the rows of a matrix file are, where it does not say it; tasks turns the matrix."),
    ] = None
    run: Annotated[
        str | None, typer.Option(help="Which run of a file that holds several, from 1; or `last`.", metavar="N|last")
    ] = None
    name: Annotated[
        str | None,
        typer.Option(help="How the path names learner and seed: '{learner}/{seed}/results.csv', '{learner}_s{seed}'."),
    ] = None
    tool: Annotated[str | None, typer.Option(help="Which tool wrote PATH, where detection must not decide.")] = None
    base: Annotated[
        str | None, typer.Option(help="The version before any training: its name or a part that no other has.")
    ] = None
    held_out: Annotated[
        str | None, typer.Option(help="Tasks that are never trained on, such as mmlu,gsm8k: measured against the base.")
    ] = None
    trained: Annotated[
        str | None, typer.Option(help="After which row each task was trained: a=1,b=2. The base is row 0.")
    ] = None
    order: Annotated[str | None, typer.Option(help="Versions in their order: v1,v2,v3. Wins over steps and dates.")] = (
        None
    )
    subtasks: Annotated[
        bool, typer.Option("--subtasks", help="Take the tasks of a group (mmlu) as columns, not their average.")
    ] = False
    masked: Annotated[
        bool,
        typer.Option("--masked", help="Score answers among the classes of each sample's own task: a task-id oracle."),
    ] = False
    no_index: Annotated[
        bool,
        typer.Option("--no-index", help="Read every record, and keep no index beside the runs (RECOLLECT_INDEX=0)."),
    ] = False
    different_conditions: Annotated[
        bool,
        typer.Option(
            "--different-conditions",
            help="Compare versions although task versions, shots, limits, prompts or chat templates differ.",
        ),
    ] = False

    def runs(self, paths: Sequence[Path]) -> tuple[Run, ...]:
        """Read every path, give each run its joint learner's, and say on stderr what was taken for what."""
        companions = {
            "classes": whole_numbers(self.classes, "--classes"),
            "samples": whole_numbers(self.samples, "--samples"),
            "untrained": self.untrained,
            "joint": self.joint,
            "unit": None if self.unit == "auto" else self.unit,
            "rows": self.rows,
            "run": self.run,
            "name": self.name,
        }
        given: dict[str, Any] = {k: v for k, v in companions.items() if v is not None}
        loaded = load_all(
            paths, self.tool, self.choices, lower_is_better=self.lower_is_better, index=not self.no_index, **given
        )
        if self.rows == "tasks" and not any(run.source is not None and run.source.rows == "tasks" for run in loaded):
            raise UsageError("--rows tasks is for matrix files, and none was given: what was given says what is time.")
        if self.target is not None:
            loaded = under(self.target, loaded)
        if self.without:
            for run in loaded:
                problem_of(run.problem).check_leaving_out(run)
            loaded = [leave_out(run, self.without) for run in loaded]
        if self.masked:
            loaded = [with_task_given(run) for run in loaded]
        runs = attach_joint(loaded)
        for note in (*few(note for run in runs for note in run.notes), *_unfinished(runs)):
            say(note)
        return runs

    @property
    def choices(self) -> Choices:
        """What was said about versions: base, held-out and trained tasks, order, score."""
        return Choices(
            base=self.base,
            held_out=names_of(self.held_out, "--held-out"),
            trained=trained_of(self.trained),
            order=names_of(self.order, "--order"),
            target=self.target,
            without=tuple(self.without or ()),
            lower_is_better=self.lower_is_better,
            subtasks=self.subtasks,
            different_conditions=self.different_conditions,
        )

    def groups(self, paths: Sequence[Path]) -> tuple[Group, ...]:
        """Read every path and sort the runs into groups over seeds."""
        return group(self.runs(paths))


def _unfinished(runs: Sequence[Run], most: int = 3) -> list[str]:
    """That runs failed or are not finished, the first few by name: their numbers are missing or of a part."""
    found = [(run, why) for run in runs if (why := run.why_incomplete) is not None]
    notes = [f"{run.name}, {len(run.rows)} rows: {shorten(why, 160)}" for run, why in found[:most]]
    return notes + ([f"{len(found) - most} more runs are not finished"] if len(found) > most else [])


Paths = Annotated[
    list[Path],
    typer.Argument(
        help="Run folders, experiments, matrix files (.csv .npy .npz .json), other tools' results; s3://... too."
    ),
]


def takes_inputs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Inputs`, one by one, in the place of its parameter `inputs`."""
    hints = get_type_hints(Inputs, include_extras=True)
    own = inspect.signature(command, eval_str=True)
    spread = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields(Inputs)
        if f.name not in own.parameters
    ]
    before = [p for p in own.parameters.values() if p.name != "inputs"]
    signature = own.replace(parameters=[p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in before] + spread)

    @wraps(command)
    def called(**given: Any) -> None:
        inputs = Inputs(**{p.name: given.pop(p.name) for p in spread})
        command(**given, inputs=inputs)

    called.__signature__ = signature  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return called


def under(target: str, runs: Sequence[Run]) -> list[Run]:
    """The runs under another of their scores; of a file that gives a run for each score, the run of that one."""
    own = [run for run in runs if target in (run.metric, problem_of(run.problem).score_name(run.metric))]
    files = {run.source.path for run in own if run.source is not None}
    return own + [
        run.with_metric(target)
        for run in runs
        if run not in own and not (run.source is not None and run.source.path in files)
    ]


def chosen_metrics(names: Sequence[str] | None, groups: Sequence[Group] = ()) -> list[Metric]:
    """Resolve `-m` options, each metric once, in order; without any, what the runs' field reports."""
    wanted = registry.resolve_all(names or focus_of(groups).shown)
    for name in names or ():
        say_alias(name)
    return wanted


def say_alias(name: str) -> None:
    """Say which id a typed name stands for, beside the answer and not in it."""
    if (said := registry.alias_note(name)) is not None:
        print(f"{said}.", file=sys.stderr)


def read_reference(name: str) -> Any:
    """Return a reference's name, or the matrix in the file of that name."""
    from recollect.metrics.reference import REFERENCES

    if name in REFERENCES:
        return name
    if not Path(name).exists():
        raise UsageError(
            f"unknown reference {name!r}: expected {', '.join(REFERENCES)}, or a matrix file; there is no such file."
        )
    return group(load(Path(name)))[0].matrix.at(0)


Rename = Annotated[
    list[str] | None,
    typer.Option("--rename", help='What a learner is called: er="ER (ours)"; may be given several times.'),
]


def chosen_learners(
    groups: Sequence[Group], learners: Sequence[str] | None, rename: Sequence[str] | None
) -> tuple[Group, ...]:
    """The groups of these learners in this order (all of them without), under the names that they are to have."""
    names = list(dict.fromkeys(group.learner for group in groups))
    called = dict(_renamed(text) for text in rename or ())
    unknown = [name for name in (*(learners or ()), *called) if name not in names]
    if unknown:
        raise UsageError(f"there is no learner {unknown[0]!r}; there are {', '.join(sorted(names))}.")
    new = [called.get(name, name) for name in names]
    twice = next((name for name in new if new.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--rename would call two learners {twice!r}.")
    order = list(learners or names)
    kept = sorted((group for group in groups if group.learner in order), key=lambda group: order.index(group.learner))
    return tuple(
        Group(tuple(replace(run, learner=called[run.learner]) if run.learner in called else run for run in group.runs))
        for group in kept
    )


def _renamed(text: str) -> tuple[str, str]:
    old, sign, new = text.partition("=")
    if not (old and sign and new.strip()):
        raise UsageError(f'--rename takes a name and what it is to be called, such as er="ER (ours)"; got {text!r}.')
    return old, new.strip()


def whole_numbers(text: str | None, option: str) -> list[int] | None:
    """Parse 10,10,10.

    >>> whole_numbers("50, 10,10", "--classes")
    [50, 10, 10]
    """
    if text is None:
        return None
    try:
        return [plain_whole(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} takes whole numbers with commas between, such as 10,10,10; got {text!r}.") from None


def names_of(text: str | None, option: str) -> tuple[str, ...]:
    """Parse a,b,c.

    >>> names_of("mmlu, gsm8k", "--held-out")
    ('mmlu', 'gsm8k')
    """
    if text is None:
        return ()
    names = tuple(part.strip() for part in text.split(","))
    if not all(names) or len(set(names)) != len(names):
        raise UsageError(f"{option} takes names with commas between, each once, such as a,b,c; got {text!r}.")
    return names


def trained_of(text: str | None) -> tuple[tuple[str, int], ...]:
    """Parse a=1,b=2.

    >>> trained_of("math=1, code=2")
    (('math', 1), ('code', 2))
    """
    pairs = []
    for part in names_of(text, "--trained"):
        name, _, row = part.rpartition("=")
        if not name.strip() or not re.fullmatch(r"\s*[0-9]{1,9}\s*", row):
            raise UsageError(
                "--trained takes the row after which each task was trained, such as a=1,b=2 (the base is row 0);"
                f" got {text!r}."
            )
        pairs.append((name.strip(), int(row)))
    if len(dict(pairs)) != len(pairs):
        raise UsageError(f"--trained names a task twice: {text!r}.")
    return tuple(pairs)


def say(note: str) -> None:
    """Tell the user something beside the answer."""
    print(f"note: {visible(note)}", file=sys.stderr)
