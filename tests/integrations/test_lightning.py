"""The callback with the real Lightning Trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning", reason="Lightning is tested in an environment of its own")


@pytest.mark.filterwarnings("ignore")
def test_two_stages_with_the_real_trainer(tmp_path: Path) -> None:
    import lightning.pytorch as pl

    from recollect.integrations.lightning import RecollectCallback
    from recollect.runs import load

    class Net(pl.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.line = torch.nn.Linear(4, 2)

        def training_step(self, batch: Any, at: int) -> Any:
            return torch.nn.functional.cross_entropy(self.line(batch[0]), batch[1])

        def test_step(self, batch: Any, at: int, dataloader_idx: int = 0) -> None:
            self.log("test_acc", (self.line(batch[0]).argmax(-1) == batch[1]).float().mean())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.5)

    torch.manual_seed(0)

    def loader(turn: float) -> Any:
        x = torch.randn(64, 4)
        return torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(x, (x[:, 0] * turn > 0).long()), batch_size=16
        )

    tests, model = [loader(1.0), loader(-1.0)], Net()
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    printed = []
    about = {"learner": "tiny", "stream": "turned", "tasks": ["a", "b"], "metric": "test_acc"}
    with RecollectCallback(tmp_path / "run", **about) as record:
        for task, turn in (("a", 1.0), ("b", -1.0)):
            callbacks = [record.learning(task)]
            trainer = pl.Trainer(max_epochs=10, callbacks=callbacks, enable_checkpointing=False, **quiet)
            trainer.fit(model, loader(turn))
            printed.append(
                [one[f"test_acc/dataloader_idx_{j}"] for j, one in enumerate(trainer.test(model, tests, verbose=False))]
            )
    (run,) = load(tmp_path / "run")
    assert run.matrix.R.tolist() == [[pytest.approx(v) for v in row] for row in printed]
    assert run.matrix.R[0, 0] > 0.8 > run.matrix.R[1, 0]
