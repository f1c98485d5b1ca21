"""The columns of the table of learners: which definitions may stand in each, and which does at first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.metrics import registry
from recollect.report.contents import Column, Number, Refusal
from recollect.report.words import Words, focus_of

# GDumb trains when it is asked to score: neither part alone is what a learner costs.
TOTAL_TIME = "timings.train_and_evaluate_seconds"


def metric_columns(words: Words) -> tuple[Column, ...]:
    """Every definition of the catalogue, in the column where a reader looks for it; what the field reports first.

    >>> [c.title for c in metric_columns(Words())]
    ['AA', 'AIA', 'AF', 'RAA', 'RAF', 'BWT', 'FWT', 'lost', 'confusion', 'intransigence']
    >>> [c.title for c in metric_columns(Words("concept", "concepts", "ROC-AUC"))][:5]
    ['CA', 'BWT', 'FWT', 'AF', 'average']
    """
    focus, family = focus_of([words]), registry.families()
    over_time = tuple(id for id in family["acc"] if id.startswith(("acc.incremental", "acc.continual")))
    at_the_end = tuple(id for id in family["acc"] if id not in over_time)
    any_time = tuple(id for id in family["anytime"] if id != "anytime.windowed_forgetting")
    average = f"{words.average} over the {words.tasks} seen, at the end"
    mean_of_rows = "the same, averaged over time"
    if words.is_concepts:
        mean_of_rows = f"continual average: {words.score} of the {words.tasks} seen, over all of time"

    def column(key: str, title: str, summary: str, *ids: str) -> Column:
        return Column(key, title, summary, ids, ids[0])

    made = (
        column("aa", "average" if words.is_concepts else "AA", average, *at_the_end),
        column(
            "ca" if words.is_concepts else "aia",
            "CA" if words.is_concepts else "AIA",
            mean_of_rows,
            *_first(focus.headline, over_time),
            *any_time,
        ),
        column(
            "af",
            "AF",
            f"average forgetting of earlier {words.tasks}",
            *family["forgetting"],
            "anytime.windowed_forgetting",
        ),
        column("raa", "RAA", "AA, corrected for growing difficulty", *family["raa"], *family["uraa"]),
        column("raf", "RAF", "AF, corrected for growing difficulty", *family["raf"], *family["uraf"]),
        column("bwt", "BWT", "backward transfer", *_first(focus.bwt, family["bwt"])),
        column("fwt", "FWT", "forward transfer", *_first(focus.fwt, family["fwt"])),
        column("within", "within", f"forgetting: answered worse within the {words.task}", "split.within"),
        column("older", "older", f"forgetting: confused with older {words.tasks}", "split.older"),
        column("newer", "newer", f"forgetting: confused with newer {words.tasks}", "split.newer"),
        column("lost", "lost", "forgetting: the same question, answered worse", "split.lost"),
        column(
            "confusion",
            "confusion",
            "forgetting: the same model, asked among more classes",
            "split.confusion",
            "split.chance",
        ),
        column(
            "intransigence",
            "intransigence",
            f"how much worse new {words.tasks} are learned than by the joint learner",
            *family["intransigence"],
        ),
    )
    if not words.is_concepts:
        return made
    leading = ("ca", "bwt", "fwt", "af", "aa")
    return tuple(sorted(made, key=lambda one: leading.index(one.key) if one.key in leading else len(leading)))


def cost_columns(keys: Sequence[str]) -> tuple[Column, ...]:
    """The columns of what was measured of the cost; keys are `timings.*` and `cost.*`.

    >>> [(c.title, c.unit) for c in cost_columns(["timings.train_seconds", "cost.stored_samples"])]
    [('time', 's'), ('stored', 'samples')]
    """
    seconds = tuple(k for k in keys if k.startswith("timings."))
    sizes = tuple(k for k in keys if k.endswith("_bytes"))
    others = tuple(k for k in keys if k not in seconds and k not in sizes)
    made = (
        ("time", "time", "seconds of the run, mean over seeds", _first(TOTAL_TIME, seconds), "s"),
        ("memory", "memory", "megabytes, mean over seeds", _first("cost.train_peak_bytes", sizes), "MB"),
        ("stored", "stored", "samples kept by the learner", _first("cost.stored_samples", others), "samples"),
    )
    return tuple(Column(key, title, says, ids, ids[0], unit) for key, title, says, ids, unit in made if ids)


def applicable(
    columns: Sequence[Column], numbers: Sequence[Mapping[str, Number]]
) -> tuple[tuple[Column, ...], tuple[Refusal, ...]]:
    """Keep the columns in which some learner has a value; say of the others why not.

    A column starts with its first definition that has a value.
    """
    kept, dropped = [], []
    for column in columns:
        known = [id for id in column.ids if any(id in of and of[id].is_known for of in numbers)]
        if known:
            kept.append(Column(column.key, column.title, column.summary, tuple(known), known[0], column.unit))
            continue
        reasons = dict.fromkeys(of[id].reason for id in column.ids[:1] for of in numbers if id in of)
        why = "; ".join(reason for reason in reasons if reason) or "no run has a value"
        dropped.append(Refusal(f"the column {column.title} ({column.ids[0]})", why, part=column.key))
    return tuple(kept), tuple(dropped)


def _first(preferred: str, ids: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda id: id != preferred))
