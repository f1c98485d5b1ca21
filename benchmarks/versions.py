"""How long it takes to read a thousand result files of versions of a model.

    python benchmarks/versions.py FOLDER

FOLDER holds `lmeval/pythia/` as its owners published it. Writes benchmarks/results/versions.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from recollect.runs import load

OUT = Path(__file__).parent / "results" / "versions.md"


def reading(folder: Path, files: int = 1000, turns: int = 9) -> list[str]:
    """Reading many result files, beside parsing their JSON and nothing else."""
    source = [json.loads(file.read_text()) for file in sorted(folder.rglob("*.json"))]
    lines = [
        "## Reading",
        "",
        f"{files:,} files of lm-eval with 87 tasks each; processor time, files in the cache of the system, {turns}"
        " turns of both, one after the other. Ratio: `recollect.load(folder)` over opening, reading and `json.loads`"
        " of the same files; required: at most 3.",
        "",
        "| files | MB | ratio (median) | smallest to largest | bare, ms |",
        "|---|---|---|---|---|",
    ]
    for name, form in (("old keys, as published", dict), ("the same with the keys of lm-eval 0.4", _with_new_keys)):
        with tempfile.TemporaryDirectory() as made:
            for place in range(files):
                data = form(source[place % len(source)])
                data["config"] = data["config"] | {"model_args": f"pretrained=org/model,revision=step{place}"}
                (Path(made) / f"step{place}.json").write_text(json.dumps(data, indent=2))
            size = sum(file.stat().st_size for file in Path(made).iterdir()) / 1e6
            load(made)
            bare, ours = zip(*(_turn(Path(made)) for _ in range(turns)), strict=True)
        ratios = np.array(ours) / np.array(bare)
        lines.append(
            f"| {name} | {size:.0f} | {np.median(ratios):.2f} | {ratios.min():.2f} to {ratios.max():.2f} |"
            f" {1000 * min(bare):.0f} |"
        )
    return lines


def _turn(folder: Path) -> tuple[float, float]:
    begun = time.process_time()
    for file in folder.iterdir():
        json.loads(file.read_bytes())
    parsed = time.process_time()
    load(folder)
    return parsed - begun, time.process_time() - parsed


def _with_new_keys(old: dict[str, Any]) -> dict[str, Any]:
    """What lm-eval 0.4 writes for the same scores: filters in the keys, counts, directions, groups."""
    tasks = list(old["results"])
    return {
        "results": {
            task: {"alias": task, **{f"{key},none": value for key, value in values.items()}}
            for task, values in old["results"].items()
        },
        "group_subtasks": {task: [] for task in tasks},
        "versions": dict.fromkeys(tasks, 1.0),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {
            task: {key: "ppl" not in key for key in values if "stderr" not in key}
            for task, values in old["results"].items()
        },
        "n-samples": {task: {"original": 1000, "effective": 1000} for task in tasks},
        "config": old["config"],
        "task_hashes": {},
        "date": 1.0,
    }


def main() -> None:
    """Write the page."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("python benchmarks/versions.py FOLDER, the unpacked public files")
    folder = Path(sys.argv[1])
    text = "# Versions of a model\n\nMade by `python benchmarks/versions.py FOLDER`.\n\n"
    OUT.write_text(text + "\n".join(reading(folder / "lmeval" / "pythia")) + "\n")
    print(OUT.read_text())


if __name__ == "__main__":
    main()
