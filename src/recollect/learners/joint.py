"""The joint learners: everything seen so far, kept and learned together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.learners.base import Array, Scores, Setting, State
from recollect.learners.buffers import Everything
from recollect.learners.offline import OfflineLearner
from recollect.learners.options import Joint
from recollect.runs.seeds import Seeds


class JointIncremental(OfflineLearner):
    """A new network trained on all data seen, whenever scores are asked after new data came.

    Row i of its matrix is the joint learner of tasks 0 .. i: what intransigence compares with.
    """

    kept_as = "data"

    def __init__(self, options: Joint, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.memory = Everything()


class JointFinal(JointIncremental):
    """One network trained on the whole stream after its last task.

    Between the first batch and the end there is no such network: the scores are NaN, and those rows are not
    planned. Before the first batch the scores are those of the untrained network.
    """

    def __init__(self, options: Joint, setting: Setting, seeds: Seeds, device: str = "auto") -> None:
        super().__init__(options, setting, seeds, device)
        self.tasks_over = 0

    def end_task(self) -> None:
        """Count the tasks that are over."""
        self.tasks_over += 1

    def settle(self) -> None:
        """Train when the last task is over."""
        if self.tasks_over >= len(self.setting.tasks):
            super().settle()

    def score(self, x: Array, task: NDArray[np.int64] | None = None) -> Scores:
        """The logits of all classes; NaN while the stream is under way."""
        if self.changes and self.tasks_over < len(self.setting.tasks):
            return self.objective.answers(np.full((len(x), self.setting.n_outputs), np.nan, np.float32))
        return super().score(x, task)

    def state(self) -> State:
        """Network, data, and how many tasks are over."""
        return {**super().state(), "tasks_over": self.tasks_over}

    def restore(self, state: State) -> None:
        """Become the learner whose state this is."""
        super().restore(state)
        self.tasks_over = int(state["tasks_over"])
