"""The other side of against_begin.py, run in BeGin's environment: reads one job a line, answers with R and CPU time.

python against_begin_worker.py CHECKOUT
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from importlib.metadata import version
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, sys.argv[1])

import dgl
import numpy as np
import torch

with contextlib.redirect_stdout(io.StringIO()):
    from begin.algorithms.bare.nodes import NCClassILBareTrainer, NCTaskILBareTrainer
    from begin.scenarios.nodes import NCScenarioLoader
    from begin.utils import GCNNode

torch.set_num_threads(1)
TRAINERS = {"class": NCClassILBareTrainer, "task": NCTaskILBareTrainer}


def scenario_of(job: dict[str, Any]) -> Any:
    """BeGin's loader over the graph in the file, by its own hook for data sets of the user."""

    def load(save_path: str) -> dict[str, Any]:
        with np.load(job["file"]) as file:
            graph = dgl.graph((torch.from_numpy(file["source"]), torch.from_numpy(file["target"])))
            for name in ("feat", "label", "train_mask", "val_mask", "test_mask"):
                graph.ndata[name] = torch.from_numpy(file[name])
        return {"graph": graph, "num_feats": graph.ndata["feat"].shape[1], "num_classes": job["classes"]}

    return NCScenarioLoader(
        dataset_name="given",
        num_tasks=job["tasks"],
        metric="accuracy",
        save_path=".",
        incr_type=job["scenario"],
        dataset_load_func=load,
    )


def trainer_of(base: type, kept: list[dict[str, Any]], select: bool) -> type:
    """BeGin's trainer that keeps a copy of the weights it is tested with; without `select` those of the last epoch."""

    class Kept(base):  # type: ignore[misc, valid-type]
        def processAfterTraining(self, task_id: int, curr_dataset: Any, curr_model: Any, *rest: Any) -> None:
            if select:
                super().processAfterTraining(task_id, curr_dataset, curr_model, *rest)
            kept.append({name: value.clone().numpy() for name, value in curr_model.state_dict().items()})

    return Kept


def run(job: dict[str, Any]) -> dict[str, Any]:
    """One learner on one stream, from start to end."""
    torch.manual_seed(job["seed"])
    scenario = scenario_of(job)
    model = GCNNode(
        scenario.num_feats, scenario.num_classes, job["hidden"], n_layers=job["layers"], incr_type=job["scenario"]
    )
    kept = [{name: value.clone().numpy() for name, value in model.state_dict().items()}]
    trainer = trainer_of(TRAINERS[job["scenario"]], kept, job["select"])(
        model=model,
        scenario=scenario,
        optimizer_fn=lambda x: torch.optim.Adam(x, lr=job["lr"], weight_decay=job["weight_decay"]),
        loss_fn=torch.nn.CrossEntropyLoss(ignore_index=-1),
        device=torch.device("cpu"),
        scheduler_fn=lambda x: torch.optim.lr_scheduler.ReduceLROnPlateau(x, mode="min", patience=10**9, min_lr=1e-12),
        verbose=False,
    )
    started = time.process_time()
    found = trainer.run(epoch_per_task=job["epochs"])
    seconds = time.process_time() - started
    np.savez(job["weights"], **{f"{k} {name}": value for k, held in enumerate(kept) for name, value in held.items()})
    return {
        "R": found["exp_test"][:, :-1].double().tolist(),
        "AP": float(found["exp_AP"]),
        "AF": float(found["exp_AF"]),
        "seconds": seconds,
    }


def main() -> None:
    os.chdir(tempfile.mkdtemp())
    print(json.dumps({name: version(name) for name in ("dgl", "torch", "numpy")}), flush=True)
    for line in sys.stdin:
        with contextlib.redirect_stdout(io.StringIO()):
            answer = run(json.loads(line))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
