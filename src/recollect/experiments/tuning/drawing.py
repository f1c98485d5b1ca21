"""Settings drawn by Optuna, at random or by TPE, and stopped early by its asynchronous successive halving (ASHA).

Everything is decided in the order of the settings' numbers, round by round: how many workers there are changes nothing,
and the same call over the same runs draws the same settings again, which is how a search goes on that was interrupted.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from recollect.errors import MissingExtra
from recollect.experiments.tuning.search import Range, Search
from recollect.experiments.tuning.settings import Trial, label_of, rank_of
from recollect.experiments.tuning.trying import Trying

_SEED = 0
# Digits of a drawn number that are kept: more would only make labels long.
_DIGITS = 3


class Drawing:
    """The draws of one learner's settings."""

    def __init__(self, learner: str, over: Mapping[str, Any], search: Search) -> None:
        self.learner, self._over, self._search = learner, over, search
        optuna = import_optuna()
        self._states = optuna.trial.TrialState
        halving = {"min_resource": 1, "reduction_factor": search.asha or 2}
        samplers = {
            "random": lambda: optuna.samplers.RandomSampler(seed=_SEED),
            "tpe": lambda: optuna.samplers.TPESampler(seed=_SEED, constant_liar=True),
        }
        with quiet(optuna):
            self._study = optuna.create_study(
                direction="maximize",
                sampler=samplers[search.search](),
                pruner=optuna.pruners.SuccessiveHalvingPruner(**halving),
            )
        self._optuna = optuna
        self.left = search.drawn

    def ask(self) -> list[tuple[Any, Trial]]:
        """The settings of the next round, drawn before any of them is answered."""
        count = min(self.left, self._search.at_once)
        self.left -= count
        made = []
        with quiet(self._optuna):
            for _ in range(count):
                drawn = self._study.ask()
                options = {name: _value(drawn, name, values) for name, values in self._over.items()}
                made.append((drawn, Trial(self.learner, options, label_of(self.learner, options))))
        return made

    def goes_on(self, drawn: Any, trial: Trial, rung: int) -> bool:
        """Whether a setting is among the best at this rung so far; one without a value there is not asked."""
        at = rank_of(trial)
        if trial.value is None or not math.isfinite(at):
            return trial.state != "failed"
        with quiet(self._optuna):
            drawn.report(at, (self._search.asha or 2) ** rung)
            return not drawn.should_prune()

    def tell(self, drawn: Any, trial: Trial) -> None:
        """What became of a setting."""
        at = rank_of(trial)
        with quiet(self._optuna):
            if trial.state == "stopped":
                self._study.tell(drawn, state=self._states.PRUNED)
            elif math.isfinite(at):
                self._study.tell(drawn, at)
            else:
                self._study.tell(drawn, state=self._states.FAIL)


def draw_and_try(search: Search, trying: Trying) -> list[Trial]:
    """All settings that were drawn, each once, with what they reached."""
    drawings = [Drawing(learner, over, search) for learner, over in search.over.items()]
    done: dict[str, Trial] = {}
    while any(drawing.left for drawing in drawings):
        asked = [(drawing, drawn, trial) for drawing in drawings for drawn, trial in drawing.ask()]
        going = {trial.label: trial for _, _, trial in asked if trial.label not in done}
        for rung, place in enumerate(places(search)):
            if not going:
                break
            reached = {trial.label: trial for trial in trying.upto(list(going.values()), place)}
            going = {label: trial for label, trial in reached.items() if trial.state != "failed"}
            done |= reached
            if place == len(search.seeds):
                break
            looked: set[str] = set()
            for drawing, drawn, trial in asked:
                if trial.label in going and trial.label not in looked:
                    looked.add(trial.label)
                    if not drawing.goes_on(drawn, going[trial.label], rung):
                        done[trial.label] = stopped(going.pop(trial.label))
        for drawing, drawn, trial in asked:
            drawing.tell(drawn, done[trial.label])
    return list(done.values())


def places(search: Search) -> list[float]:
    """After how many seeds' rows settings are looked at; the last place is the end.

    >>> [round(place, 2) for place in places(Search(over={"er": {"lr": [1]}}, search="tpe", asha=3, seeds=3))]
    [0.33, 1.0, 3]
    >>> places(Search(over={"er": {"lr": [1]}}, search="tpe", seeds=3))
    [3]
    """
    whole = len(search.seeds)
    return [whole / search.asha**2, whole / search.asha, whole] if search.asha else [whole]


def stopped(trial: Trial) -> Trial:
    """The setting as one that was not tried to the end."""
    return replace(trial, state="stopped")


def _value(drawn: Any, name: str, values: Any) -> Any:
    """A value of an option: one of a list, or a number of a range with so many digits."""
    if not isinstance(values, Range):
        return values[drawn.suggest_categorical(name, range(len(values)))]
    if values.is_whole:
        return drawn.suggest_int(name, values.low, values.high, log=values.log)
    number = float(f"{drawn.suggest_float(name, values.low, values.high, log=values.log):.{_DIGITS}g}")
    return min(max(number, float(values.low)), float(values.high))


def import_optuna() -> Any:
    """Optuna, or what brings it."""
    try:
        import optuna
    except ImportError:
        raise MissingExtra.of("optuna", "tune") from None
    return optuna


@contextlib.contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Without Optuna's lines about every trial, and its warnings that a feature is young."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
