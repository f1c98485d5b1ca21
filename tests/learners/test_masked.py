"""PackNet and Piggyback: nothing of a task that is over changes, and what is kept is what is said."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recollect.errors import UsageError  # noqa: E402
from recollect.learners import Setting, make_learner  # noqa: E402
from recollect.learners.masked import shared_weights  # noqa: E402
from recollect.protocol import iter_protocol  # noqa: E402
from recollect.runs.seeds import derive  # noqa: E402
from recollect.streams import make_stream, stream_from_arrays  # noqa: E402

from .helpers import feed, new, same, through_disk  # noqa: E402

NAMES = ("packnet", "piggyback")
OPTIONS = {
    "packnet": {"lr": 0.01, "optimizer": "adam", "weight_decay": 1e-3, "hidden": [30, 20]},
    "piggyback": {"lr": 0.01, "optimizer": "adam", "weight_decay": 1e-3, "hidden": [30, 20], "mask_lr": 0.01},
}


@pytest.fixture(scope="module")
def known():
    return make_stream("digits", tasks=5, scenario="task-incremental", subset=20, passes=3)


@pytest.fixture(scope="module")
def coloured():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 6)
    x = rng.integers(0, 100, (24, 3, 16, 16), dtype=np.uint8)
    return stream_from_arrays(x, y, x, y, name="blobs", tasks=2, passes=2, batch=6, scenario="task-incremental")


def samples(stream, task):
    places = stream.tasks[task].test
    return stream.data.x_test[places], np.full(len(places), task)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("momentum", [{}, {"optimizer": "sgd", "momentum": 0.9, "lr": 0.1}])
def test_answers_to_a_task_that_is_over_never_change_by_a_bit(name, momentum, known):
    learner = new(name, known, **{**OPTIONS[name], **momentum})
    first: dict[int, np.ndarray] = {}
    for batch in known.batches(1):
        feed(learner, [batch])
        if batch.ends is not None:
            first[batch.task] = learner.score(*samples(known, batch.task))
        for task, scores in first.items():
            assert same(learner.score(*samples(known, task)), scores)
    assert len(first) == 5


@pytest.mark.parametrize("name", NAMES)
def test_batch_norms_of_a_task_stay_its_own(name, coloured):
    learner = new(name, coloured, network="reduced_resnet18", lr=0.01)
    batches = list(coloured.batches(1))
    ends = next(k for k, batch in enumerate(batches) if batch.ends is not None) + 1
    feed(learner, batches[:ends])
    before = learner.score(*samples(coloured, 0))
    feed(learner, batches[ends:])
    assert same(learner.score(*samples(coloured, 0)), before)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", [1, 5, 7, 14])
def test_restored_in_the_middle_of_a_task_it_goes_on_bit_for_bit(name, place, known):
    batches = list(known.batches(1))
    undisturbed, restored = new(name, known, **OPTIONS[name]), new(name, known, **OPTIONS[name])
    feed(undisturbed, batches[:place])
    feed(restored, batches[:3])
    restored.restore(through_disk(undisturbed.state()))
    assert same(undisturbed.state(), restored.state())
    for learner in (undisturbed, restored):
        feed(learner, batches[place:])
    assert same(undisturbed.state(), restored.state())


@pytest.mark.parametrize("name", NAMES)
def test_mixed_tasks_are_answered_each_by_its_own_weights(name, known):
    learner = feed(new(name, known, **OPTIONS[name]), known.batches(1))
    before = learner.state()
    (x, of), (z, other) = samples(known, 0), samples(known, 3)
    mixed = np.random.default_rng(0).permutation(len(x) + len(z))
    apart = np.concatenate([learner.score(x, of), learner.score(z, other)])
    together = learner.score(np.concatenate([x, z])[mixed], np.concatenate([of, other])[mixed])
    np.testing.assert_allclose(together, apart[mixed], rtol=1e-5, atol=1e-6)
    assert same(learner.state(), before), "being asked changes nothing"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_forgotten_and_tasks_are_learned(name):
    stream = make_stream("digits", tasks=5, scenario="task-incremental", passes=10)
    learner = make_learner(name, OPTIONS[name], Setting.of(stream), derive(0), "cpu")
    rows = list(iter_protocol(learner, stream, seed=0))
    last = rows[-1]
    assert sum(last.correct) > 0.9 * sum(last.n)
    assert [row.correct[row_task] for row_task, row in enumerate(rows[1:])] == list(last.correct)


def test_packnet_gives_every_task_its_share_and_the_last_one_what_is_left(known):
    learner = feed(new("packnet", known, **OPTIONS["packnet"]), known.batches(1))
    for owner in learner.owner.values():
        counts = torch.bincount(owner.flatten().int(), minlength=5)
        assert (counts - owner.numel() / 5).abs().max() <= 2
    half = feed(new("packnet", known, **OPTIONS["packnet"], keep=0.5, retrain=0), known.batches(1))
    owner = half.owner["body.0.weight"]
    assert int((owner == 0).sum()) == owner.numel() // 2
    free = half.shared["body.0.weight"].detach()[owner == -1]
    assert len(free)
    assert not free.any(), "what is free is zero"


def test_packnet_counts_what_it_keeps_and_lets_it_go(known):
    learner = new("packnet", known, **OPTIONS["packnet"])
    batches = list(known.batches(1))
    ends = next(k for k, batch in enumerate(batches) if batch.ends is not None)
    feed(learner, batches[:ends])
    count = len(known.tasks[0].train)
    owners = 2 * sum(weight.numel() for weight in learner.shared.values())
    assert learner.stored_samples == count, "each once, though it comes in three passes"
    assert learner.stored_bytes == count * (64 + 8) + owners
    feed(learner, batches[ends : ends + 1])
    own = 4 * (30 + 20 + 20 * 10 + 10)
    assert learner.stored_samples == 0
    assert learner.stored_bytes == owners + own


def test_piggyback_keeps_one_bit_for_each_weight_of_a_task(known):
    learner = feed(new("piggyback", known, **OPTIONS["piggyback"]), known.batches(1))
    shared = sum(weight.numel() for weight in learner.shared.values())
    own = 30 + 20 + 20 * 10 + 10
    assert learner.stored_bytes == 4 * (shared + own) + 4 * shared + 5 * (shared // 8 + 4 * own)
    taken = np.unpackbits(learner.masks[0]["body.0.weight"]).mean()
    assert 0.05 < taken < 0.95, "some are taken and some are not"


@pytest.mark.parametrize("name", NAMES)
def test_without_tasks_it_is_refused(name, digits, known):
    with pytest.raises(UsageError, match="does not tell the task"):
        new(name, digits)
    with pytest.raises(UsageError, match="score\\(x, task\\)"):
        new(name, known).score(known.data.x_test[:2])
    learner = feed(new(name, known, **OPTIONS[name]), known.batches(1))
    with pytest.raises(UsageError, match="Task 0 comes again"):
        learner.learn(next(known.batches(1)))


def test_the_layer_that_answers_is_no_part_of_what_is_shared():
    with torch.random.fork_rng():
        network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 3))
    assert list(shared_weights(network, 3)) == ["0.weight"]
    with pytest.raises(UsageError, match="nothing to share"):
        shared_weights(network[1], 3)


def test_a_network_says_how_much_of_it_is_shared(known):
    assert new("packnet", known, hidden=[30, 20]).notes == (
        "2,520 of 2,780 weights are shared by the tasks; the others each task has for itself",
    )
