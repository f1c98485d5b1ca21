"""EWC, MAS, LwF, nearest class mean, streaming LDA."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.streams import make_stream, stream_from_arrays

from .helpers import SEEDS, all_test_samples, feed, new, same


@pytest.mark.parametrize("name", ["ewc", "mas", "lwf"])
def test_the_first_task_is_learned_as_finetune_does(name, digits):
    batches = [batch for batch in digits.batches(1) if batch.task is None][:20]
    x = batches[0].x
    one, two = (feed(new(which, digits), batches).score(x) for which in (name, "finetune"))
    assert same(one, two)


def task_incremental_share(name: str, passes: int = 1, **options) -> float:
    stream = make_stream("digits", tasks=5, scenario="task-incremental", passes=passes)
    learner = feed(new(name, stream, **options), stream.batches(1))
    hits = []
    for part in stream.test_batches():
        scores = learner.score(part.x, part.task)
        allowed = np.zeros_like(scores, bool)
        for index, task in enumerate(stream.tasks):
            allowed[np.ix_(part.task == index, list(task.classes))] = True
        hits.append(np.where(allowed, scores, -np.inf).argmax(1) == part.y)
    return float(np.concatenate(hits).mean())


def test_where_tasks_are_given_they_forget_less_than_finetune():
    finetune = task_incremental_share("finetune")
    assert task_incremental_share("ewc", strength=1000.0, samples=30) > finetune
    assert task_incremental_share("mas", samples=30) > finetune
    assert task_incremental_share("lwf", passes=3) > task_incremental_share("finetune", passes=3)


def test_no_strength_makes_it_diverge(digits):
    for name in ("ewc", "mas"):
        learner = feed(new(name, digits, strength=1e9, samples=20), digits.batches(1))
        assert np.isfinite(learner.score(all_test_samples(digits)[0])).all()


def test_an_infinite_strength_holds_every_weight_that_matters(digits):
    """One implicit step of a huge penalty goes the whole way back to the anchor."""
    learner = new("mas", digits, strength=1e12, samples=20)
    batches = list(digits.batches(1))
    ends = next(batch.number for batch in batches if batch.ends == 0)
    feed(learner, batches[: ends + 1])
    anchor = [tensor.clone() for tensor in learner.anchor.values]
    feed(learner, batches[ends + 1 : ends + 10])
    for weight, held, importance in zip(learner.anchor.weights, anchor, learner.anchor.importance, strict=True):
        matters = importance > 1e-3
        torch.testing.assert_close(weight.detach()[matters], held[matters], atol=1e-5, rtol=0)


def test_importance_by_hand():
    """One linear layer, one sample: the gradients are known."""
    setting = Setting((2,), 2, ((0, 1),))
    with torch.random.fork_rng():
        layer = torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    x = torch.tensor([[1.0, 3.0]])
    options = {"network": layer}
    mas = make_learner("mas", options, setting, SEEDS, "cpu")
    # outputs (1, 6): the gradient of 1 + 36 is 2 * output * input.
    torch.testing.assert_close(mas.importance_of(x, 0)[0], torch.tensor([[2.0, 6.0], [12.0, 36.0]]))
    ewc = make_learner("ewc", {**options, "labels": 2}, setting, SEEDS, "cpu")
    p = torch.softmax(torch.tensor([1.0, 6.0]), 0)
    # E over labels of ((1[c = y] - p_c) x)^2 = p_c (1 - p_c) x^2.
    expected = (p * (1 - p))[:, None] * torch.tensor([[1.0, 9.0]])
    torch.testing.assert_close(ewc.importance_of(x, 0)[0], expected, rtol=1e-4, atol=1e-7)


def test_lwf_keeps_what_the_teacher_said(digits):
    batches = list(digits.batches(1))
    first = next(batch.number for batch in batches if batch.ends == 0)
    learner = feed(new("lwf", digits), batches[: first + 1])
    assert learner.taught == [0, 1]
    assert learner.stored_bytes == sum(w.nbytes for w in learner.state()["network"].values())


def test_ncm_is_the_mean_of_each_class(digits):
    learner = feed(new("ncm", digits), digits.batches(1))
    batches = list(digits.batches(1))
    x = np.concatenate([b.x for b in batches]).reshape(-1, 64) / 255
    y = np.concatenate([b.y for b in batches])
    means = np.stack([x[y == label].mean(0) for label in range(10)])
    np.testing.assert_allclose(learner.means, means, atol=1e-12)
    test_x = all_test_samples(digits)[0]
    distance = ((test_x.reshape(-1, 1, 64) / 255 - means) ** 2).sum(-1)
    assert (learner.score(test_x).argmax(1) == distance.argmin(1)).all()


def test_slda_has_the_exact_pooled_covariance(digits):
    learner = feed(new("slda", digits), digits.batches(1))
    batches = list(digits.batches(1))
    x = np.concatenate([b.x for b in batches]).reshape(-1, 64) / 255
    y = np.concatenate([b.y for b in batches])
    deviations = np.concatenate([x[y == label] - x[y == label].mean(0) for label in range(10)])
    np.testing.assert_allclose(learner.scatter, deviations.T @ deviations, atol=1e-8)


def test_slda_is_the_discriminant_of_scikit_learn(digits):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    learner = feed(new("slda", digits, shrinkage=0.01), digits.batches(1))
    batches = list(digits.batches(1))
    x = np.concatenate([b.x for b in batches]).reshape(-1, 64) / 255
    y = np.concatenate([b.y for b in batches])
    # Its shrinkage mixes with the mean variance; ours, as the paper's, with one.
    scale = np.trace(learner.scatter / len(y)) / 64
    mixed = 0.01 / (0.01 + 0.99 * scale)
    reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=mixed, priors=np.full(10, 0.1)).fit(x, y)
    test_x = all_test_samples(digits)[0]
    agree = learner.score(test_x).argmax(1) == reference.predict(test_x.reshape(-1, 64) / 255)
    assert agree.mean() > 0.97


@pytest.mark.parametrize("name", ["ncm", "slda"])
def test_statistics_of_a_fixed_network(name, twice):
    learner = feed(new(name, twice, network="reduced_resnet18"), twice.batches(1))
    assert learner.means.shape == (4, 160)
    assert learner.counts.tolist() == [6] * 4
    x, y = all_test_samples(twice)
    assert (learner.score(x).argmax(1) == y).mean() > 0.5


@pytest.mark.parametrize("name", ["ewc", "mas", "lwf"])
def test_without_boundaries_they_are_refused(name):
    with pytest.raises(UsageError, match="tells no boundaries"):
        make_learner(name, {}, Setting((4,), 2, ((0,), (1,)), gives_boundaries=False), SEEDS)


def test_streaming_lda_without_shrinkage_says_what_it_needs(digits):
    learner = new("slda", digits, shrinkage=0)
    x, _ = all_test_samples(digits)
    assert not learner.score(x).any()
    with pytest.raises(UsageError, match=r"of 64 features.*shrinkage above 0"):
        feed(learner, digits.batches(1)).score(x)


def test_streaming_lda_needs_no_shrinkage_where_all_features_vary():
    rng = np.random.default_rng(0)
    stream = stream_from_arrays(
        *(rng.normal(size=(40, 3)).astype(np.float32), np.arange(40) % 4) * 2, name="normal", tasks=2
    )
    learner = feed(new("slda", stream, shrinkage=0), stream.batches(0))
    tiny = feed(new("slda", stream, shrinkage=1e-12), stream.batches(0))
    x, _ = all_test_samples(stream)
    np.testing.assert_allclose(learner.score(x), tiny.score(x), rtol=1e-5)
