"""Files as the tools write them, made small for the tests."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any


def lmeval_results(
    path: Path,
    model: str,
    scores: dict[str, float],
    *,
    revision: str | None = None,
    date: float | None = 1.7e9,
    n: int = 200,
    metric: str = "acc",
    **changes: Any,
) -> Path:
    """A results file of lm-evaluation-harness 0.4: one accuracy per task."""
    arguments = {"pretrained": model} | ({"revision": revision} if revision else {}) | changes.pop("arguments", {})
    data: dict[str, Any] = {
        "results": {
            task: {
                "alias": task,
                f"{metric},none": score,
                f"{metric}_stderr,none": math.sqrt(score * (1 - score) / (n - 1)) if 0 <= score <= 1 else "N/A",
            }
            for task, score in scores.items()
        },
        "group_subtasks": {task: [] for task in scores},
        "versions": dict.fromkeys(scores, 1.0),
        "n-shot": dict.fromkeys(scores, 0),
        "higher_is_better": {task: {metric: True} for task in scores},
        "n-samples": {task: {"original": n, "effective": n} for task in scores},
        "config": {"model": "hf", "model_args": arguments, "limit": None},
        "date": date,
        "task_hashes": {},
        "model_name": model,
        "total_evaluation_time_seconds": "12.3",
    }
    data.update(changes)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def lmeval_old(path: Path, model: str, step: int, scores: dict[str, float], n: int) -> Path:
    """A results file as lm-evaluation-harness before 0.4 wrote it: no counts, no date."""
    data = {
        "results": {task: {"acc": p, "acc_stderr": math.sqrt(p * (1 - p) / (n - 1))} for task, p in scores.items()},
        "versions": dict.fromkeys(scores, 0),
        "config": {"model": "hf-causal", "model_args": f"pretrained={model},revision=step{step}", "limit": None},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def stage(folder: Path, scores: dict[str, float], samples: int | None = None, **more: Any) -> Path:
    """The `all_results.json` of one stage, as O-LoRA's code writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {"epoch": 1.0, "train_loss": 0.5, "train_samples": 10}
    data |= {f"predict_exact_match_for_{task}": score for task, score in scores.items()}
    data |= {} if samples is None else {"predict_samples": samples, "predict_samples_per_second": 12.5}
    file = folder / "all_results.json"
    file.write_text(json.dumps(data | more))
    return file
