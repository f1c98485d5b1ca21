"""Training options: any optimiser and schedule of torch, clipping, label smoothing; each goes on when resumed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.learners.torch_optim import _optimisers, _schedules
from recollect.streams import Spec

from .helpers import SEEDS, feed, new, same, through_disk

# Options without which torch does not make them.
NEEDED: dict[str, dict[str, Any]] = {
    "OneCycleLR": {"max_lr": 0.1, "total_steps": 500},
    "StepLR": {"step_size": 3},
    "MultiStepLR": {"milestones": [3, 9]},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 20},
    "CosineAnnealingWarmRestarts": {"T_0": 5},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1},
}
UNFIT = ("Muon",)  # takes matrices alone, and a network has biases


def resumed_is_whole(stream: Any, name: str, **options: Any) -> Any:
    batches = list(stream.batches(1))[:24]
    whole = feed(new(name, stream, **options), batches)
    halfway = feed(new(name, stream, **options), batches[:11])
    again = new(name, stream, **options)
    again.restore(through_disk(halfway.state()))
    feed(again, batches[11:])
    assert same(again.state(), whole.state())
    return whole


@pytest.mark.parametrize("optimiser", [name for name in _optimisers() if name not in UNFIT])
def test_any_optimiser_is_torchs_and_is_resumed(optimiser: str, digits: Any) -> None:
    learner = resumed_is_whole(digits, "finetune", optimizer={"name": optimiser, "lr": "1e-2"}, hidden=[8])
    plain = new("finetune", digits, hidden=[8])
    inner = getattr(torch.optim, optimiser)(plain.network.parameters(), lr=0.01)
    for batch in list(digits.batches(1))[:24]:
        inner.zero_grad()
        F.cross_entropy(plain.network(plain.inputs.tensor(batch.x)), torch.from_numpy(batch.y)).backward()
        inner.step()
    for ours, theirs in zip(learner.network.parameters(), plain.network.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("schedule", list(_schedules()))
def test_any_schedule_is_torchs_and_is_resumed(schedule: str, digits: Any) -> None:
    options = NEEDED.get(schedule, {})
    learner = resumed_is_whole(
        digits, "finetune", scheduler={"name": schedule, **options}, lr=0.05, momentum=0.9, hidden=[8]
    )
    inner = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.05, momentum=0.9)
    theirs = getattr(torch.optim.lr_scheduler, schedule)(inner, **options)
    for _ in range(24):
        inner.step()
        theirs.step()
    assert learner.optimiser.lr == pytest.approx(inner.param_groups[0]["lr"])


def test_the_options_of_the_learner_hold_where_the_optimiser_has_them(digits: Any) -> None:
    one = feed(new("finetune", digits, optimizer="AdamW", lr=0.003, weight_decay=0.1), list(digits.batches(1))[:5])
    named = {"name": "AdamW", "lr": 0.003, "weight_decay": 0.1}
    other = feed(new("finetune", digits, optimizer=named, lr=0.9), list(digits.batches(1))[:5])
    assert same(one.state()["network"], other.state()["network"])


def test_a_clipped_step_is_as_long_as_allowed(digits: Any) -> None:
    learner = new("finetune", digits, clip=0.01, lr=1.0)
    before = [weight.detach().clone() for weight in learner.network.parameters()]
    learner.learn(next(digits.batches(1)))
    moved = [now.detach() - then for now, then in zip(learner.network.parameters(), before, strict=True)]
    assert torch.cat([part.flatten() for part in moved]).norm().item() == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("name", ["finetune", "er", "er_ace", "derpp"])
def test_label_smoothing_is_torchs_and_finite_where_classes_do_not_compete(name: str, digits: Any) -> None:
    learner = feed(
        new(name, digits, label_smoothing=0.1, **({} if name == "finetune" else {"memory": 20})),
        list(digits.batches(1))[:40],
    )
    assert all(bool(torch.isfinite(weight).all()) for weight in learner.network.parameters())
    outputs, y = torch.randn(6, 10, generator=torch.Generator().manual_seed(0)), torch.arange(6)
    wanted = F.cross_entropy(outputs, y, label_smoothing=0.1)
    torch.testing.assert_close(learner.loss(outputs, y), wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "AdamWW"}, "no optimiser 'AdamWW' here; the nearest is 'AdamW'"),
        ({"optimizer": "LBFGS"}, "no optimiser 'LBFGS' here"),
        ({"optimizer": {"name": "AdamW", "beta": 0.9}}, "takes no 'beta'; the nearest is 'betas'"),
        ({"optimizer": {"name": "SGD", "lr": -1}}, "cannot be made with .* Invalid learning rate"),
        ({"optimizer": {"lr": 1}}, "a name, or a name with options"),
        ({"optimizer": 3}, "a name, or a name with options"),
        ({"scheduler": "OneCycle"}, "no scheduler 'OneCycle' here; the nearest is 'OneCycleLR'"),
        ({"scheduler": "OneCycleLR"}, "cannot be made with"),
        ({"scheduler": "ReduceLROnPlateau"}, "no scheduler 'ReduceLROnPlateau'"),
        ({"clip": -1}, "'clip' of the learner 'finetune' is a number of at least 0"),
        ({"label_smoothing": 2}, "a number from 0 to 1"),
        ({"epochs": 3}, "passes over a task are an option of the stream, `passes`"),
        ({"batch_size": 3}, "an option of the stream, `batch`"),
        ({"optimiser": "sgd"}, "it is called `optimizer`"),
    ],
)
def test_what_is_wrong_is_said_before_training(options: dict[str, Any], message: str, digits: Any) -> None:
    with pytest.raises(UsageError, match=message):
        make_learner("finetune", options, Setting.of(digits), SEEDS, "cpu")


def test_the_hint_for_epochs_names_passes() -> None:
    with pytest.raises(UsageError, match="`passes`"):
        Spec.of({"epochs": 5})


def test_a_schedule_that_is_over_stops_with_a_sentence(digits: Any) -> None:
    learner = new("finetune", digits, scheduler={"name": "OneCycleLR", "max_lr": 0.1, "total_steps": 3})
    with pytest.raises(UsageError, match="The scheduler stops after"):
        feed(learner, list(digits.batches(1))[:9])


def test_ewc_pulls_with_the_rate_of_the_moment(digits: Any) -> None:
    learner = feed(
        new("ewc", digits, scheduler={"name": "StepLR", "step_size": 1, "gamma": 0.0}), list(digits.batches(1))[:40]
    )
    held = [weight.detach().clone() for weight in learner.network.parameters()]
    feed(learner, list(digits.batches(1))[40:45])  # at a rate of 0 nothing moves, not to the anchor either
    assert all(map(torch.equal, held, learner.network.parameters()))
