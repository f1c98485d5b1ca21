"""Write the pyCLAD fixtures of the tests: real output files, and what the tool itself holds in memory.

Runs outside the project, in an environment of its own, so that the importer is tested against what the tool
writes and not against what we believe it writes::

    python -m venv pyclad-env
    pyclad-env/bin/pip install torch==2.13.0
    pyclad-env/bin/pip install pyclad==0.3.0
    pyclad-env/bin/python benchmarks/make_fixtures_pyclad.py tests/runs/fixtures/pyclad

The release has no stepwise metrics. The file that holds them is written by the main branch, from a checkout
(commit bbcbb43), with the same command and ``--checkout DIR`` (its ``src`` comes first on the path).

``expected.json`` is taken from the callbacks' own dictionaries before the writer sees them: a float32 cell is
a number there and ``"<not serializable>"`` in the file. Timings differ from run to run, scores do not.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np

# Order in time is not the order of the names as strings, and not every name is ASCII.
NAMES = ("day 8", "day 9", "day 10", "day 11", "Größe")


def concepts(seed: int, names: tuple[str, ...], extra: str | None = None, single_class: str | None = None):
    """A ring of Gaussian concepts that drift apart, and test sets with 30 % anomalies.

    `extra` is a concept that is tested and never learned, `single_class` one whose test set holds no anomaly.
    """
    from pyclad.data.concept import Concept

    rng = np.random.default_rng(seed)
    train, test = [], []
    for place, name in enumerate([*names, *([extra] if extra else [])]):
        centre = 2.5 * np.array([np.cos(0.9 * place), np.sin(0.9 * place)])
        normal = rng.normal(centre, 0.7, (140, 2))
        anomalies = rng.normal(centre, 2.6, (0 if name == single_class else 30, 2))
        labels = np.r_[np.zeros(70, int), np.ones(len(anomalies), int)]
        if name != extra:
            train.append(Concept(name, normal[:70]))
        test.append(Concept(name, np.r_[normal[70:], anomalies], labels))
    return train, test


def base_metrics():
    """ROC-AUC of the tool, and two metrics of a user: a Python float, and a float32 that JSON cannot hold."""
    from pyclad.metrics.base.base_metric import BaseMetric
    from pyclad.metrics.base.roc_auc import RocAuc

    class Accuracy(BaseMetric):
        def compute(self, anomaly_scores, y_pred, y_true):
            return float(np.mean(np.asarray(y_pred) == np.asarray(y_true)))

        def name(self):
            return "Accuracy"

    class Accuracy32(Accuracy):
        def compute(self, anomaly_scores, y_pred, y_true):
            return np.float32(super().compute(anomaly_scores, y_pred, y_true))

        def name(self):
            return "Accuracy32"

    return RocAuc(), Accuracy(), Accuracy32()


def callback(base, stepwise: bool):
    """One evaluation callback with every continual metric this version of the tool has."""
    from pyclad.callbacks.evaluation.concept_metric_evaluation import ConceptMetricCallback
    from pyclad.metrics.continual.average_continual import ContinualAverage
    from pyclad.metrics.continual.backward_transfer import BackwardTransfer
    from pyclad.metrics.continual.forward_transfer import ForwardTransfer

    summaries = [ContinualAverage(), BackwardTransfer(), ForwardTransfer()]
    if not stepwise:
        return ConceptMetricCallback(base, summaries)
    from pyclad.metrics.continual.forgetting_measure import ForgettingMeasure

    return ConceptMetricCallback(base, summaries, [ForgettingMeasure()])


def run(path: Path, strategy_name: str, bases, data, *, stepwise: bool) -> dict[str, object]:
    """Run a concept-incremental scenario, let the tool write its file, return what its objects hold."""
    from pyclad.callbacks.evaluation.memory_usage import MemoryUsageCallback
    from pyclad.callbacks.evaluation.time_evaluation import TimeEvaluationCallback
    from pyclad.data.datasets.concepts_dataset import ConceptsDataset
    from pyclad.models.adapters.pyod_adapters import IsolationForestAdapter
    from pyclad.output.json_writer import JsonOutputWriter
    from pyclad.scenarios.concept_incremental import ConceptIncrementalScenario
    from pyclad.strategies.baselines.cumulative import CumulativeStrategy
    from pyclad.strategies.baselines.naive import NaiveStrategy

    train, test = data
    dataset = ConceptsDataset("drifting ring", train, test)
    model = IsolationForestAdapter(n_estimators=20, contamination=0.05, random_state=7)
    strategy = {"Naive": NaiveStrategy, "Cumulative": CumulativeStrategy}[strategy_name](model)
    evaluations = [callback(base, stepwise) for base in bases]
    others = [TimeEvaluationCallback(), MemoryUsageCallback()]
    ConceptIncrementalScenario(dataset, strategy, [*evaluations, *others]).run()
    JsonOutputWriter(path).write([model, dataset, strategy, *evaluations, *others])
    return {
        "strategy": strategy.name(),
        "dataset": dataset.name(),
        "callbacks": {base.name(): held(one) for base, one in zip(bases, evaluations, strict=True)},
    }


def held(evaluation) -> dict[str, object]:
    """The score matrix and the metrics as the callback object holds them (NaN becomes null)."""
    (info,) = evaluation.info().values()
    learned = list(info["concepts_order"])
    evaluated = list(info["metric_matrix"][learned[-1]])
    cells = [[info["metric_matrix"][row][column] for column in evaluated] for row in learned]
    return {
        "learned": learned,
        "evaluated": evaluated,
        "R": [[number(cell) for cell in row] for row in cells],
        "serializable": all(isinstance(cell, float) for row in cells for cell in row),
        "metrics": {name: number(value) for name, value in info["metrics"].items()},
        "stepwise_metrics": {
            name: [number(v) for v in curve] for name, curve in info.get("stepwise_metrics", {}).items()
        },
    }


def number(value) -> float | None:
    """A Python float, or None where the tool holds NaN."""
    return None if math.isnan(value) else float(value)


def main() -> None:
    """Write the files of this version of the tool and merge their expected content."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--checkout", type=Path, help="a checkout of the main branch, which has stepwise metrics")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    if options.checkout:
        sys.path.insert(0, str((options.checkout / "src").resolve()))
    roc_auc, accuracy, accuracy32 = base_metrics()
    out, both = options.out, [roc_auc, accuracy]
    one_class = concepts(4, NAMES[:4], single_class="day 10")
    runs = {
        "naive.json": ("Naive", both, concepts(3, NAMES)),
        "cumulative.json": ("Cumulative", both, concepts(3, NAMES)),
        "float32_and_nan.json": ("Naive", [accuracy32, roc_auc], one_class),
        "never_learned.json": ("Naive", [roc_auc], concepts(5, NAMES[:3], extra="day 12")),
    }
    if options.checkout:
        runs = {"stepwise.json": ("Naive", both, concepts(3, NAMES))}
    version = "main bbcbb43" if options.checkout else installed_version()
    written = {
        file: {"written_by": f"pyclad {version}", **run(out / file, *run_of, stepwise=bool(options.checkout))}
        for file, run_of in runs.items()
    }
    expected = out / "expected.json"
    before = json.loads(expected.read_text("utf-8")) if expected.exists() else {}
    merged = dict(sorted({**before, **written}.items()))
    expected.write_text(json.dumps(merged, indent=1, ensure_ascii=False) + "\n", "utf-8")


def installed_version() -> str:
    """The version of the installed release."""
    from importlib.metadata import version

    return version("pyclad")


if __name__ == "__main__":
    main()
