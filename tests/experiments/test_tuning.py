"""Options are chosen on training samples that are held back; test samples are never taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from recollect.errors import UsageError
from recollect.experiments import read, running
from recollect.experiments.running import run_experiment
from recollect.experiments.tuning import read_search, settings, tune
from recollect.runs import load
from recollect.streams import make_stream
from recollect.streams.validation import validation_of

FILE = """
name: small
streams: [{name: digits, tasks: 2, subset: 30}]
learners: [{er: {memory: 20, hidden: [16], lr: 0.0001}}, random]
seeds: 1
tune: {over: {er: {lr: [0.00001, 0.1]}}, validation: 0.2, seeds: 1}
"""


@pytest.fixture(autouse=True)
def _here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are made in this process, but for the one test of the whole path."""
    if "every_later_run" not in request.node.name:
        monkeypatch.setattr(running, "probed", lambda jobs, worker=None: None)
        monkeypatch.setattr(running, "run_jobs", lambda jobs, *_, **__: running.run_in_process(jobs))


def write(folder: Path, text: str = FILE) -> Path:
    path = folder / "experiment.yaml"
    path.write_text(text)
    return path


def test_what_is_held_back_is_neither_trained_on_nor_a_test_sample() -> None:
    stream = make_stream("digits", tasks=5)
    held = validation_of(stream, 0.25)
    for before, now in zip(stream.tasks, held.tasks, strict=True):
        assert not set(now.train.tolist()) & set(now.test.tolist())
        assert sorted([*now.train.tolist(), *now.test.tolist()]) == sorted(before.train.tolist())
        counts = np.bincount(stream.data.y_train[now.test], minlength=10)
        assert set(np.flatnonzero(counts).tolist()) == set(np.unique(stream.data.y_train[before.train]).tolist())
    assert held.fingerprint != stream.fingerprint
    assert validation_of(stream, 0.25).fingerprint == held.fingerprint
    assert len(validation_of(stream, {"part": 0.1, "tasks": 3}).tasks) == 3


@pytest.mark.parametrize("options", [{}, {"scenario": "class-incremental", "tasks": 5, "blurry": 0.3}])
def test_a_sample_that_comes_in_several_tasks_is_trained_on_in_none(options: dict[str, object]) -> None:
    stream = make_stream("digits" if options else "permuted-digits", **options)  # type: ignore[arg-type]
    held = validation_of(stream, 0.2)
    trained = np.concatenate([task.train for task in held.tasks])
    tested = np.concatenate([task.test for task in held.tasks])
    assert len(tested)
    assert not np.intersect1d(trained, tested).size


def test_values_are_held_back_without_classes() -> None:
    stream = make_stream("diabetes", tasks=3)
    held = validation_of(stream, 0.2)
    for before, now in zip(stream.tasks, held.tasks, strict=True):
        assert len(now.test) == round(0.2 * len(before.train))
        assert sorted([*now.train.tolist(), *now.test.tolist()]) == sorted(before.train.tolist())


class Forbidden:
    """Test samples that nobody may look at."""

    shape, dtype = (1, 8, 8), np.dtype(np.uint8)

    def __len__(self) -> int:
        return 10

    def take(self, index: object) -> None:
        raise AssertionError("a test sample was taken")

    def digest(self, index: object, into: object) -> None:
        raise AssertionError("a test sample was hashed")


def test_no_test_sample_is_read() -> None:
    stream = make_stream("digits", tasks=5)
    closed = replace(stream, data=replace(stream.data, x_test=Forbidden(), y_test=np.zeros(10, np.int64)))  # type: ignore[arg-type]
    held = validation_of(closed, 0.2)
    assert len(held.fingerprint) > 5
    assert sum(len(batch.y) for batch in held.test_batches()) == sum(len(task.test) for task in held.tasks)
    assert [len(held.test_of(k)[1]) > 0 for k in range(5)] == [True] * 5
    with pytest.raises(AssertionError, match="a test sample was"):
        next(closed.test_batches())


@pytest.mark.parametrize("how", [0, 1, "much", {"share": 0.1}, {"tasks": 9}, True])
def test_what_is_no_validation_is_one_sentence(how: object) -> None:
    with pytest.raises(UsageError, match="validation"):
        validation_of(make_stream("digits", tasks=5), how)  # type: ignore[arg-type]


def test_the_better_setting_is_chosen_and_every_later_run_says_so(tmp_path: Path) -> None:
    experiment, search = read_search(write(tmp_path))
    assert [trial.label for trial in settings(experiment, search)] == ["er lr=0.0001", "er lr=1e-05", "er lr=0.1"]
    made = tune(experiment, search, tmp_path, workers=1)
    assert made.chosen["er"].options == {"lr": 0.1}
    values = {trial.label: float(trial.value.value) for trial in made.trials if trial.value is not None}
    assert values["er lr=0.1"] > values["er lr=1e-05"]
    assert {run.seed for run in load(made.folder)} == {1000}
    tuned = yaml.safe_load(made.file.read_text())
    assert tuned["learners"][0]["er"] == {"memory": 20, "hidden": [16], "lr": 0.1}
    outcome = run_experiment(read(made.file), tmp_path, workers=1)
    notes = {note for run in load(outcome.folder) for note in run.notes}
    assert any(
        "options of er tuned on 0.2 of the training samples, seeds 1000: 3 settings by acc.average" in n for n in notes
    )
    test_size = sum(task.n_samples or 0 for task in load(outcome.folder)[0].tasks)
    assert test_size == sum(len(t.test) for t in make_stream("digits", tasks=2, subset=30).tasks)


