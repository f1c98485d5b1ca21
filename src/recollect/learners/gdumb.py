"""GDumb: a balanced memory, and a network trained on nothing else."""

from __future__ import annotations

from recollect.learners import options
from recollect.learners.base import Setting
from recollect.learners.buffers import GreedyBalanced
from recollect.learners.offline import OfflineLearner
from recollect.learners.randomness import sub_seed
from recollect.runs.seeds import Seeds


class GDumb(OfflineLearner):
    """Greedy sampler and dumb learner: `learn` only fills the memory, `score` trains on it."""

    def __init__(self, options: options.GDumb, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.memory = GreedyBalanced(options.memory, sub_seed(seeds.learner, "memory"))
