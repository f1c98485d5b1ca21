"""Avalanche: a plugin that records every evaluation of a strategy on a test stream."""

from __future__ import annotations

import re
from typing import Any

from avalanche.core import SupervisedPlugin

from recollect.integrations.stages import Stages

_CELL = re.compile(r"(.+?)/eval_phase/\w+_stream(?:/Task\d+)?/Exp(\d+)")


class RecollectPlugin(Stages, SupervisedPlugin):  # type: ignore[misc]
    """Record the metric `Top1_Acc_Exp` (or another, by `source`) of each experience.

    ::

        record = RecollectPlugin("runs/er", learner="er", stream="split mnist", tasks=5)
        strategy = Replay(..., plugins=[record], evaluator=EvaluationPlugin(accuracy_metrics(experience=True)))
        for experience in benchmark.train_stream:
            strategy.train(experience)
            strategy.eval(benchmark.test_stream)
        record.close()
    """

    def __init__(self, *args: Any, tasks: int, source: str = "Top1_Acc_Exp", **fields: Any) -> None:
        super().__init__(*args, tasks=[f"experience {j}" for j in range(tasks)], **fields)
        self._source = source

    def before_training_exp(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        self.learning(int(strategy.experience.current_experience))

    def after_training_exp(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        self.learned()

    def after_eval(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        scores: dict[int | str, float] = {}
        for key, value in strategy.evaluator.get_last_metrics().items():
            match = _CELL.fullmatch(key)
            if match and match[1] == self._source:
                scores[int(match[2])] = float(value)
        self.record(scores, step=int(strategy.clock.train_iterations))
