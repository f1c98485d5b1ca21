"""Hugging Face's Trainer: a callback that records every evaluation of a fine-tuning in stages."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from recollect.integrations.stages import Stages


class RecollectCallback(Stages, TrainerCallback):  # type: ignore[misc]
    """Record what `Trainer.evaluate` gives for each set of `eval_dataset={"task": set, ...}`.

    ::

        about = dict(learner="lora", stream="support", tasks=["a", "b"], metric="accuracy")
        with RecollectCallback("runs/lora", **about) as record:
            for task in ("a", "b"):
                trainer = Trainer(model, args, train_dataset=train[task], eval_dataset=test,
                                  callbacks=[record.learning(task)], compute_metrics=accuracy)
                trainer.train()
                trainer.evaluate()

    The score is the one called `metric` (`eval_<task>_<metric>`). Sets that are no tasks of the record are an error.
    """

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.learned()

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **kwargs: Any) -> None:
        ending = f"_{self.metric}"
        found: dict[int | str, float] = {
            key.removeprefix("eval_").removesuffix(ending): value
            for key, value in metrics.items()
            if key.endswith(ending)
        }
        self.record(found, step=int(state.global_step))
