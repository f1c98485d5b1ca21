"""MIR: replay what the newest batch would hurt most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from recollect.learners import devices
from recollect.learners.options import Interfered
from recollect.learners.replay import ExperienceReplay, Places

if TYPE_CHECKING:
    from recollect.streams import Batch


class MIR(ExperienceReplay):
    """Maximally interfered retrieval: of some candidates, those whose loss rises most after a step on the batch."""

    Options = Interfered
    options: Interfered
    memory_on_device = True

    def retrieve(self, batch: Batch) -> Places:
        """The candidates whose loss rises most when the network learns from this batch alone."""
        places = self.memory.sample(self.options.candidates)
        if not len(places):
            return places
        x, y = self.held(places)
        before, weights = self.losses(x, y), self.optimiser.parameters
        loss = self.loss(self.outputs(batch.x), self.labels(batch.y))
        slope = torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)
        with torch.no_grad():
            kept = [weight.clone() for weight in weights]
            torch._foreach_add_(weights, slope, alpha=-self.options.lr)
            rise = devices.to_array(self.losses(x, y) - before)
            torch._foreach_copy_(weights, kept)
        chosen: Places = places[(-rise).argsort(kind="stable")[: self.options.memory_batch]]
        return chosen
