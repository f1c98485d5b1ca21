"""The columns of the table of learners: which definitions may stand in each, which does at first, what is absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from recollect.metrics import registry
from recollect.problems import Focus, Problem
from recollect.report.results import Column, LearnerResult, Refusal
from recollect.report.words import Words
from recollect.stats import Estimate

# GDumb trains when it is asked to score: neither part alone is what a learner costs.
TOTAL_TIME = "timings.train_and_evaluate_seconds"


def metric_columns(words: Words, focus: Focus) -> tuple[Column, ...]:
    """Every definition of the catalogue, in the column where a reader looks for it; what the field reports first.

    >>> from recollect.problems import problem_of
    >>> [c.title for c in metric_columns(Words(), problem_of("detection").focus)][:5]
    ['CA', 'BWT', 'FWT', 'AF', 'average']
    """
    family = registry.families()
    over_time = tuple(id for id in family["acc"] if id.startswith(("acc.incremental", "acc.continual")))
    at_the_end = tuple(id for id in family["acc"] if id not in over_time)
    any_time = tuple(id for id in family["anytime"] if id != "anytime.windowed_forgetting")
    better_than_joint = f"how much worse new {words.tasks} are learned than by the joint learner"
    made = [
        ("aa", "AA", f"{words.average} over the {words.tasks} seen, at the end", at_the_end),
        (
            "aia",
            "AIA",
            f"{words.score} of the {words.tasks} seen, over all of time",
            (*_first(focus.headline, over_time), *any_time),
        ),
        (
            "af",
            "AF",
            f"average forgetting of earlier {words.tasks}",
            (*family["forgetting"], "anytime.windowed_forgetting"),
        ),
        ("raa", "RAA", "AA, corrected for growing difficulty", (*family["raa"], *family["uraa"])),
        ("raf", "RAF", "AF, corrected for growing difficulty", (*family["raf"], *family["uraf"])),
        ("bwt", "BWT", "backward transfer", _first(focus.bwt, family["bwt"])),
        ("fwt", "FWT", "forward transfer", _first(focus.fwt, family["fwt"])),
        ("within", "within", f"forgetting: answered worse within the {words.task}", ("split.within",)),
        ("older", "older", f"forgetting: confused with older {words.tasks}", ("split.older",)),
        ("newer", "newer", f"forgetting: confused with newer {words.tasks}", ("split.newer",)),
        ("intransigence", "intransigence", better_than_joint, family["intransigence"]),
    ]
    taken = {id for *_, ids in made for id in ids}
    made += [
        (name, name.replace("_", " "), f"definitions of the family {name}", left)
        for name, ids in family.items()
        if (left := tuple(id for id in ids if id not in taken))
    ]
    columns = [
        Column(
            key,
            focus.titles.get(ids[0], title),
            says,
            tuple(ids),
            ids[0],
            is_first=any(id in focus.shown for id in ids),
        )
        for key, title, says, ids in made
    ]
    return tuple(sorted(columns, key=lambda one: _place(one, focus)))


def _place(column: Column, focus: Focus) -> int:
    return min((focus.shown.index(id) for id in column.ids if id in focus.shown), default=len(focus.shown))


def cost_columns(keys: Sequence[str]) -> tuple[Column, ...]:
    """The columns of what was measured of the cost; keys are `timings.*` and `cost.*`.

    >>> [(c.title, c.unit) for c in cost_columns(["timings.train_seconds", "cost.stored_samples"])]
    [('time', 's'), ('stored', 'samples')]
    """
    seconds = tuple(k for k in keys if k.startswith("timings."))
    sizes = tuple(k for k in keys if k.endswith("_bytes"))
    estimated = tuple(k for k in keys if k.endswith("_codecarbon_joules"))
    energy = tuple(k for k in keys if k.endswith("_joules") and k not in estimated)
    drifts = tuple(k for k in keys if k.startswith("cost.drift"))
    others = tuple(k for k in keys if k not in (*seconds, *sizes, *energy, *estimated, *drifts))
    made = (
        ("time", "time", "seconds of the run, mean over seeds", _first(TOTAL_TIME, seconds), "s"),
        ("memory", "memory", "megabytes, mean over seeds", _first("cost.train_peak_bytes", sizes), "MB"),
        ("energy", "energy", "joules of the processor packages, mean over seeds", energy, "J"),
        ("estimated", "energy (est.)", "joules as codecarbon estimates them, mean over seeds", estimated, "J"),
        ("stored", "stored", "samples kept by the learner", _first("cost.stored_samples", others), "samples"),
        (
            "drifts",
            "drifts",
            "drifts that the learner signalled",
            _first("cost.drift_delay_samples", drifts),
            "samples",
        ),
    )
    return tuple(
        Column(key, title, says, ids, ids[0], unit, is_first=key == "time")
        for key, title, says, ids, unit in made
        if ids
    )


def applicable(
    columns: Sequence[Column], numbers: Sequence[Mapping[str, Estimate]]
) -> tuple[tuple[Column, ...], tuple[Refusal, ...]]:
    """Keep the columns in which some learner has a value; say of the others why not.

    A column starts with its first definition, whether that has a value or not: no other stands in for it.
    """
    kept, dropped = [], []
    for column in columns:
        known = [id for id in column.ids if any(id in of and of[id].is_known for of in numbers)]
        if known:
            kept.append(replace(column, ids=tuple(dict.fromkeys((column.id, *known)))))
            continue
        reasons = dict.fromkeys(str(of[column.id].reason) for of in numbers if column.id in of and of[column.id].reason)
        why = "; ".join(reasons) or "no run has a value"
        dropped.append(Refusal(f"the column {column.title} ({column.ids[0]})", why, part=column.key))
    return tuple(kept), tuple(dropped)


def _first(preferred: str, ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda id: id != preferred))


NO_SPLIT = (
    "it needs, for every task, the right answers among its own classes and among those of earlier tasks. Runs made with"
    " `recollect run` on class-incremental streams carry them, and `Recorder` takes them from any loop"
)


def sort_out(
    dropped: Sequence[Refusal], learners: Sequence[LearnerResult], problem: Problem
) -> tuple[tuple[Refusal, ...], tuple[Refusal, ...]]:
    """Tell what does not apply to such a stream (the problem says why) from what its runs lack."""
    lacking = [one for one in dropped if one.part not in _PARTS["split"]]
    if not any(learner.parts for learner in learners):
        lacking.append(Refusal("the split of forgetting", NO_SPLIT, part="split"))
    left_out = []
    for part, why in problem.not_shown.items():
        names = [one for one in _PARTS.get(part, (part,)) if one in {r.part for r in lacking} or part not in _PARTS]
        if part == "errors" and any(learner.errors for learner in learners):
            continue
        if names:
            what = _TITLES.get(part) or " and ".join(name.upper() for name in names)
            left_out.append(Refusal(f"{what} {'are' if ' and ' in what else 'is'} not shown", why, part=part))
        lacking = [one for one in lacking if one.part not in names]
    return tuple(left_out), tuple(lacking)


# The columns that a part of the page consists of, and what it is called.
_PARTS = {"raa": ("raa", "raf"), "split": ("split", "within", "older", "newer")}
_TITLES = {"split": "How forgetting comes about", "errors": "Where wrong answers go"}


def gaps(learners: Sequence[LearnerResult], columns: Sequence[Column]) -> tuple[Refusal, ...]:
    """Values that a learner lacks in a column which others fill, a line per reason."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for column in columns:
        for id in column.ids:
            for learner in learners:
                number = learner.numbers.get(id)
                if number is not None and not number.is_known and number.reason:
                    found.setdefault((id, str(number.reason)), {})[learner.label] = None
    return tuple(Refusal(f"{id} of {', '.join(labels)}", why) for (id, why), labels in found.items())


def without_score(missing: Mapping[str, str], words: Words) -> tuple[Refusal, ...]:
    """A line for each task that has no score."""
    return tuple(Refusal(f"{words.score} of the {words.task} {name}", why) for name, why in missing.items())
