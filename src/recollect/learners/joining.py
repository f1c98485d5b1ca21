"""Which learners may be trained together with other seeds of themselves, known without importing torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from recollect.learners import options
from recollect.learners.base import Setting
from recollect.learners.options import Network, Replay, Train

# The largest network for which it has been measured to win (benchmarks/training.py: 784-400-400-10).
WINS_UP_TO = 500_000
SMALL_INPUT = 64
GRAPH_NETWORKS = ("gcn", "gat", "sage", "gin")
JOINABLE: Mapping[str, type[Train]] = {"finetune": Train, "er": Replay}


def wins(name: str, config: Mapping[str, Any], setting: Setting) -> bool:
    """Can the seeds of this learner be trained together, and is it faster?

    >>> digits = Setting(input_shape=(64,), n_classes=10, tasks=((0, 1), (2, 3)))
    >>> wins("er", {"memory": 50}, digits), wins("er", {"hidden": [900, 900]}, digits), wins("gdumb", {}, digits)
    (True, False, False)
    """
    if name not in JOINABLE:
        return False
    chosen = options.read(JOINABLE[name], name, config)
    if network_of(chosen, setting) != "mlp" or not plain_steps(chosen, setting):
        return False
    widths = (setting.n_features, *hidden_of(chosen, setting), setting.n_classes)
    return sum((low + 1) * high for low, high in pairwise(widths)) <= WINS_UP_TO


def plain_steps(chosen: Train, setting: Setting) -> bool:
    """Does a step do what `batched` writes out: one pass, plain SGD, a softmax over all classes?"""
    plain = chosen.optimizer == "sgd" and not chosen.momentum and not chosen.weight_decay
    plain = plain and chosen.scheduler is None and chosen.clip is None and not chosen.label_smoothing
    plain = plain and chosen.iterations == 1 and chosen.augment == "none"
    plain = plain and not (isinstance(chosen, Replay) and chosen.separate)
    return plain and setting.per_class and not setting.gives_task


def network_of(chosen: Network, setting: Setting) -> Any:
    """The network asked for, `auto` resolved."""
    shape = setting.input_shape
    if chosen.network != "auto":
        return chosen.network
    if setting.samples != "arrays":
        return "gcn"
    is_colour = len(shape) == 3 and shape[0] == 3 and min(shape[1:]) >= 16
    return "reduced_resnet18" if is_colour else "mlp"


def hidden_of(chosen: Network, setting: Setting) -> Sequence[int]:
    """The hidden widths of the MLP."""
    default: tuple[int, ...] = (100, 100) if setting.n_features <= SMALL_INPUT else (400, 400)
    if setting.samples != "arrays":
        default = (64,)  # Kipf and Welling's two layers, as BeGin and CGLB have them
    widths: Sequence[int] = default if chosen.hidden is None else chosen.hidden
    return widths