def test_bad_settings_are_not_tried_on_further_seeds(tmp_path: Path) -> None:
    text = FILE.replace("[0.00001, 0.1]", "[0.00001, 0.00002, 0.1]").replace("seeds: 1}", "seeds: 3, keep: 0.5}")
    made = tune(*read_search(write(tmp_path, text)), tmp_path, workers=1)
    assert {trial.label: trial.seeds for trial in made.trials}["er lr=0.1"] == 3
    assert sorted(trial.seeds for trial in made.trials) == [1, 1, 2, 3]
    assert made.chosen["er"].options == {"lr": 0.1}
    assert "the best 0.5 of them kept after each seed" in made.said["er"]
    assert len(load(made.folder)) == 7
    again = tune(*read_search(write(tmp_path, text)), tmp_path, workers=1)
    assert [(trial.label, trial.seeds) for trial in again.trials] == [(t.label, t.seeds) for t in made.trials]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("tune: {over: {er: {lr: [0.1]}}, keep: 0}", "keep"),
        ("tune: {over: {lwf: {lr: [1]}}}", "tune.over names 'lwf'; the learners of the file are er, random"),
        ("tune: {over: {er: {lr: []}}}", "er.lr is empty; give a list"),
        ("tune: {over: {er: {}}}", "it is empty"),
        ("tune: {over: {er: {lr: 0.1}}}", r"er.lr is 0.1; give a list of values"),
        ("tune: {over: {er: {lr: {low: 1, high: 0.1}}}, search: tpe}", "low is below high"),
        ("tune: {over: {er: {lr: {low: 0, high: 1, log: true}}}, search: tpe}", "above 0"),
        ("tune: {over: {er: {lr: {low: .nan, high: 1}}}, search: tpe}", "finite"),
        ("tune: {over: {er: {lr: {low: 0.1, hi: 1}}}, search: tpe}", "unknown key 'hi'; did you mean 'high'"),
        ("tune: {over: {er: {lr: {low: 0.1, high: 1}}}}", "lr has a range; give a list, or search: tpe"),
        ("tune: {over: {er: {lr: [1]}}, search: bayes}", "search"),
        ("tune: {over: {er: {lr: [1]}}, asha: 3}", "a grid has keep"),
        ("tune: {over: {er: {lr: [1]}}, search: tpe, keep: 0.5}", "stopped by asha"),
        ("tune: {over: {er: {lr: [1]}}, search: tpe, asha: 1}", "asha"),
        ("tune: {over: {er: {lr: [1]}}, search: tpe, trials: 0}", "trials"),
        ("tune: {over: {er: {lr: [1]}}, streams: [digits]}", "share 'digits'"),
        ("tune: {over: {er: {lr: [1]}}, streams: [digit]}", "digit"),
        ("tune: {over: {er: {lr: [1]}}, seeds: []}", "seeds"),
        ("tune: {over: {er: {lr: [1]}}, seeds: [1, 1]}", "each once"),
        ("tune: {over: {er: {lr: [1]}}, seeds: [-1]}", "from 0 on"),
        ("tune: {over: {er: {learning: [1]}}}", "no option 'learning'|'learning'"),
        ("tune: {over: {er: {lr: [0.1]}}, seeds: [0]}", r"share \[0\]"),
        ("tune: {over: {er: {lr: [0.1]}}, metric: acc.avrage}", "acc.average"),
        ("tune: {ovr: {er: {lr: [0.1]}}}", "unknown key 'ovr'; did you mean 'over'"),
        ("", "has no part `tune`"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, part: str, message: str) -> None:
    text = FILE.replace("tune: {over: {er: {lr: [0.00001, 0.1]}}, validation: 0.2, seeds: 1}", part)
    with pytest.raises(UsageError, match=message):
        tune(*read_search(write(tmp_path, text)), tmp_path, workers=1)
    assert [path.name for path in tmp_path.iterdir()] == ["experiment.yaml"]


def test_a_draw_of_many_combinations_is_the_same_every_time(tmp_path: Path) -> None:
    over = "{er: {lr: [0.1, 0.2, 0.3, 0.4], memory_batch: [1, 2, 3, 4]}}"
    text = FILE.replace("{er: {lr: [0.00001, 0.1]}}", over).replace("seeds: 1}", "seeds: 1, trials: 5}")
    first, second = (settings(*read_search(write(tmp_path, text))) for _ in range(2))
    assert first == second
    assert len(first) == 6
