"""Lightning: a callback that records `trainer.test` or `trainer.validate` over one dataloader per task."""

from __future__ import annotations

import re
from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:  # the older name of the same package
    from pytorch_lightning import Callback

from recollect.integrations.stages import Stages

_LOADER = re.compile(r"(.+)/dataloader_idx_(\d+)")


class RecollectCallback(Stages, Callback):  # type: ignore[misc]
    """Record the logged score called `metric`; dataloader j belongs to task j.

    ::

        about = dict(learner="mine", stream="digits", tasks=["a", "b"], metric="test_acc")
        with RecollectCallback("runs/mine", **about) as record:
            for task in ("a", "b"):
                trainer = Trainer(callbacks=[record.learning(task)], ...)
                trainer.fit(model, loaders[task])
                trainer.test(model, list(tests.values()))
    """

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self.learned()

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        self._evaluated(trainer)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            self._evaluated(trainer)

    def _evaluated(self, trainer: Any) -> None:
        scores: dict[int | str, float] = {}
        for key, value in trainer.callback_metrics.items():
            match = _LOADER.fullmatch(key)
            if match and match[1] == self.metric:
                scores[int(match[2])] = float(value)
            elif key == self.metric:
                scores[0] = float(value)
        self.record(scores, step=int(trainer.global_step))
