"""The plugin with the real Avalanche."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("avalanche", reason="Avalanche is tested in an environment of its own")


@pytest.mark.filterwarnings("ignore")
def test_a_strategy_is_recorded_as_avalanche_prints_it(tmp_path: Path) -> None:
    from avalanche.benchmarks import nc_benchmark
    from avalanche.benchmarks.utils import as_classification_dataset
    from avalanche.evaluation.metrics import accuracy_metrics
    from avalanche.training.plugins import EvaluationPlugin
    from avalanche.training.supervised import Naive
    from torch.utils.data import TensorDataset

    from recollect.integrations.avalanche import RecollectPlugin
    from recollect.runs import load

    torch.manual_seed(0)

    def data() -> object:
        y = torch.arange(80) % 4
        made = TensorDataset(torch.nn.functional.one_hot(y, 4).float() + 0.1 * torch.randn(80, 4), y)
        made.targets = y.tolist()  # type: ignore[attr-defined]
        return as_classification_dataset(made)

    benchmark = nc_benchmark(data(), data(), n_experiences=2, task_labels=False, fixed_class_order=[0, 1, 2, 3])
    model = torch.nn.Linear(4, 4)
    record = RecollectPlugin(tmp_path / "run", learner="naive", stream="four", tasks=2)
    strategy = Naive(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        train_mb_size=8,
        train_epochs=5,
        plugins=[record],
        evaluator=EvaluationPlugin(accuracy_metrics(experience=True), loggers=[]),
    )
    printed = []
    for experience in benchmark.train_stream:
        strategy.train(experience)
        metrics = strategy.eval(benchmark.test_stream)
        printed.append(
            [
                next(v for k, v in metrics.items() if k.startswith("Top1_Acc_Exp") and k.endswith(f"Exp00{j}"))
                for j in range(2)
            ]
        )
    record.close()
    (run,) = load(tmp_path / "run")
    assert run.matrix.R.tolist() == [[pytest.approx(v) for v in row] for row in printed]
