"""Laws that hold for every learner of classes; those of anomalies have theirs in `detection`."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from recollect.learners import LEARNERS, Learner

from .helpers import all_test_samples, feed, new, same, through_disk

# Small enough that each learner takes a second, large enough that every path is walked.
QUICK = {
    "memory": 30,
    "memory_batch": 7,
    "epochs": 3,
    "samples": 10,
}
CLASSIFIERS = {
    name: card
    for name, card in LEARNERS.items()
    if "classification" in card.problems and "arrays" in card.samples and not card.needs_task
}


def quick(name: str, **more):
    known = LEARNERS[name].defaults
    return {key: value for key, value in {**QUICK, **more}.items() if key in known}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_is_a_learner(name, digits):
    learner = new(name, digits, **quick(name))
    assert isinstance(learner, Learner)
    assert learner.stored_samples == 0
    scores = learner.score(np.zeros((3, *digits.input_shape), np.uint8))
    assert scores.shape == (3, 10)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("place", [1, 35])
def test_restored_it_goes_on_bit_for_bit(name, place, digits):
    batches = list(islice(digits.batches(1), 60))
    x = all_test_samples(digits)[0][:50]
    undisturbed = feed(new(name, digits, **quick(name, momentum=0.9)), batches[:place])
    undisturbed.score(x)
    restored = new(name, digits, **quick(name, momentum=0.9))
    feed(restored, batches[:2])  # whatever it was before is forgotten
    restored.restore(through_disk(undisturbed.state()))
    assert same(undisturbed.state(), restored.state())
    assert same(undisturbed.score(x), restored.score(x))
    feed(undisturbed, batches[place:])
    feed(restored, batches[place:])
    assert same(undisturbed.state(), restored.state())
    assert same(undisturbed.score(x), restored.score(x))


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - {"random", "joint_final", "ncm", "slda"}))
def test_restored_with_convolutions_and_augmentation(name, twice):
    batches = list(twice.batches(1))
    x = all_test_samples(twice)[0][:20]
    options = quick(name, augment="crop+flip", network="reduced_resnet18", normalise="cifar10", cutmix=0.5, epochs=1)
    undisturbed = feed(new(name, twice, **options), batches[:3])
    restored = new(name, twice, **options)
    restored.restore(through_disk(undisturbed.state()))
    feed(undisturbed, batches[3:])
    feed(restored, batches[3:])
    assert same(undisturbed.score(x), restored.score(x))
    assert same(undisturbed.state(), restored.state())


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - {"random"}))
def test_scoring_changes_nothing_that_is_learned(name, digits):
    batches = list(islice(digits.batches(1), 40))
    x = all_test_samples(digits)[0][:20]
    asked, left = new(name, digits, **quick(name)), new(name, digits, **quick(name))
    for batch in batches:
        feed(asked, [batch])
        if batch.number % 15 == 0:
            asked.score(x)
        feed(left, [batch])
    assert same(asked.score(x), left.score(x))
    assert same(asked.score(x), left.score(x))


@pytest.mark.parametrize("name", sorted(set(CLASSIFIERS) - {"random"}))
def test_scores_of_a_sample_do_not_depend_on_its_company(name, digits):
    learner = feed(new(name, digits, **quick(name)), islice(digits.batches(1), 20))
    x = all_test_samples(digits)[0][:60]
    whole, alone = learner.score(x), np.concatenate([learner.score(x[i : i + 1]) for i in range(60)])
    np.testing.assert_allclose(whole, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_seed_decides_everything(name, digits):
    batches = list(islice(digits.batches(1), 20))
    x = all_test_samples(digits)[0][:20]
    one, two = (feed(new(name, digits, **quick(name)), batches).score(x) for _ in range(2))
    assert same(one, two)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_read_only_samples_are_taken(name, digits):
    batch = next(digits.batches(1))
    batch.x.flags.writeable = False
    batch.y.flags.writeable = False
    learner = new(name, digits, **quick(name))
    learner.learn(batch)
    learner.score(batch.x)


@pytest.mark.parametrize("name", sorted(name for name in CLASSIFIERS if "memory" in CLASSIFIERS[name].defaults))
def test_a_second_pass_is_not_offered_to_the_memory(name, twice):
    learner = new(name, twice, **quick(name, memory=1000, network="mlp"))
    feed(learner, twice.batches(1))
    assert learner.stored_samples == 24
    assert len({sample.tobytes() for sample in learner.memory.x}) == 24
