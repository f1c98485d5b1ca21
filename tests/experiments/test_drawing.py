"""Settings drawn by Optuna and stopped early; and no search, on any kind of stream, takes a test sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect as rc
from recollect.errors import MissingExtra, NotComputable, UsageError
from recollect.experiments import running
from recollect.experiments.file import Experiment
from recollect.experiments.tuning import Search, Tuned, drawing, read_search, tune
from recollect.experiments.tuning.settings import Trial
from recollect.protocol import iter_run
from recollect.runs import load
from recollect.runs.reading import read_run
from recollect.runs.seeds import derive
from recollect.streams import Stream, make_stream
from recollect.streams.validation import validation_of

TWO = {"memory": {"low": 5, "high": 20}, "lr": {"low": 0.001, "high": 1.0, "log": True}}


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are made in this process: nothing here is about worker processes."""
    monkeypatch.setattr(running, "probed", lambda jobs, worker=None: None)
    monkeypatch.setattr(running, "run_jobs", lambda jobs, *_, **__: running.run_in_process(jobs))


class Forbidden:
    """Test samples that nobody may look at."""

    def __init__(self, shape: tuple[int, ...], dtype: str, count: int) -> None:
        self.shape, self.dtype, self._count = shape, np.dtype(dtype), count

    def __len__(self) -> int:
        return self._count

    def take(self, index: object) -> None:
        raise AssertionError("a test sample was taken")

    def digest(self, index: object, into: object) -> None:
        raise AssertionError("a test sample was hashed")


def closed(name: str = "digits", class_order_seed: int = 0, **options: Any) -> Stream:
    """A stream whose test samples cannot be read, and whose test labels and values are wrong."""
    order = {} if name == "diabetes" else {"class_order_seed": class_order_seed}
    stream = make_stream(name, **order, **options)
    data, count = stream.data, len(stream.data.y_test)
    shut: Any = Forbidden(data.test.shape, data.test.dtype.str, count)
    values = None if stream.values is None else (stream.values[0], np.full(count, np.nan))
    return replace(stream, data=replace(data, x_test=shut, y_test=np.full(count, -1)), values=values)


def experiment(streams: list[Any], learners: list[Any] | None = None) -> Experiment:
    small = {"memory": 20, "hidden": [8]}
    return Experiment.model_validate(
        {"name": "small", "streams": streams, "learners": learners or [{"er": small}], "seeds": 1, "device": "cpu"}
    )


def why_not(asked: Experiment, out: Path) -> str:
    """What stops this experiment."""
    try:
        return running.run_experiment(asked, out).failures[0].message
    except AssertionError as error:
        return str(error)


DIGITS = {"name": "digits", "tasks": 5, "subset": 60}
SEARCHES: dict[str, dict[str, Any]] = {
    "grid": {"over": {"er": {"lr": [0.01, 0.1]}}, "seeds": 2, "keep": 0.5},
    "random": {"over": {"er": TWO}, "search": "random", "trials": 3, "seeds": 1},
    "tpe": {"over": {"er": TWO}, "search": "tpe", "trials": 4, "asha": 2, "at_once": 2, "seeds": 1},
}
PATH = f"{__name__}:closed"
STREAMS: dict[str, dict[str, Any]] = {
    "classes": {"name": PATH, "arguments": {"tasks": 5, "subset": 60}},
    "domains": {"name": PATH, "arguments": {"name": "permuted-digits", "tasks": 2, "subset": 60}},
    "values": {"name": PATH, "arguments": {"name": "diabetes", "tasks": 3}},
}


@pytest.fixture
def _optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")


@pytest.mark.usefixtures("_optuna")
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("validation", [0.2, {"part": 0.2, "tasks": 2}])
def test_no_search_takes_a_test_sample(tmp_path: Path, search: str, stream: str, validation: Any) -> None:
    asked = experiment([{**STREAMS[stream], "label": "shut"}])
    made = tune(asked, Search(**SEARCHES[search], validation=validation), tmp_path)
    assert not any("test sample" in trial.message for trial in made.trials)
    assert "a test sample was" in why_not(asked, tmp_path)  # the comparison itself takes them


def test_values_that_are_held_back_are_those_of_the_training_samples() -> None:
    stream = make_stream("diabetes", tasks=3)
    assert stream.values is not None
    held = validation_of(stream, 0.2)
    for k, task in enumerate(held.tasks):
        np.testing.assert_array_equal(held.test_of(k)[1], stream.values[0][task.test])


