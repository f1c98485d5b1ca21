"""Which network the options ask for, known without importing torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.learners.base import Setting
from recollect.learners.options import Network

SMALL_INPUT = 64
GRAPH_NETWORKS = ("gcn", "gat", "sage", "gin")


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
