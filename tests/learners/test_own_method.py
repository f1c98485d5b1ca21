"""The tutorial of a method of one's own: it runs as it stands, and what the page promises holds."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from recollect.errors import UsageError
from recollect.experiments.file import parse
from recollect.experiments.grid import grid
from recollect.experiments.worker import run_job
from recollect.learners import Setting, make_learner
from recollect.learners.pieces import ExperienceReplay, Finetune, Reservoir, Train
from recollect.protocol import iter_protocol, iter_run, run_protocol
from recollect.runs.reading import read_run
from recollect.runs.seeds import derive

from .helpers import SEEDS, feed, same, through_disk

PAGE = Path(__file__).parents[2] / "docs" / "own-method.md"


@pytest.fixture
def mir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The page's module, in a folder where one would start."""
    (code,) = re.findall(r"```python\n(# mir.py\n.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "mir.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mir", raising=False)
    yield importlib.import_module("mir")
    sys.modules.pop("mir", None)


def test_the_tutorials_experiment_runs(mir: Any, tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(# mir.yaml\n.*?)```", PAGE.read_text(), re.DOTALL)
    jobs = grid(parse(text.replace("name: digits,", "name: digits, subset: 20,")), tmp_path / "results")
    assert [(job.learner_label, job.seed) for job in jobs] == [("er", 0), ("mir", 0), ("er", 1), ("mir", 1)]
    for job in jobs[:2]:
        run_job(job, lambda *given: None)
        assert read_run(job.folder).status == "finished"


def test_it_is_short(mir: Any) -> None:
    code = (Path("mir.py")).read_text().splitlines()
    body = [line for line in code if line.strip() and not line.startswith(("#", "import", "from"))]
    assert len(body) <= 20


def test_it_replays_what_suffers_most(mir: Any, digits: Any) -> None:
    """Against the definition, with a copy of the network that takes the step."""
    learner = make_learner("mir:MIR", {"memory": 40, "candidates": 30, "lr": 0.05}, Setting.of(digits), SEEDS, "cpu")
    batches = list(digits.batches(1))
    feed(learner, batches[:30])
    weights = [weight.clone() for weight in learner.optimiser.parameters]
    batch = batches[40]
    spare = Reservoir(40, 0)
    spare.restore(learner.memory.state())
    candidates = spare.sample(30)
    chosen = learner.retrieve(batch)
    for before, after in zip(weights, learner.optimiser.parameters, strict=True):
        assert torch.equal(before, after)
    other = make_learner("finetune", {"lr": 0.05}, Setting.of(digits), SEEDS, "cpu")
    other.network.load_state_dict(learner.network.state_dict())
    x, y = learner.held(candidates)
    before = other.losses(x, y)
    other.learn(batch)
    rise = (other.losses(x, y) - before).numpy()
    assert set(chosen) == set(candidates[np.argsort(-rise)[:10]])


def test_it_is_resumed_and_counted_with_no_extra_work(mir: Any, digits: Any, tmp_path: Path) -> None:
    def new() -> Any:
        return make_learner("mir:MIR", {"memory": 30, "candidates": 20}, Setting.of(digits), derive(0), "cpu")

    whole = run_protocol(new(), digits, tmp_path / "whole", name="mir")
    assert whole.cost["stored_samples"] == 30
    rows = iter_run(new(), digits, tmp_path / "cut", name="mir")
    for _ in range(3):
        next(rows)
    rows.close()
    run_protocol(new(), digits, tmp_path / "cut", name="mir")
    assert (tmp_path / "cut" / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()


def test_it_is_the_registered_learner(mir: Any, digits: Any) -> None:
    batches = list(digits.batches(1))[:80]
    config = {"memory": 40, "candidates": 30}
    both = [make_learner(name, config, Setting.of(digits), SEEDS, "cpu") for name in ("mir:MIR", "mir")]
    assert same(*(feed(learner, batches).state() for learner in both))


def test_its_options_are_checked(mir: Any, digits: Any) -> None:
    for config, message in (
        ({"candidate": 3}, "has no option 'candidate'; the nearest is 'candidates'"),
        ({"candidates": 0}, "'candidates' of the learner 'mir:MIR' is a whole number of at least 1; got 0"),
        ({"memory": -1}, "'memory' of the learner 'mir:MIR'"),
    ):
        with pytest.raises(UsageError, match=message):
            make_learner("mir:MIR", config, Setting.of(digits), SEEDS, "cpu")


@pytest.mark.parametrize("slip", ["retreive", "retrive", "rember", "remembers", "trainOn", "train_one", "end_tasks"])
def test_a_misspelt_method_is_an_error(slip: str, digits: Any) -> None:
    mine = type("Mine", (ExperienceReplay,), {slip: lambda self, batch: None})
    learner = mine(mine.Options(memory=20), Setting.of(digits), SEEDS, "cpu")
    with pytest.raises(UsageError, match=f"has '{slip}', which nothing calls"):
        next(iter_protocol(learner, digits, seed=0))


class Counts(ExperienceReplay):
    """Draws, and keeps a number, an array, a tensor and a second memory."""

    keeps = ("met", "sums", "trace", "spare")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.met, self.sums, self.trace = 0, np.zeros(3), torch.zeros(2)
        self.spare = Reservoir(5, 0)

    def retrieve(self, batch: Any) -> Any:
        self.met += 1
        self.sums += self.rng.random(3)
        self.trace = self.trace + float(self.rng.random())
        self.spare.add(batch.x, batch.y)
        return self.memory.sample(int(self.rng.integers(1, 10)))


def test_what_a_subclass_keeps_and_draws_is_part_of_its_state(digits: Any) -> None:
    def new() -> Any:
        return Counts(Counts.Options(memory=20), Setting.of(digits), SEEDS, "cpu")

    batches = list(digits.batches(1))[:30]
    whole = feed(new(), batches)
    halfway = feed(new(), batches[:13])
    resumed = new()
    feed(resumed, batches[:4])  # whatever it was before
    resumed.restore(through_disk(halfway.state()))
    assert same(feed(resumed, batches[13:]).state(), whole.state())
    assert resumed.met == 30


def test_a_subclass_without_options_of_its_own_has_those_of_its_base(digits: Any) -> None:
    class Plain(Finetune):
        pass

    assert Plain.Options is Train