def tried(made: Tuned) -> list[Any]:
    return [(t.label, t.state, None if t.value is None else float(t.value.value)) for t in made.trials]


@pytest.mark.usefixtures("_optuna")
def test_bad_settings_stop_early_and_the_same_call_goes_on(tmp_path: Path) -> None:
    search = Search(over={"er": TWO}, search="tpe", asha=2, trials=8, validation=0.2, seeds=2, at_once=3)
    made = tune(experiment([DIGITS]), search, tmp_path / "a")
    states = [trial.state for trial in made.trials]
    assert len(states) == 9
    assert set(states) == {"finished", "stopped"}
    assert made.trials[0].label == "er memory=20"
    assert made.trials[0].state == "finished"
    rows = {run.learner: len(run.rows) for run in load(made.folder) if run.seed == 1000}
    assert all((rows[t.label] < 6) or t.seeds > 1 or t.state == "stopped" for t in made.trials)
    assert min(rows.values()) == 1 + 3  # the first look is after half of the first seed's rows
    assert all(trial.seconds > 0 for trial in made.trials)
    best = max(float(t.value.value) for t in made.trials if t.state == "finished" and t.value is not None)
    assert made.chosen["er"].value is not None
    assert float(made.chosen["er"].value.value) == best

    kept = {path: path.read_bytes() for path in made.folder.glob("*/rows.jsonl")}
    again = tune(experiment([DIGITS]), search, tmp_path / "a")
    assert tried(again) == tried(made)
    assert {path: path.read_bytes() for path in made.folder.glob("*/rows.jsonl")} == kept
    assert again.file.read_text() == made.file.read_text()


@pytest.mark.usefixtures("_optuna")
def test_an_interrupted_search_ends_as_one_that_was_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(over={"er": TWO}, search="tpe", asha=2, trials=5, validation=0.2, seeds=1, at_once=2)
    whole = tune(experiment([DIGITS]), search, tmp_path / "whole")
    left = 9

    def killed(jobs: Any, *_: Any, **__: Any) -> Iterator[Any]:
        nonlocal left
        for told in running.run_in_process(jobs):
            left -= 1
            if not left:
                raise KeyboardInterrupt
            yield told

    monkeypatch.setattr(running, "run_jobs", killed)
    with pytest.raises(KeyboardInterrupt):
        tune(experiment([DIGITS]), search, tmp_path / "killed")
    left = 10**9
    assert tried(tune(experiment([DIGITS]), search, tmp_path / "killed")) == tried(whole)


@pytest.mark.usefixtures("_optuna")
def test_the_record_of_every_later_run_has_the_search(tmp_path: Path) -> None:
    search = Search(**SEARCHES["tpe"], validation=0.2)
    made = tune(experiment([DIGITS], [{"er": {"hidden": [8]}}, "random"]), search, tmp_path)
    outcome = running.run_experiment(rc.experiments.read(made.file), tmp_path)
    runs = {run.learner: run for run in load(outcome.folder)}
    told = runs["er"].tuning
    assert told["chosen"] == dict(made.chosen["er"].options)
    assert [row["state"] for row in told["tried"]] == [trial.state for trial in made.trials]
    assert told["cpu_seconds"] >= 0
    assert told["tuned_on"] == "0.2 of the training samples"
    assert {"optuna", "asha", "over", "seeds", "metric"} <= set(told)
    assert runs["er"].notes.count(told["said"]) == 1
    assert not runs["random"].tuning
    assert not any("tuned" in note for note in runs["random"].notes)


@pytest.mark.usefixtures("_optuna")
@pytest.mark.parametrize("search", [{"search": "grid"}, {"search": "tpe", "trials": 6, "asha": 2}])
def test_of_errors_the_lowest_is_chosen(tmp_path: Path, search: Any) -> None:
    asked = experiment([{"name": "diabetes", "tasks": 3}], [{"finetune": {"hidden": [8], "lr": 0.0001}}])
    over = {"finetune": {"lr": [0.00001, 0.001]}}
    made = tune(asked, Search(over=over, validation=0.2, seeds=1, **search), tmp_path)
    values = {t.label: float(t.value.value) for t in made.trials if t.state == "finished" and t.value is not None}
    assert min(values, key=lambda label: values[label]) == made.chosen["finetune"].label
    assert len(set(values.values())) > 1


