"""The other side of against_pyclad.py, run in pyCLAD's environment: reads one job a line, answers with R and CPU time.

python against_pyclad_worker.py FILE.npz
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from pyclad.callbacks.evaluation.concept_metric_evaluation import ConceptMetricCallback
from pyclad.data.concept import Concept
from pyclad.data.datasets.concepts_dataset import ConceptsDataset
from pyclad.metrics.base.base_metric import BaseMetric
from pyclad.metrics.base.roc_auc import RocAuc
from pyclad.metrics.continual.average_continual import ContinualAverage
from pyclad.metrics.continual.backward_transfer import BackwardTransfer
from pyclad.metrics.continual.forward_transfer import ForwardTransfer
from pyclad.models.adapters.pyod_adapters import PyODAdapter
from pyclad.scenarios.concept_agnostic import ConceptAgnosticScenario
from pyclad.scenarios.concept_aware import ConceptAwareScenario
from pyclad.scenarios.concept_incremental import ConceptIncrementalScenario
from pyclad.strategies.baselines.cumulative import CumulativeStrategy
from pyclad.strategies.baselines.mste import MSTE
from pyclad.strategies.baselines.naive import NaiveStrategy
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from pyod.models.lof import LOF
from pyod.models.ocsvm import OCSVM
from sklearn.metrics import average_precision_score, f1_score

DETECTORS = {"COPOD": COPOD, "ECOD": ECOD, "HBOS": HBOS, "IForest": IForest, "LOF": LOF, "OCSVM": OCSVM}


class AveragePrecision(BaseMetric):
    """A second score, as a user of pyCLAD adds one."""

    def compute(self, anomaly_scores: Any, y_pred: Any, y_true: Any) -> float:
        return float(average_precision_score(y_true, anomaly_scores))

    def name(self) -> str:
        return "AP"


class F1(BaseMetric):
    """A third one."""

    def compute(self, anomaly_scores: Any, y_pred: Any, y_true: Any) -> float:
        return float(f1_score(y_true, y_pred))

    def name(self) -> str:
        return "F1"


def dataset(path: str) -> ConceptsDataset:
    """The concepts of a file, as pyCLAD has them."""
    with np.load(path) as file:
        count = sum(key.endswith("_name") for key in file.files)
        train = [Concept(str(file[f"c{i}_name"]), file[f"c{i}_train_data"]) for i in range(count)]
        test = [
            Concept(str(file[f"c{i}_name"]), file[f"c{i}_test_data"], file[f"c{i}_test_labels"]) for i in range(count)
        ]
    return ConceptsDataset("example", train, test)


def run(data: ConceptsDataset, job: dict[str, Any]) -> dict[str, Any]:
    """One scenario from start to end."""

    def model() -> PyODAdapter:
        return PyODAdapter(DETECTORS[job["detector"]](**job["parameters"]), job["detector"])

    scores = [RocAuc(), AveragePrecision(), F1()][: job["scores"]]
    callbacks = [
        ConceptMetricCallback(one, [ContinualAverage(), BackwardTransfer(), ForwardTransfer()]) for one in scores
    ]
    started = time.process_time()
    strategy = {
        "naive": lambda: NaiveStrategy(model()),
        "cumulative": lambda: CumulativeStrategy(model()),
        "experts": lambda: MSTE(model),
    }[job["strategy"]]()
    if job["scenario"] == "concept-agnostic":
        ConceptAgnosticScenario(data, strategy, callbacks).run(batch_size=job["batch"])
    else:
        kind = ConceptAwareScenario if job["scenario"] == "concept-aware" else ConceptIncrementalScenario
        kind(data, strategy, callbacks).run()
    seconds = time.process_time() - started
    infos = [next(iter(callback.info().values())) for callback in callbacks]
    names = infos[0]["concepts_order"]
    R = [[[float(info["metric_matrix"][row][column]) for column in names] for row in names] for info in infos]
    return {"R": R, "seconds": seconds, "metrics": {k: float(v) for k, v in infos[0]["metrics"].items()}}


def main() -> None:
    data = dataset(sys.argv[1])
    names = ("pyclad", "pyod", "scikit-learn", "numpy")
    print(json.dumps({name: version(name) for name in names}), flush=True)
    for line in sys.stdin:
        print(json.dumps(run(data, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
