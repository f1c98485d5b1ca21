"""Make a small language model, fine-tune it on three tasks one after the other, and evaluate it after each.

    python examples/tiny_lm/run.py --out evals
    recollect report evals --base base --held-out general

Each evaluation is written as lm-evaluation-harness writes it: `<out>/<version>/results_<date>.json`, and every single
answer in `samples_<task>_<date>.jsonl`. Minutes on one core.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
from datetime import UTC, datetime
from pathlib import Path

import torch
from model import TinyLM, answers, train
from text import ALL, TASKS, made

TEST = 1_000_003


def evaluate(model: TinyLM, version: str, out: Path, n: int) -> dict[str, float]:
    """Ask every test question and write results and samples in lm-eval's format."""
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    folder = out / version
    folder.mkdir(parents=True, exist_ok=True)
    results, counts, scores = {}, {}, {}
    for task in ALL:
        pairs = made(task, n, TEST)
        given = [text for k in range(0, n, 100) for text in answers(model, [q for q, _ in pairs[k : k + 100]])]
        right = [text == answer for text, (_, answer) in zip(given, pairs, strict=True)]
        with (folder / f"samples_{task}_{date}.jsonl").open("w") as file:
            for place, ((question, answer), text, is_right) in enumerate(zip(pairs, given, right, strict=True)):
                line = {
                    "doc_id": place,
                    "target": answer,
                    "arguments": {"gen_args_0": {"arg_0": question}},
                    "filtered_resps": [text],
                    "filter": "none",
                    "metrics": ["exact_match"],
                    "doc_hash": hashlib.sha256(f"{place} {question}".encode()).hexdigest(),
                    "exact_match": float(is_right),
                }
                file.write(json.dumps(line) + "\n")
        share = scores[task] = sum(right) / n
        error = math.sqrt(share * (1 - share) / (n - 1))
        results[task] = {"alias": task, "exact_match,none": share, "exact_match_stderr,none": error}
        counts[task] = {"original": n, "effective": n}
    data = {
        "results": results,
        "group_subtasks": {task: [] for task in ALL},
        "versions": dict.fromkeys(ALL, 1),
        "n-shot": dict.fromkeys(ALL, 0),
        "higher_is_better": {task: {"exact_match": True} for task in ALL},
        "n-samples": counts,
        "config": {"model": "tiny", "model_args": {"pretrained": version}, "limit": None},
        "date": time.time(),
        "model_name": version,
    }
    (folder / f"results_{date}.json").write_text(json.dumps(data, indent=2))
    return scores


def main() -> None:
    """Train the base, then one task after the other; evaluate after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("evals"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--base-steps", type=int, default=300)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--test", type=int, default=200, help="test questions per task")
    parser.add_argument("--replay", type=float, default=0.0, help="share of questions that are of earlier stages")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    model = TinyLM()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    stages = [
        ("base", "general", given.base_steps),
        *((f"{k}-{task}", task, given.steps) for k, task in enumerate(TASKS, 1)),
    ]
    seen: list[tuple[str, str]] = []
    for version, task, steps in stages:
        begun = time.perf_counter()
        pairs = made(task, 20_000, given.seed)
        old = [seen[k * len(seen) // 4000] for k in range(4000)] if seen else []
        again = old * round(given.replay * len(pairs) / (1 - given.replay) / 4000) if old else []
        loss = train(model, pairs + again, steps, given.seed)
        seen += pairs
        scores = evaluate(model, version, given.out, given.test)
        shown = ", ".join(f"{name} {score:.3f}" for name, score in scores.items())
        print(f"{version}: loss {loss:.3f}; {shown}; {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
