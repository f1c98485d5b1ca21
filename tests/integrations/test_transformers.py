"""The callback with the real Trainer and a model made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason="transformers is tested in an environment of its own")
pytest.importorskip("accelerate")


class _Net(torch.nn.Module):  # type: ignore[name-defined, misc]
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(4, 2)

    def forward(self, x: Any, labels: Any = None) -> dict[str, Any]:
        logits = self.line(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def _data(seed: int, turn: float) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 4)).astype(np.float32)
    return [{"x": torch.tensor(row), "labels": int(row[0] * turn > 0)} for row in x]


@pytest.mark.filterwarnings("ignore")
def test_two_stages_with_the_real_trainer(tmp_path: Path) -> None:
    from recollect.integrations.transformers import RecollectCallback
    from recollect.runs import load

    tests = {"first": _data(0, 1.0), "second_one": _data(1, -1.0)}
    model = _Net()
    about = {"learner": "tiny", "stream": "turned", "tasks": list(tests), "metric": "accuracy"}

    def accuracy(given: Any) -> dict[str, float]:
        return {"accuracy": float((given.predictions.argmax(-1) == given.label_ids).mean())}

    args = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"),
        num_train_epochs=15,
        learning_rate=0.1,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        logging_strategy="no",
        eval_strategy="epoch",
    )
    printed: list[dict[str, float]] = []
    with RecollectCallback(tmp_path / "run", **about) as record:
        for place, task in enumerate(tests):
            trainer = transformers.Trainer(
                model,
                args,
                train_dataset=_data(place + 2, 1.0 - 2 * place),
                eval_dataset=tests,
                compute_metrics=accuracy,
                callbacks=[record.learning(task)],
            )
            trainer.train()
            printed.append(trainer.evaluate())
    (run,) = load(tmp_path / "run")
    ends = run.matrix.R[list(run.timeline.learned_at)]
    assert ends.tolist() == [
        [pytest.approx(row["eval_first_accuracy"]), pytest.approx(row["eval_second_one_accuracy"])] for row in printed
    ]
    assert ends[0, 0] > 0.8 > 0.5 > ends[1, 0]
    assert sum(not row.task_end for row in run.rows) == 30
    assert run.status == "finished"
