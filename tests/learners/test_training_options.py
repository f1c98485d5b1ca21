"""Augmentations, heads, weights of files, frozen bodies, precision: each does what it says, and is resumed."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from recollect.errors import UsageError
from recollect.learners.augment import Augmentation, cutmix, mixup, randaugment
from recollect.learners.backbones import CosineHead
from recollect.learners.networks import ResNet18
from recollect.learners.options import Train
from recollect.protocol.identifying import option_values

from .helpers import feed, new, same, through_disk

EVERYTHING = ["crop", "flip", "resized_crop", {"colour": {"hue": 0.2}}, "grey", {"randaugment": {"magnitude": 20}}]


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


IMAGES = torch.rand(6, 3, 16, 16, generator=draw(9))


@pytest.mark.parametrize("name", ["resized_crop", "colour", "grey", "randaugment"])
@pytest.mark.parametrize("channels", [1, 3])
def test_images_are_changed_within_their_range_and_by_their_generator(name: str, channels: int) -> None:
    images = IMAGES[:, :channels].repeat(4, 1, 1, 1)
    step = Augmentation([name])
    made = step.floats(images, draw())
    assert made.shape == images.shape
    assert float(made.min()) >= 0
    assert float(made.max()) <= 1
    assert torch.equal(made, step.floats(images, draw()))
    if (name, channels) != ("grey", 1):
        assert not torch.equal(made, images)
    if name != "grey":
        assert not torch.equal(made, step.floats(images, draw(1)))


def test_colour_without_strength_changes_nothing() -> None:
    nothing = {"brightness": 0.0, "contrast": 0.0, "saturation": 0.0, "hue": 0.0}
    assert torch.allclose(Augmentation([{"colour": nothing}]).floats(IMAGES, draw()), IMAGES, atol=1e-6)


def test_hue_keeps_greys() -> None:
    plain = torch.full((2, 3, 4, 4), 0.3)
    only = {"brightness": 0.0, "contrast": 0.0, "saturation": 0.0, "hue": 0.5}
    assert torch.allclose(Augmentation([{"colour": only}]).floats(plain, draw()), plain, atol=1e-5)


def test_randaugment_of_no_strength_moves_nothing_far() -> None:
    made = randaugment(IMAGES, draw(), operations=3, magnitude=0.0)
    untouched = [k for k in range(6) if torch.allclose(made[k], IMAGES[k], atol=2 / 255)]
    assert untouched, "autocontrast alone changes an image at strength 0"


def test_mixing_keeps_the_shares_it_says() -> None:
    ones = torch.arange(6.0)[:, None, None, None].expand(6, 1, 10, 10)
    for mixed in (mixup(ones, draw(), alpha=1.0), cutmix(ones, draw())):
        there = mixed.kept * torch.arange(6.0) + (1 - mixed.kept) * torch.arange(6.0)[mixed.partner]
        assert mixed.images.mean((1, 2, 3)) == pytest.approx(there, abs=1e-5)
        assert 0 < mixed.kept < 1


@pytest.mark.parametrize("mixing", ["mixup", "cutmix"])
def test_the_loss_of_mixed_samples_is_that_of_both_labels(twice: Any, mixing: str) -> None:
    learner = new("finetune", twice, network="mlp", augment=[mixing])
    batch = next(iter(twice.batches(0)))
    spare = new("finetune", twice, network="mlp", augment=[mixing])
    mixed = spare.inputs.mix(spare.inputs.training(batch.x))
    outputs = learner.network(mixed.images)
    y = torch.from_numpy(batch.y)
    parts = [nn.functional.cross_entropy(outputs, labels) for labels in (y, y[mixed.partner])]
    expected = mixed.kept * parts[0] + (1 - mixed.kept) * parts[1]
    assert learner.loss_on(batch.x, batch.y).item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize(
    "options", [{"augment": [*EVERYTHING, "mixup"]}, {"head": "cosine"}, {"precision": "bfloat16"}]
)
def test_a_resumed_learner_goes_on_to_the_bit(twice: Any, options: dict[str, Any]) -> None:
    def learner() -> Any:
        return new("er", twice, network="mlp", memory=8, memory_batch=4, **options)

    batches = list(twice.batches(0))
    whole, halfway, resumed = feed(learner(), batches), feed(learner(), batches[:3]), learner()
    resumed.restore(through_disk(halfway.state()))
    assert same(feed(resumed, batches[3:]).state(), whole.state())


def test_crop_and_flip_are_as_they_were(twice: Any) -> None:
    batches = list(twice.batches(0))
    ways = [
        feed(new("er", twice, memory=8, memory_batch=4, augment=a), batches) for a in ("crop+flip", ["crop", "flip"])
    ]
    assert same(ways[0].state(), ways[1].state())


@pytest.mark.parametrize("name", ["er_ace", "derpp", "agem", "lwf", "scr", "icarl", "gem"])
def test_learners_that_look_at_single_labels_refuse_mixing(twice: Any, name: str) -> None:
    with pytest.raises(UsageError, match="mixup and cutmix would mix"):
        new(name, twice, augment=["mixup"])


@pytest.mark.parametrize("name", ["finetune", "er", "mir", "ewc", "mas", "gdumb"])
def test_the_others_mix(twice: Any, name: str) -> None:
    own = {"epochs": 1, "memory": 8} if name == "gdumb" else {}
    learner = feed(new(name, twice, network="mlp", augment="cutmix", **own), list(twice.batches(0))[:3])
    assert np.isfinite(learner.score(next(iter(twice.test_batches())).x)).all()


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        (["crp"], "There is no augmentation 'crp'; the nearest is 'crop'"),
        ([{"colour": {"hew": 1}}], "has no option 'hew'; it has brightness"),
        ([{"colour": {"hue": "much"}}], "is a number from 0 on; got 'much'"),
        ([{"crop": {}, "flip": {}}], "An augmentation is a name"),
        (["mixup", "cutmix"], "one of mixup and cutmix"),
        (7, "'augment' of the learner 'er' is a name"),
    ],
)
def test_a_wrong_augmentation_is_one_paragraph(twice: Any, augment: Any, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        new("er", twice, augment=augment)
    assert message in str(raised.value)


# -- heads and weights


def test_a_cosine_head_answers_by_angles(twice: Any) -> None:
    learner = new("finetune", twice, network="reduced_resnet18", head="cosine")
    assert isinstance(learner.network.head, CosineHead)
    x = next(iter(twice.test_batches())).x
    with torch.no_grad():
        features = learner.network.eval().features(learner.inputs.tensor(x))
        angles = nn.functional.cosine_similarity(features[:, None], learner.network.head.weight[None], dim=2)
    learner.network.train()
    assert learner.score(x) == pytest.approx(10 * angles.numpy(), abs=1e-4)


def test_several_heads_are_the_classes_of_each_task() -> None:
    from recollect.streams import make_stream

    stream = make_stream("digits", tasks=5, scenario="task-incremental")
    learner = new("finetune", stream)
    before = learner.network.head.weight.detach().clone()
    first = [batch for batch in stream.batches(0) if batch.task == 0]
    feed(learner, first)
    moved = (learner.network.head.weight.detach() - before).abs().sum(1) > 0
    assert moved.tolist() == [True] * 2 + [False] * 8


def test_weights_of_a_file_and_a_frozen_body(twice: Any, tmp_path: Any) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        other = ResNet18(3, 20, 7)
    file = tmp_path / "weights.pt"
    torch.save({"state_dict": {f"module.{name}": value for name, value in other.state_dict().items()}}, file)
    learner = new("finetune", twice, network="reduced_resnet18", weights=str(file), freeze=True)
    body = {name: value.clone() for name, value in learner.network.state_dict().items() if not name.startswith("head.")}
    head = learner.network.head.weight.detach().clone()
    assert torch.equal(body["stem.weight"], other.state_dict()["stem.weight"])
    feed(learner, list(twice.batches(0))[:3])
    after = learner.network.state_dict()
    assert all(torch.equal(after[name], value) for name, value in body.items()), "batch norms too"
    assert not torch.equal(after["head.weight"], head)
    halfway = new("finetune", twice, network="reduced_resnet18", weights=str(file), freeze=True)
    halfway.restore(through_disk(learner.state()))
    assert same(halfway.state(), learner.state())


def test_weights_that_do_not_fit_are_one_paragraph(twice: Any, tmp_path: Any) -> None:
    wrong = tmp_path / "wrong.pt"
    torch.save({"stem.weight": torch.zeros(2)}, wrong)
    text = tmp_path / "text.pt"
    text.write_text("no weights")
    code = tmp_path / "code.pt"
    torch.save({"a": EVERYTHING, "b": print}, code)
    for file, message in (
        (wrong, "do not fit the network"),
        (text, "cannot be read"),
        (code, "cannot be read"),
        (tmp_path / "absent.pt", "There is no file"),
    ):
        with pytest.raises(UsageError, match=message):
            new("finetune", twice, network="reduced_resnet18", weights=str(file))
    with pytest.raises(UsageError, match=r"whose last layer is an nn\.Linear called `head`"):
        new("finetune", twice, network=lambda: nn.Sequential(nn.Flatten(), nn.Linear(768, 4)), freeze=True)


class Body(nn.Module):
    """As timm gives it, without a head."""

    num_features = 5

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.shape[1:] == (3, 8, 8)
        return self.layer(x.mean((2, 3)))


def test_networks_of_libraries(twice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def create_model(name: str, **given: Any) -> nn.Module:
        asked.append((name, given))
        return Body()

    monkeypatch.setitem(sys.modules, "timm", types.SimpleNamespace(create_model=create_model))
    learner = new("finetune", twice, network="timm:tiny", weights="pretrained", freeze=True, resize=8)
    assert asked == [("tiny", {"pretrained": True, "num_classes": 0})]
    feed(learner, list(twice.batches(0))[:2])
    assert learner.score(next(iter(twice.test_batches())).x).shape == (24, 4)

    config = types.SimpleNamespace(hidden_size=5)

    class Answer(Body):
        def __init__(self) -> None:
            super().__init__()
            self.config = config

        def forward(self, x: torch.Tensor) -> Any:
            states = super().forward(x)[:, None].expand(-1, 2, -1)
            return types.SimpleNamespace(pooler_output=None, last_hidden_state=states)

    auto = types.SimpleNamespace(from_pretrained=lambda name: Answer(), from_config=lambda config: Answer())
    fake = types.SimpleNamespace(AutoModel=auto, AutoConfig=types.SimpleNamespace(from_pretrained=lambda name: config))
    monkeypatch.setitem(sys.modules, "transformers", fake)
    new("finetune", twice, network="transformers:org/vit", resize=8)
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(UsageError, match="needs timm: pip install timm"):
        new("finetune", twice, network="timm:tiny")


def test_compile_is_asked_for_once(twice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[nn.Module] = []
    monkeypatch.setattr(nn.Module, "compile", lambda self, *given, **more: called.append(self))
    learner = new("finetune", twice, network="mlp", compile=True)
    assert called == [learner.network]


def test_options_that_came_later_are_no_part_of_an_identity_unless_used() -> None:
    assert not {"head", "weights", "freeze", "precision"} & set(option_values(Train()))
    assert option_values(Train(head="cosine"))["head"] == "cosine"
