"""Weights chosen by the present task's validation nodes: off by default, in the record, resumable."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from recollect.errors import UsageError
from recollect.learners import devices
from recollect.problems.validating import validation_accuracy
from recollect.protocol import checkpoint, iter_protocol, run_protocol
from tests.learners.graphs.test_leaks import SPLIT, stream
from tests.learners.graphs.test_learners import learner
from tests.streams.graphs import test_many as many


def test_validation_nodes_are_of_their_task_and_of_no_other_part():
    made = stream()
    met = np.concatenate([ids for ids, _ in made.valid])
    assert sorted(met.tolist()) == SPLIT["valid"].tolist()
    for k, (ids, y) in enumerate(made.valid):
        assert set((ids % 3).tolist()) == {k}
        assert set(y.tolist()) == {k}


@pytest.mark.parametrize("name", ["finetune", "er", "lwf", "ewc"])
def test_the_best_weights_of_the_task_are_taken(name):
    """A second learner walks the same way and remembers all weights and what each is worth."""
    made = stream(passes=6)
    chosen, plain = learner(name, made, select="valid", lr=0.3), learner(name, made, lr=0.3)
    for one in (chosen, plain):
        one.see(made.views.training(0))
    worth = []
    for batch in made.batches(0):
        if made.task_passed(batch) != 0:
            break
        for one in (chosen, plain):
            one.learn(batch)
        value = validation_accuracy(plain, made, 0)
        chosen.keep_if_best(value)
        worth.append((value, devices.weights(plain.network)))
    assert len(worth) == 6
    best = max(range(6), key=lambda k: (worth[k][0], -k))
    chosen.end_task()
    for key, value in devices.weights(chosen.network).items():
        assert np.array_equal(value, worth[best][1][key])


def test_the_protocol_tells_after_every_pass_and_without_the_option_nothing_changes(monkeypatch, tmp_path):
    made = stream(passes=5)
    told = []
    one = learner("finetune", made, select="valid")
    keep = one.keep_if_best
    monkeypatch.setattr(one, "keep_if_best", lambda accuracy: told.append(accuracy) or keep(accuracy))
    run = run_protocol(one, made, tmp_path / "run", name="finetune")
    assert len(told) == 3 * 5
    assert run.identity.options["select"] == "valid"
    assert not learner("finetune", made).selects_weights


def test_a_choice_that_is_under_way_goes_on_bit_for_bit():
    made = stream(passes=6)
    first, second = (learner("finetune", made, select="valid") for _ in range(2))
    for one in (first, second):
        one.see(made.views.training(0))
    batches = list(made.batches(0))[:6]
    for batch in batches[:3]:
        first.learn(batch)
        first.keep_if_best(validation_accuracy(first, made, 0))
    second.restore(first.state())
    for one in (first, second):
        for batch in batches[3:]:
            one.learn(batch)
            one.keep_if_best(validation_accuracy(one, made, 0))
        one.end_task()
    assert checkpoint.digest(first.state()) == checkpoint.digest(second.state())


def test_without_validation_samples_it_is_refused():
    with pytest.raises(UsageError, match="'select' needs validation samples"):
        learner("finetune", many.stream(), select="valid")
    with pytest.raises(UsageError, match="one of valid; got 'test'"):
        learner("finetune", stream(), select="test")
    rows = list(iter_protocol(learner("finetune", stream(), select="valid"), stream(), seed=0))
    assert rows[-1].correct is not None