@pytest.mark.usefixtures("_optuna")
def test_a_setting_that_fails_is_told_and_not_chosen(tmp_path: Path) -> None:
    asked = experiment([DIGITS], [{f"{__name__}:Fickle": {}, "label": "own"}])
    for search in ({"search": "grid"}, {"search": "tpe", "asha": 2, "trials": 8}):
        made = tune(asked, Search(over={"own": {"a": [1, 2]}}, seeds=1, **search), tmp_path / search["search"])
        states = {trial.label: (trial.state, trial.message) for trial in made.trials}
        assert states["own a=1"] == ("finished", "")
        assert states["own a=2"] == ("failed", "RuntimeError: no luck with 2")
        assert "3 settings by acc.average" in made.said["own"]
        assert ", 1 failed" in made.said["own"]
        assert made.chosen["own"].state == "finished"


def test_if_all_fail_nothing_is_chosen(tmp_path: Path) -> None:
    broken = experiment([DIGITS], [{f"{__name__}:Fickle": {"a": 2}, "label": "own"}])
    with pytest.raises(NotComputable, match="2 failed, the first with: RuntimeError: no luck with 2"):
        tune(broken, Search(over={"own": {"a": [2, 3]}}, validation=0.2, seeds=1), tmp_path)
    assert not list(tmp_path.glob("*/tuned.yaml"))


class Fickle:
    """A learner that gets somewhere with 1 alone."""

    stored_samples = stored_bytes = 0

    def __init__(self, setting: Any, seeds: Any, a: int = 1) -> None:
        self.classes, self.a = setting.n_classes, a

    def learn(self, batch: Any) -> None:
        if self.a > 1:
            raise RuntimeError(f"no luck with {self.a}")

    def score(self, x: Any) -> Any:
        return np.zeros((len(x), self.classes))

    def end_task(self) -> None: ...

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Any) -> None: ...


@pytest.mark.usefixtures("_optuna")
def test_settings_are_chosen_on_other_data(tmp_path: Path) -> None:
    asked = experiment([{"name": PATH, "arguments": {"tasks": 5, "subset": 60}, "label": "shut"}])
    made = tune(asked, Search(over={"er": {"lr": [0.1]}}, seeds=1, streams=[DIGITS]), tmp_path)
    assert "options of er tuned on digits, seeds 1000" in made.said["er"]
    assert all("validation" not in str(run.notes) for run in load(made.folder))


def test_without_optuna_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(MissingExtra, match=r"recollect\[tune\]"):
        tune(experiment([DIGITS]), Search(over={"er": TWO}, search="tpe"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_that_paused_ends_as_one_that_did_not(tmp_path: Path) -> None:
    from recollect.learners import Setting, make_learner

    stream = make_stream("digits", tasks=5, subset=60)

    def run(place: Path, until: int | None) -> None:
        learner = make_learner("er", {"memory": 20, "hidden": [8]}, Setting.of(stream), derive(0))
        for _ in iter_run(learner, stream, place, name="er", until=until):
            pass

    run(tmp_path / "whole", None)
    for until, rows in ((1, 3), (1, 3), (0, 3), (2, 4), (4, 6)):
        run(tmp_path / "paused", until)
        there = read_run(tmp_path / "paused")
        assert len(there.rows) == rows
        assert there.timings["train_cpu_seconds"] > 0
    assert read_run(tmp_path / "paused").status == "finished"
    files = [tmp_path / name / "rows.jsonl" for name in ("whole", "paused")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_pauses_need_checkpoints(tmp_path: Path) -> None:
    text = "{name: a, streams: [digits], learners: [er], checkpoints: off, tune: {over: {er: {lr: [1]}}, search: tpe,"
    path = tmp_path / "a.yaml"
    path.write_text(text + " asha: 3}, seeds: 1}")
    with pytest.raises(UsageError, match="checkpoints: off keeps nothing"):
        read_search(path)


@pytest.mark.usefixtures("_optuna")
def test_drawn_numbers_are_short_and_inside_their_range() -> None:
    over = {"lr": {"low": 0.0012345, "high": 0.0012346}, "k": {"low": 1, "high": 3}, "name": ["a", [1]]}
    search = Search(over={"er": over}, search="random", trials=4)
    draws = drawing.Drawing("er", search.over["er"], search)
    for _, trial in draws.ask():
        assert isinstance(trial, Trial)
        assert 0.0012345 <= trial.options["lr"] <= 0.0012346
        assert trial.options["k"] in (1, 2, 3)
        assert trial.options["name"] in ("a", [1])
