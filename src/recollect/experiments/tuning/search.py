"""The part `tune` of an experiment file, read and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError, field_validator
from pydantic import model_validator as checked_together

from recollect.errors import UsageError
from recollect.experiments.file import Experiment, Model, StreamEntry, Whole, explain, load_yaml, read_text
from recollect.metrics.registry import get
from recollect.streams.validation import PART

# Seeds that no experiment has by default: what was chosen on them has not seen the seeds that are compared.
FIRST_SEED = 1000
TRIALS = 20
MOST_TRIALS = 1000
_Number = StrictInt | StrictFloat


class Range(Model):
    """Numbers from `low` to `high`, whole ones if both ends are; `log` draws them evenly over orders of magnitude."""

    low: _Number
    high: _Number
    log: StrictBool = False

    @checked_together(mode="after")
    def _ends(self) -> Range:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"low is below high, both finite; got low = {self.low}, high = {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a range with log begins above 0; got low = {self.low}")
        return self

    @property
    def is_whole(self) -> bool:
        """Whether whole numbers are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)


class Search(Model):
    """The part `tune` of an experiment file: which options of which learners, on what, by what, and how.

    `over` names learners by their labels, each with options and the values to try: a list, or a `Range` where they are
    drawn. `search` is "grid" (all combinations; `trials` takes so many of them), "random" or "tpe", which draw `trials`
    settings per learner, `at_once` of them before any is answered. `validation` is as in `validation_of`; `streams` are
    streams of other data to choose on instead. With `keep`, only this part of a grid goes on after each seed
    (successive halving). With `asha: 3`, a drawn setting goes on after a ninth, and after a third, of the rows only if
    it is in the best third of those that came so far.
    """

    over: dict[StrictStr, dict[StrictStr, Any]] = Field(min_length=1)
    search: Literal["grid", "random", "tpe"] = "grid"
    trials: Annotated[Whole, Field(le=MOST_TRIALS)] | None = None
    at_once: Whole = 4
    validation: float | dict[StrictStr, Any] = PART
    streams: tuple[StreamEntry, ...] = ()
    metric: StrictStr = "acc.average"
    keep: Annotated[float, Field(gt=0, le=1)] = 1.0
    asha: Annotated[StrictInt, Field(ge=2)] | None = None
    seeds: tuple[StrictInt, ...] = (FIRST_SEED, FIRST_SEED + 1)

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, given: Any) -> Any:
        if isinstance(given, int) and not isinstance(given, bool):
            given = tuple(range(FIRST_SEED, FIRST_SEED + given))
        if not isinstance(given, list | tuple) or not given or len(set(map(repr, given))) < len(given):
            raise ValueError(f"how many (at least 1), or a list of seeds, each once; got {given!r}")
        if any(isinstance(seed, int) and seed < 0 for seed in given):
            raise ValueError(f"seeds are from 0 on; got {list(given)}")
        return given

    @field_validator("over")
    @classmethod
    def _values(cls, given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            learner: {name: _values_of(f"{learner}.{name}", values) for name, values in over.items()}
            for learner, over in given.items()
        }

    @checked_together(mode="after")
    def _fits(self) -> Search:
        is_grid = self.search == "grid"
        drawn = next((n for over in self.over.values() for n, v in over.items() if isinstance(v, Range)), None)
        if is_grid and drawn is not None:
            raise ValueError(f"a grid tries lists of values, and {drawn} has a range; give a list, or search: tpe")
        if is_grid and self.asha is not None:
            raise ValueError("asha stops settings that are drawn (search: random or tpe); a grid has keep, such as 0.5")
        if not is_grid and self.keep < 1:
            raise ValueError(
                f"keep is for search: grid; settings that are drawn ({self.search}) are stopped by asha: 3"
            )
        return self

    @property
    def drawn(self) -> int:
        """How many settings of each learner are drawn."""
        return TRIALS if self.trials is None else self.trials

    @property
    def said_of(self) -> str:
        """What the settings are tried on, in words."""
        if self.streams:
            return ", ".join(entry.label for entry in self.streams)
        how = self.validation
        part, tasks = (how.get("part", PART), how.get("tasks")) if isinstance(how, Mapping) else (how, None)
        return f"{part:g} of the training samples" + (f" of the first {tasks} tasks" if tasks else "")


def _values_of(place: str, given: Any) -> Any:
    """The list or the range of values of an option."""
    if isinstance(given, list) and given:
        return given
    if isinstance(given, Mapping):
        try:
            return Range.model_validate(given)
        except ValidationError as error:
            raise ValueError(f"{place}: {explain(error, Range).rstrip('.')}") from None
    if isinstance(given, Range):
        return given
    empty = isinstance(given, list)
    raise ValueError(
        f"{place} is {'empty' if empty else repr(given)}; give a list of values to try, [0.01, 0.1], or a range,"
        " {low: 0.001, high: 1.0, log: true}"
    )


def read_search(path: Path) -> tuple[Experiment, Search]:
    """The experiment of a file and its part `tune`."""
    content = load_yaml(read_text(path), str(path))
    if not isinstance(content, dict) or "tune" not in content:
        raise UsageError(
            f"{path} has no part `tune`, which says what to try, such as tune: {{over: {{er: {{lr: [0.01, 0.1]}}}}}}."
        )
    searched = content.pop("tune")
    try:
        experiment = Experiment.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {explain(error)}") from None
    try:
        search = Search.model_validate(searched)
    except ValidationError as error:
        raise UsageError(f"{path}, tune: {explain(error, Search)}") from None
    refuse_leaks(experiment, search, str(path))
    return experiment, search


def refuse_leaks(experiment: Experiment, search: Search, where: str) -> None:
    """Raise UsageError where what is chosen would be compared on what it was chosen on."""
    get(search.metric)
    shared = sorted(set(search.seeds) & set(experiment.seeds))
    if shared:
        raise UsageError(
            f"{where}: tune.seeds and seeds share {shared}; what is chosen on a seed must not be compared on it. Give"
            " others."
        )
    names = {entry.name for entry in experiment.streams}
    both = next((entry.name for entry in search.streams if entry.name in names), None)
    if both is not None:
        raise UsageError(
            f"{where}: tune.streams and streams share {both!r}, so its test samples would choose what is compared on"
            " them. Give another stream, or leave tune.streams out: a part of the training samples is then held back."
        )
    if search.asha is not None and not experiment.checkpoints:
        raise UsageError(
            f"{where}: asha lets runs go on after a pause, and checkpoints: off keeps nothing to go on from."
        )
