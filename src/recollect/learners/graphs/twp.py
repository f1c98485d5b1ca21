"""TWP: weights that matter for the loss or for how nodes attend to their neighbours are held near their values."""

from __future__ import annotations

import torch
from torch import Tensor

from recollect.learners import devices
from recollect.learners.anchored import AnchoredLearner
from recollect.learners.options import Topology


class TWP(AnchoredLearner):
    """Topology-aware weight preserving (Liu et al. 2021).

    Importance is the squared gradient of the task's loss, and of the length of the attention between neighbours:
    h_i . tanh(h_j) over all edges that are seen, h being what the last layer sees. The paper's third term, the length
    of the gradient itself, has no gradient in the published code and is left out.
    """

    options: Topology

    def importance(self) -> list[Tensor]:
        """Of the samples of the task together, as the paper has it."""
        seen = self.inputs.tensor(self.recent.x)
        y = devices.to_tensor(self.recent.y, self.device)
        hidden = getattr(self.network, "features", None)
        table = hidden(seen.graph) if hidden is not None else self.network.encode(seen.graph)  # type: ignore[operator]
        source, target = seen.graph.edge_index
        attention = torch.linalg.vector_norm((table[target] * torch.tanh(table[source])).sum(1))
        by_loss = self.squares(self.loss(self.network(seen), y))
        by_shape = self.squares(attention)
        shape = torch._foreach_mul(by_shape, self.options.topology)
        return list(torch._foreach_add(torch._foreach_mul(by_loss, self.options.loss), shape))
