"""Hugging Face's Trainer: `all_results.json` of each stage or checkpoint, in the layout of O-LoRA and SAPT too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.runs.arrange import Choices
from recollect.runs.importers.build import whole
from recollect.runs.importers.files import cannot_read, find_files, guess_json, in_words, is_folder, load_json, natural
from recollect.runs.importers.versions.assemble import runs_of
from recollect.runs.importers.versions.evaluation import Evaluation, Measured, known_direction, measured
from recollect.runs.run import Run
from recollect.runs.shares import is_share
from recollect.runs.version_names import step_of

NAME = "hf-trainer"
SUMMARY = "Hugging Face Trainer: all_results.json per stage; O-LoRA and SAPT's outputs/<k>-<task>/all_results.json"

# In the order of preference: the first holds what the others do.
_FILES = ("all_results.json", "predict_results.json", "eval_results.json")
_STAGE = re.compile(r"([0-9]{1,9})[-_](.+)")
_PER_TASK = re.compile(r"(?:predict|eval|test)_(?:eval_)?(.+?)_for_(.+)")
_OF_SET = re.compile(r"(?:predict|eval|test)_(.+)")
_NO_SCORES = re.compile(
    r"(.*_)?(runtime|samples|samples_per_second|steps_per_second|gen_len|global_step|jit_compilation_time|model_preparation_time)"
)


def sniff(path: Path) -> bool:
    """A results file with `predict_*` or `eval_*` keys, or a folder with one."""
    if is_folder(path):
        return any(sniff(file) for file, _ in zip(_files(path), range(20), strict=False))
    if path.name not in _FILES:
        return False
    data = guess_json(path)
    return isinstance(data, dict) and any(_OF_SET.fullmatch(key) or key.startswith("train_") for key in data)


def read(path: Path) -> list[Run]:
    """The runs of a folder: one for each folder that holds stages."""
    return runs_of(evaluations(path), path, NAME, Choices())


def evaluations(path: Path) -> list[Evaluation]:
    """The results of every stage, with the counts of test items that follow from them."""
    files = [path] if not is_folder(path) else list(_files(path))
    best: dict[Path, Path] = {}
    for file in sorted(files, key=lambda file: _FILES.index(file.name) if file.name in _FILES else 0):
        best.setdefault(file.parent, file)
    families: dict[Path, list[Path]] = {}
    for folder in sorted(best, key=lambda folder: natural(str(folder))):
        families.setdefault(folder.parent, []).append(folder)
    found = [
        _with_counts(_stages(parent, [(folder, best[folder]) for folder in folders]))
        for parent, folders in families.items()
    ]
    told = {
        task: cell.n
        for stages in found
        for one in stages
        for task, cells in one.scores.items()
        for cell in cells.values()
        if cell.n is not None
    }
    return [one for stages in found for one in _as_siblings(stages, told)]


def _as_siblings(stages: list[Evaluation], told: Mapping[str, int]) -> list[Evaluation]:
    """Stages with the counts that another training beside them tells, where every score can come from so many items."""
    known = {
        task for one in stages for task, cells in one.scores.items() if any(c.n is not None for c in cells.values())
    }
    fits = {t: n for t, n in told.items() if t not in known and all(_fits(one, t, n) for one in stages)}
    fits = {t: n for t, n in fits.items() if any(t in one.scores and t not in one.aside for one in stages)}
    if not fits:
        return stages
    own = {t: c.n for one in stages for t, cells in one.scores.items() for c in cells.values() if c.n is not None}
    note = f"test items as the training beside it counts them: {', '.join(sorted(fits))}"
    return [replace(one, scores=_counted(one.scores, {**own, **fits}), notes=(*one.notes, note)) for one in stages]


def _files(folder: Path) -> Iterable[Path]:
    return find_files(folder, lambda name: name in _FILES)


def _stages(parent: Path, files: Sequence[tuple[Path, Path]]) -> list[Evaluation]:
    """The stages of one training; names of tasks are those of the folders."""
    names = {folder: _STAGE.fullmatch(folder.absolute().name) for folder, _ in files}
    trained = {match[2] for match in names.values() if match}
    order = _task_order(parent)
    outer = parent.absolute().parent if parent.absolute().name == "outputs" else parent.absolute()
    made = []
    for folder, file in files:
        data = load_json(file, NAME)
        if not isinstance(data, dict):
            raise cannot_read(file, NAME, "an object of numbers is expected.")
        scores = _scores(file, data)
        match = names[folder]
        name = folder.absolute().name
        aside = frozenset(task for task in scores if match and trained and task not in trained)
        made.append(
            Evaluation(
                path=file,
                model=name,
                family=outer.name if len(files) > 1 or match else "",
                scores=scores,
                step=int(match[1]) if match else step_of(name),
                trained=match[2] if match and match[2] in scores.keys() | trained and not _is_base(name) else None,
                aside=aside,
                units=dict.fromkeys(_names(scores), "percent" if _is_percent(scores) else "fraction"),
                notes=(f"{outer.name}: task_order.txt says {order}",) if order else (),
            )
        )
    percent = any("percent" in one.units.values() for one in made)
    return [replace(one, units=dict.fromkeys(_names(one.scores), "percent")) if percent else one for one in made]


def _is_base(name: str) -> bool:
    match = _STAGE.fullmatch(name)
    return bool(match) and int(match[1]) == 0 if match else False


def _names(scores: Mapping[str, Mapping[str, Measured]]) -> set[str]:
    return {metric for values in scores.values() for metric in values if _is_share(metric)}


def _is_share(metric: str) -> bool:
    return is_share(metric) or metric.lower().startswith(("rouge", "f1", "bleu"))


def _is_percent(scores: Mapping[str, Mapping[str, Measured]]) -> bool:
    return any(cell.score > 1 for values in scores.values() for metric, cell in values.items() if _is_share(metric))


def _task_order(parent: Path) -> str:
    file = parent / "task_order.txt"
    try:
        return in_words(file.read_text(encoding="utf-8"), 200) if file.is_file() else ""
    except (OSError, UnicodeError):
        return ""


def _scores(file: Path, data: Mapping[str, Any]) -> dict[str, dict[str, Measured]]:
    """Scores by task: `predict_<metric>_for_<task>`, `eval_<task>_<metric>`, or of one unnamed set."""
    sets = _sets(data)
    found: dict[str, dict[str, Measured]] = {}
    per_task = any(_PER_TASK.fullmatch(key) for key in data)
    for key, value in data.items():
        match = _PER_TASK.fullmatch(key) if per_task else _OF_SET.fullmatch(key)
        if match is None or isinstance(value, str | bool | None):
            continue
        if per_task:
            metric, task = match[1], match[2]
        else:
            task = next((name for name in sets if match[1].startswith(f"{name}_")), "")
            metric = match[1].removeprefix(f"{task}_") if task else match[1]
            if sets and not task:
                continue
        if _NO_SCORES.fullmatch(metric):
            continue
        n = None if per_task else whole(data.get(f"eval_{task}_samples" if task else "eval_samples"))
        try:
            score = measured(value, None, n)
        except ValueError as wrong:
            raise cannot_read(file, NAME, f"{in_words(key)}: {wrong}.") from None
        if score is not None:
            found.setdefault(in_words(task or "eval", 200), {})[metric] = score
    return found


def _sets(data: Mapping[str, Any]) -> list[str]:
    """The names of several evaluation sets: each has its own running time; longer names first."""
    names = {match[1] for key in data if (match := re.fullmatch(r"eval_(.+)_(?:runtime|samples_per_second)", key))}
    names = {name.removesuffix("_samples_per_second") for name in names} - {"samples", "steps"}
    return sorted(names, key=len, reverse=True)


def _with_counts(stages: list[Evaluation]) -> list[Evaluation]:
    """Stages with the items of each task, where the count of all items grows by one task per stage."""
    counts: dict[str, int] = {}
    before, tasks = 0, set[str]()
    for one in sorted(stages, key=lambda stage: stage.step or 0):
        data = load_json(one.path, NAME)
        total, here = whole(data.get("predict_samples")), set(one.scores) - one.aside
        if total is None or not here:
            continue
        new = here - tasks
        if len(new) == 1 and tasks < here and total > before and len(tasks) + 1 == len(here):
            counts[new.pop()] = total - before
        before, tasks = total, here
    exact = {task: n for task, n in counts.items() if all(_fits(one, task, n) for one in stages)}
    return [replace(one, scores=_counted(one.scores, exact)) for one in stages] if exact else stages


def _fits(one: Evaluation, task: str, n: int) -> bool:
    """Whether a share of n items can be this score, to the decimals that are written."""
    for metric, cell in one.scores.get(task, {}).items():
        if metric in ("exact_match", "accuracy"):
            scale, digits = (100, 1e-4) if one.units.get(metric) == "percent" else (1, 1e-4)
            right = cell.score / scale * n
            if abs(right - round(right)) > 0.51 * digits / scale * n + 1e-9:
                return False
    return True


def _counted(scores: Mapping[str, Mapping[str, Measured]], counts: Mapping[str, int]) -> dict[str, dict[str, Measured]]:
    return {
        task: {
            metric: cell._replace(n=counts.get(task)) if known_direction(metric) is not None else cell
            for metric, cell in values.items()
        }
        for task, values in scores.items()
    }
