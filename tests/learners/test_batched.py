from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.learners.batched import Group, Together, can_join, wins
from recollect.runs.seeds import derive
from recollect.streams import make_stream

from .helpers import all_test_samples, feed, same, through_disk

SEEDS = [derive(seed) for seed in range(4)]
# Class orders differ, and with them the sizes of the tasks and the number of batches.
STREAMS = [make_stream("digits", tasks=5, class_order_seed=seed) for seed in range(4)]


def learners(name, which=range(4), **options):
    return [make_learner(name, options, Setting.of(STREAMS[i]), SEEDS[i], "cpu") for i in which]


def job(index):
    """A run as anybody would write it: rows of scores at the ends of tasks."""
    stream, x = STREAMS[index], all_test_samples(STREAMS[index])[0]

    def rows(learner):
        scores = [learner.score(x)]
        for batch in stream.batches(SEEDS[index].stream):
            feed(learner, [batch])
            if batch.ends is not None:
                scores.append(learner.score(x))
        return np.stack(scores), learner.state()

    return rows


@pytest.mark.parametrize("name", ["finetune", "er"])
def test_together_as_alone(name):
    together = Group(learners(name), width=20).run([job(index) for index in range(4)])
    for index, (scores, state) in enumerate(together):
        alone, own = job(index)(learners(name, [index])[0])
        np.testing.assert_allclose(scores, alone, rtol=1e-3, atol=1e-3)
        if name == "er":
            assert same(state["memory"], own["memory"])
        assert state.keys() == own.keys()


def test_a_seed_does_not_feel_its_company():
    """To the bit: a group of two learns what a group of four does, so a resumed run ends the same."""
    four = Group(learners("er"), width=20).run([job(index) for index in range(4)])
    two = Group(learners("er", [3, 1]), width=20).run([job(3), job(1)])
    assert same(two[0], four[3])
    assert same(two[1], four[1])


def test_a_member_is_restored():
    stream = STREAMS[0]
    batches = list(stream.batches(0))
    x = all_test_samples(stream)[0]

    def whole(learner):
        feed(learner, batches)
        return learner.score(x)

    def first(learner):
        feed(learner, batches[:50])
        return through_disk(learner.state())

    undisturbed, _ = Group(learners("er", [0, 1]), width=20).run([whole, job(1)])
    saved, _ = Group(learners("er", [0, 1]), width=20).run([first, job(1)])

    def rest(learner):
        learner.restore(saved)
        feed(learner, batches[50:])
        return learner.score(x)

    resumed, _ = Group(learners("er", [0, 1]), width=20).run([rest, job(1)])
    assert same(undisturbed, resumed)


def test_a_job_that_fails_does_not_stop_the_others():
    def fails(learner):
        learner.learn(next(STREAMS[1].batches(0)))
        raise ValueError("mine")

    results = Group(learners("finetune", [0, 1, 2]), width=20).run([job(0), fails, job(2)])
    assert isinstance(results[1], ValueError)
    assert len(results[0][0]) == len(results[2][0]) == 6


def test_an_error_in_training_reaches_every_job():
    def too_wide(learner):
        feed(learner, STREAMS[0].batches(0))
        return learner.score(np.zeros((1, 1, 8, 8), np.uint8))

    results = Group(learners("er", [0, 1]), width=12).run([too_wide, too_wide])
    assert all(isinstance(result, ValueError) for result in results)


def test_only_what_is_written_out_is_joined():
    plain = learners("er", [0])[0]
    assert can_join(plain)
    assert wins(plain)
    assert can_join(learners("er", [0], hidden=[900, 900])[0])
    assert not wins(learners("er", [0], hidden=[900, 900])[0])
    for name, options in (
        ("gdumb", {}),
        ("er_ace", {}),
        ("er", {"momentum": 0.9}),
        ("er", {"optimizer": "adam"}),
        ("er", {"separate": True}),
        ("er", {"iterations": 2}),
        ("er", {"weight_decay": 0.1}),
        ("random", {}),
    ):
        assert not can_join(learners(name, [0], **options)[0]), (name, options)
    with pytest.raises(UsageError, match="one by one"):
        Together(learners("gdumb", [0]), 20)
    with pytest.raises(UsageError, match="same options"):
        Together([*learners("er", [0]), *learners("er", [1], memory=3)], 20)


def test_a_seed_without_a_batch_keeps_its_weights():
    """Even those that have overflowed, which a step of zeros would turn into NaN."""
    group = Together(learners("finetune", [0, 1]), 10)
    weight = group.learners[0].network.head.weight
    weight.data[0, 0] = np.inf
    group.gather()
    group.learn([None, next(STREAMS[1].batches(0))])
    group.scatter(0)
    assert weight[0, 0] == np.inf
    assert np.isfinite(weight.detach().numpy()).sum() == weight.numel() - 1
