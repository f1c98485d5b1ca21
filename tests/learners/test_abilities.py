"""Hooks of a learner: those that it has are used, those that are misspelt are found before anything is trained."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from types import MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.learners import Setting, wrap
from recollect.learners.abilities import (
    HOOKS,
    Flags,
    LearnsUnits,
    Noted,
    Represents,
    Sees,
    SelectsWeights,
    Settles,
    Signals,
    misspelt,
)
from recollect.learners.base import Learner
from recollect.learners.guess import RandomGuess
from recollect.learners.options import NoOptions
from recollect.protocol import iter_protocol, run_protocol
from recollect.runs.seeds import derive
from recollect.streams import stream_from_arrays

X = np.arange(24, dtype=np.float32).reshape(12, 2)
Y = np.array([0, 1, 2, 3] * 3)


def stream() -> Any:
    return stream_from_arrays(X, Y, X, Y, name="toy", tasks=2, batch=4)


class Whole:
    """All that a learner must have."""

    stored_samples = 0
    stored_bytes = 0

    def learn(self, batch: Any) -> None:
        pass

    def score(self, x: Any, task: Any = None) -> Any:
        return np.zeros((len(x), 4))

    def end_task(self) -> None:
        pass

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


class Part:
    """What `wrap` completes."""

    def learn(self, batch: Any) -> None:
        pass

    def score(self, x: Any) -> Any:
        return np.zeros((len(x), 4))


def with_method(base: type, name: str) -> Any:
    return type("Mine", (base,), {name: lambda self, *given: None})()


SLIPS = {
    "setle": "settle",
    "settel": "settle",
    "settled": "settle",
    "sattle": "settle",
    "Settle": "settle",
    "flaged": "flagged",
    "is_flagged": "flagged",
    "flgaged": "flagged",
    "end_tasks": "end_task",
    "endTask": "end_task",
    "on_task_end": "end_task",
    "end_of_task": "end_task",
    "end_tsak": "end_task",
    "store_samples": "stored_samples",
    "stored_sample": "stored_samples",
    "samples_stored": "stored_samples",
    "stored_byte": "stored_bytes",
    "note": "notes",
    "notes_": "notes",
}


@pytest.mark.parametrize(("slip", "hook"), SLIPS.items())
def test_a_misspelt_hook_is_an_error_that_names_the_hook(slip: str, hook: str) -> None:
    with pytest.raises(UsageError, match=f"has '{slip}', which nothing calls; the nearest that is called is '{hook}'"):
        wrap(with_method(Part, slip), Setting.of(stream()))


@pytest.mark.parametrize("slip", ["setle", "flaged", "lern", "scoer", "staet", "restor", "end_tasks"])
def test_an_inherited_hook_hides_no_slip(slip: str, tmp_path: Path) -> None:
    mine = type("Mine", (RandomGuess,), {slip: lambda self, *given: None})
    learner = mine(NoOptions(), Setting.of(stream()), derive(0))
    with pytest.raises(UsageError, match=f"has '{slip}', which nothing calls"):
        run_protocol(learner, stream(), tmp_path / "r", name="mine")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "name",
    [
        *("rehearse", "store", "stats", "nodes", "votes", "clone", "lock", "block", "stage", "restart", "setup"),
        *("tagged", "state_dict", "load_state_dict", "train", "predict", "fit", "forward", "learning_rate"),
        *(
            "start_task",
            "new_task",
            "task",
            "samples",
            "sample_memory",
            "bytes",
            "scope",
            "_setle",
            "restock",
            "seen",
            "seed",
            "sees",
        ),
    ],
)
def test_a_method_of_ones_own_is_no_slip(name: str) -> None:
    mine = type("Mine", (RandomGuess,), {name: lambda self: None})
    learner = mine(NoOptions(), Setting.of(stream()), derive(0))
    assert len(list(iter_protocol(learner, stream(), seed=0))) == 3


def test_beside_the_hook_itself_a_name_like_it_is_fine() -> None:
    class Both(Part):
        stored = 3

        def store_samples(self) -> None:
            pass

        @property
        def stored_samples(self) -> int:
            return self.stored

    assert wrap(Both(), Setting.of(stream())).stored_samples == 3


@pytest.mark.parametrize("package", ["sklearn", "torch"])
def test_no_class_of_a_library_has_a_slip(package: str) -> None:
    if package == "torch":
        from torch import nn, optim

        classes: list[type] = [nn.Module, nn.Sequential, nn.LSTM, optim.SGD]
    else:
        from sklearn.utils import all_estimators

        classes = [found for _, found in all_estimators()]
    assert classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are deprecated
        assert [one for one in classes if list(misspelt(one.__new__(one)))] == []


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("stored_samples", lambda self: 3, "read as a value, and it is a method"),
        ("notes", lambda self: (), "read as a value, and it is a method"),
        ("settle", True, r"called as settle\(\), and it is a bool"),
        ("end_task", property(lambda self: None), "it is a property. Make it a method"),
        ("settle", lambda self, task: None, r"called as settle\(\), and it is settle\(task\)"),
        ("flagged", lambda self, scores: None, r"called as flagged\(scores, task\)"),
        ("learn", lambda self, x, y: None, r"called as learn\(batch\), and it is learn\(x, y\)"),
        ("restore", lambda self: None, r"called as restore\(state\)"),
    ],
)
def test_a_hook_that_cannot_be_one(name: str, wrong: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        next(iter_protocol(type("Mine", (Whole,), {name: wrong})(), stream(), seed=0))
    with pytest.raises(UsageError, match=message):
        wrap(type("Mine", (Part,), {name: wrong})(), Setting.of(stream()))


@pytest.mark.parametrize("lacking", ["learn", "score", "end_task"])
def test_what_is_lacking_is_said_before_training(lacking: str) -> None:
    parts = {name: value for name, value in vars(Whole).items() if name not in (lacking, "__dict__", "__weakref__")}
    mine = type("Mine", (), {**parts, f"{lacking}s": lambda self: None})()
    with pytest.raises(UsageError, match=f"lacks {lacking}. It has '{lacking}s': is that '{lacking}'?"):
        next(iter_protocol(mine, stream(), seed=0))


def test_without_state_a_run_is_refused_before_its_folder_is_made(tmp_path: Path) -> None:
    parts = {name: value for name, value in vars(Whole).items() if name in ("learn", "score", "end_task")}
    mine: Any = type("Mine", (), parts)()
    assert len(list(iter_protocol(mine, stream(), seed=0))) == 3
    with pytest.raises(UsageError, match="lacks restore and state and stored_bytes and stored_samples"):
        run_protocol(mine, stream(), tmp_path / "r", name="mine")
    assert not (tmp_path / "r").exists()


def test_the_hooks_of_a_wrapped_object_are_used(tmp_path: Path) -> None:
    class Lazy(Part):
        notes = ("two were left out",)

        def __init__(self) -> None:
            self.settled = 0

        def settle(self) -> None:
            self.settled += 1

    mine = Lazy()
    run = run_protocol(wrap(mine, Setting.of(stream())), stream(), tmp_path / "r", name="mine")
    assert mine.settled == 2
    assert "two were left out" in run.notes


def test_every_hook_of_the_protocols_is_known() -> None:
    protocols = (Flags, LearnsUnits, Noted, Represents, Sees, SelectsWeights, Settles, Signals, Learner)
    assert {member for one in protocols for member in vars(one) if not member.startswith("_")} <= set(HOOKS)


class Ours:
    def __call__(self) -> None:
        pass


@pytest.mark.parametrize(
    ("slip", "value", "hook"),
    [
        ("setle", lambda: None, "settle"),
        ("setle", partial(print), "settle"),
        ("setle", Ours(), "settle"),
        ("flaged", MethodType(lambda self, scores, task: scores, 0), "flagged"),
        ("note", ("said",), "notes"),
        ("stored_sample", 3, "stored_samples"),
        ("signal", [4], "signals"),
        ("learns_at_end", True, "learns_at_ends"),
        ("endtask", lambda: None, "end_task"),
    ],
)
def test_a_slip_is_found_in_classes_objects_modules_and_what_is_wrapped(slip: str, value: Any, hook: str) -> None:
    on_class = type("Mine", (Part,), {slip: value})()
    on_object = Part()
    setattr(on_object, slip, value)
    slotted = type("Slotted", (Part,), {"__slots__": (slip,)})()
    setattr(slotted, slip, value)
    module = ModuleType("mine")
    vars(module).update(learn=lambda batch: None, score=lambda x: np.zeros((len(x), 4)), **{slip: value})
    for mine in (on_class, on_object, slotted, module, SimpleNamespace(**vars(module))):
        with pytest.raises(UsageError, match=f"has '{slip}', which nothing calls; .* '{hook}'"):
            wrap(mine, Setting.of(stream()))


def test_other_letters_beside_the_hook_are_a_slip_too() -> None:
    with pytest.raises(UsageError, match="'endTask', which nothing calls"):
        next(iter_protocol(with_method(Whole, "endTask"), stream(), seed=0))


@pytest.mark.parametrize("name", ["signal", "states", "score_history", "noted"])
def test_a_value_of_another_kind_is_no_slip(name: str) -> None:
    mine = Part()
    setattr(mine, name, {"loss": 0.5})
    assert not list(misspelt(mine))


@pytest.mark.parametrize(
    ("hook", "value", "message"),
    [
        ("notes", "one sentence", "notes is read as a tuple of sentences"),
        ("stored_samples", None, "stored_samples is read as a number"),
        ("signals", 3, "signals is read as a tuple of steps"),
        ("learns_at_ends", "yes", "learns_at_ends is read as True or False"),
    ],
)
def test_a_value_that_is_none_is_refused_before_the_run(hook: str, value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        next(iter_protocol(type("Mine", (Whole,), {hook: value})(), stream(), seed=0))


def test_half_an_ability_is_refused() -> None:
    with pytest.raises(UsageError, match="Mine has keep_if_best alone"):
        next(iter_protocol(type("Mine", (Whole,), {"keep_if_best": lambda self, accuracy: None})(), stream(), seed=0))


def test_all_that_a_wrapped_object_can_do_is_used() -> None:
    class Able(Part):
        signals = (4,)
        learns_at_ends = True
        selects_weights = False

        def flagged(self, scores: Any, task: Any) -> Any:
            return scores[:, 0] > 0

        def represent(self, x: Any) -> Any:
            return x

        def keep_if_best(self, accuracy: float) -> None:
            self.best = accuracy

    mine = Able()
    learner: Any = wrap(mine, Setting.of(stream()))
    for ability in (Flags, LearnsUnits, Represents, SelectsWeights, Signals):
        assert isinstance(learner, ability), ability
    learner.keep_if_best(0.5)
    assert (mine.best, learner.signals, learner.learns_at_ends, learner.selects_weights) == (0.5, (4,), True, False)
    assert learner.represent(X) is X
    for ability in (Flags, LearnsUnits, Represents, SelectsWeights, Signals):
        assert not isinstance(wrap(Part(), Setting.of(stream())), ability), ability
    rows = iter_protocol(learner, stream(), seed=0)
    assert next(rows).signals == ()
    mine.signals = (4, 8)
    assert next(rows).signals == (8,)
