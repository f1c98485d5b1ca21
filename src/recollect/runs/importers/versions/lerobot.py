"""lerobot: `eval_info.json`, one file per checkpoint of a robot's policy; test items are episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect.runs.importers.files import cannot_read
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, listing, mapping
from recollect.runs.importers.versions.json_tool import JsonTool
from recollect.runs.importers.versions.samples import task_name
from recollect.runs.version_names import step_of

NAME = "lerobot"
SUMMARY = "lerobot: eval_info.json of one checkpoint, or a folder of them"


_PAIRED = "the episodes of two checkpoints are paired by their places, as if each began from the same seed in both"


def _is_its(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("per_task"), list) and "overall" in data


def _evaluation(path: Path, data: Any) -> Evaluation:
    scores: dict[str, dict[str, Measured]] = {}
    for entry in map(mapping, data["per_task"]):
        task = task_name(entry)
        if task in scores:
            raise cannot_read(path, NAME, f"it has two entries for {task}.")
        outcomes = listing(mapping(entry.get("metrics")).get("successes"))
        if not outcomes:
            continue
        if not all(isinstance(outcome, bool | int | float) and outcome in (0, 1) for outcome in outcomes):
            raise cannot_read(path, NAME, f"the successes of {task} are true or false; got another value.")
        scores[task] = {"success": Measured(sum(outcomes) / len(outcomes), len(outcomes))}
    # Files are all called alike: the folder that tells them apart is the version.
    parts = path.absolute().parent.parts
    model = "/".join(part for part in parts[-3:] if part != "/")
    return Evaluation(path=path, model=model, step=_step(parts), scores=scores, notes=(_PAIRED,))


def _step(parts: tuple[str, ...]) -> int | None:
    """The step of a checkpoint's folder: `checkpoints/020000`, or a name that says so."""
    for before, part in zip(("", *parts), parts, strict=False):
        if before == "checkpoints" and part.isdigit():
            return int(part)
    return step_of(parts[-1] if parts else "")


_TOOL = JsonTool(NAME, b'"per_task"', _is_its, _evaluation)
sniff, read, evaluations = _TOOL.sniff, _TOOL.read, _TOOL.evaluations
