"""Single test items: coverage of intervals over them, what recording costs, and how large files may be.

    python benchmarks/items.py [coverage] [cost] [ten-million] [samples]

Writes benchmarks/results/items.md, part by part; those that are not asked for are kept. Times are of the processor.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recollect.matrix import ScoreMatrix
from recollect.metrics import score
from recollect.problems.base import Moment
from recollect.protocol.loop import exam_of
from recollect.runs import Plan, Row, Run, RunFolder, Task
from recollect.stats import noise_of, null_forgetting, over_items

OUT = Path(__file__).parent / "results" / "items.md"
METRICS = ("acc.average", "forgetting.first", "forgetting.chaudhry2018", "held_out.delta", "held_out.relative")
# Four rows after the base: two tasks are learned, the third column is held out; abilities of the items are shared.
LEARNED_AT = [0, 1, "held out"]
LEVELS = np.array([[0.2, 0.1, 0.7], [0.9, 0.1, 0.68], [0.7, 0.85, 0.65], [0.6, 0.8, 0.66], [0.55, 0.75, 0.6]])


def test_set(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Answers of all rows to n items of each column; an item that is hard is hard in every row."""
    tables = []
    for column in range(3):
        hard = rng.normal(size=n)
        rows = [hard + rng.normal(size=n) < np.sqrt(2) * _quantile(p) for p in LEVELS[:, column]]
        tables.append(np.array(rows, np.int8))
    return tables


def _quantile(p: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(p))


def matrix_of(tables: list[np.ndarray], n: int) -> ScoreMatrix:
    scores = np.array([table.mean(1) for table in tables]).T
    return ScoreMatrix(
        scores[1:], b=scores[0], learned_at=LEARNED_AT, n_samples=[n] * 3, unit="fraction", orientation="time_rows"
    )


def coverage(repeats: int = 300, resamples: int = 400) -> list[str]:
    lines = [
        "## Coverage of intervals over items",
        "",
        f"{repeats} test sets of each size, drawn from one model of five rows whose items are hard or easy in all;"
        " how often the interval of 95 % holds the value that test sets of this size give in the mean, and how wide it"
        " is."
        f" By counts: the scores and the sizes alone; by items: who was right on which. Standard error of a share:"
        f" {np.sqrt(0.95 * 0.05 / repeats):.3f}.",
        "",
        "| metric | items per column | by counts | width | by items | width |",
        "|---|---|---|---|---|---|",
    ]
    for n in (100, 500, 2000):
        rng = np.random.default_rng(n)
        sets = [test_set(n, rng) for _ in range(repeats)]
        for id in METRICS:
            truth = np.mean([score(matrix_of(test_set(n, rng), n), id) for _ in range(1000)])
            cells = []
            for by_items in (False, True):
                made = []
                for tables in sets:
                    matrix = matrix_of(tables, n)
                    noise = noise_of(matrix, items=tables if by_items else None)
                    made.append(over_items(matrix, id, noise=noise, resamples=resamples))
                held = np.mean([one.low <= truth <= one.high for one in made])
                width = np.mean([one.high - one.low for one in made])
                cells += [f"{held:.3f}", f"{width:.3f}"]
            lines.append(f"| {id} | {n:,} | {' | '.join(cells)} |")
    lines += ["", *_null(repeats)]
    return lines


def _null(repeats: int) -> list[str]:
    """How often AF of a learner that forgets nothing lies in the range of forgetting.null."""
    inside = {False: 0, True: 0}
    rng = np.random.default_rng(7)
    T, n = 6, 300
    for _ in range(repeats):
        tables = []
        for j in range(T):
            hard = rng.normal(size=n)
            rows = np.full((T, n), -1, np.int8)
            rows[j:] = hard + rng.normal(size=(T - j, n)) < 1
            tables.append(rows)
        R = np.array([[np.nan if row[0] < 0 else row.mean() for row in table] for table in tables]).T
        matrix = ScoreMatrix(R, n_samples=[n] * T, orientation="time_rows")
        value = score(matrix, "forgetting.chaudhry2018")
        for by_items in (False, True):
            noise = noise_of(matrix, items=tables if by_items else None)
            null = null_forgetting(matrix, noise=noise, resamples=500)
            inside[by_items] += null.low <= value <= null.high
    return [
        f"A learner that forgets nothing, {T} tasks of {n} items: its AF lies in the 95 % range of `forgetting.null` in"
        f" {inside[False] / repeats:.3f} of {repeats} test sets by counts, {inside[True] / repeats:.3f} by items. By"
        " counts the rows are drawn as if they did not share their items, so that the range is too wide.",
    ]


def cost() -> list[str]:
    """What `items: true` costs an evaluation."""
    from recollect.streams import stream_from_arrays

    n, classes, tasks = 200_000, 100, 10
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    stream = stream_from_arrays(x[:1000], np.arange(1000) % classes, x, y, name="large", tasks=tasks)
    weights = rng.normal(size=(4, classes)).astype(np.float32)

    class Linear:
        def score(self, x: np.ndarray, task: object = None) -> np.ndarray:
            return x @ weights

    seconds = {}
    for items in (None, True):
        exam = exam_of(stream).examiner
        exam.row(Linear(), Moment(tasks - 1, tasks - 1, 0, True), Plan(items=items), None)
        took = []
        for _ in range(3):
            start = time.process_time()
            row = exam.row(Linear(), Moment(tasks - 1, tasks - 1, 0, True), Plan(items=items), None)
            took.append(time.process_time() - start)
        seconds[items] = min(took)
    with tempfile.TemporaryDirectory() as place:
        run = Run(learner="linear", stream="large", seed=0, tasks=stream.record_tasks(), rows=(), plan=Plan(items=True))
        start = time.process_time()
        with RunFolder.open(Path(place) / "run", run) as folder:
            folder.append(row)
        writing = time.process_time() - start
        size = next((Path(place) / "run" / "items").iterdir()).stat().st_size
    return [
        "## What recording costs",
        "",
        f"One evaluation of {n:,} test samples of {classes} classes by a linear model: {seconds[None]:.2f} s without,"
        f" {seconds[True]:.2f} s with `items: true`; its file has {size:,} bytes ({8 * size / n:.2f} bits per sample),"
        f" and row and file are on disk after {writing * 1000:.0f} ms of the processor.",
    ]


def ten_million() -> list[str]:
    """Ten million items of two rows, and of two learners."""
    tasks, each = 10, 1_000_000
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        for name, level in (("a", 0.7), ("b", 0.69)):
            columns = tuple(Task(f"t{j}", n_samples=each) for j in range(tasks))
            run = Run(
                learner=name, stream="large", seed=0, tasks=columns, rows=(), plan=Plan(items=True), data_hash="x" * 64
            )
            with RunFolder.open(Path(place) / "runs" / name, run) as folder:
                for after, step in ((-1, 0), *((j, 100 * (j + 1)) for j in (tasks - 2, tasks - 1))):
                    marks = tuple(rng.random(each, dtype=np.float32) < level for _ in range(tasks))
                    correct = tuple(int(right.sum()) for right in marks)
                    folder.append(Row(after, step=step, correct=correct, n=(each,) * tasks, marks=marks))
                folder.finish()
        runs = Path(place) / "runs"
        items = measured(["items", runs / "a", "--from", "untrained"])
        compared = measured(["compare", runs, "-m", "acc.average"])
    return [
        "## Ten million items",
        "",
        f"{tasks} tasks of {each:,} items each, in `items/` of a run. `recollect items` of two rows: {items}."
        f" `recollect compare` of two such runs, three rows each: {compared}.",
    ]


def samples(megabytes: int = 300) -> list[str]:
    """Two checkpoints with `samples_*.jsonl` of so many megabytes each."""
    with tempfile.TemporaryDirectory() as place:
        n = 0
        for step, level in ((1, 0.7), (2, 0.68)):
            folder = Path(place) / "evals" / f"step{step}"
            folder.mkdir(parents=True)
            rng = np.random.default_rng(step)
            right = 0
            with (folder / f"samples_long_2026-01-0{step}T10-00-00.000000.jsonl").open("w") as file:
                written = n = 0
                while written < megabytes * 1e6:
                    mark = bool(rng.random() < level)
                    right += mark
                    line = {"doc_id": n, "doc": {"text": "word " * 300}, "target": "yes", "filter": "none"}
                    line |= {"filtered_resps": ["no " * 100], "doc_hash": f"{n:064x}", "acc": float(mark)}
                    written += file.write(json.dumps(line) + "\n")
                    n += 1
            results = {
                "results": {"long": {"alias": "long", "acc,none": right / n, "acc_stderr,none": 0.001}},
                "versions": {"long": 1},
                "n-samples": {"long": {"original": n, "effective": n}},
                "higher_is_better": {"long": {"acc": True}},
                "config": {"model_args": {"pretrained": f"m/step{step}"}},
                "date": float(step),
            }
            (folder / f"results_2026-01-0{step}T10-00-00.000000.json").write_text(json.dumps(results))
        said = measured(["items", Path(place) / "evals", "--forgotten"])
    return [
        "## Large files of samples",
        "",
        f"Two checkpoints, each with a `samples_*.jsonl` of {megabytes} MB ({n:,} items): `recollect items --forgotten`"
        f" took {said}. The files are read line by line; texts are looked up when they are shown.",
    ]


def measured(words: list[object]) -> str:
    """A command in a process of its own: processor seconds and the most memory it had."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "recollect", *map(str, words)]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{seconds:.1f} s, at most {after.ru_maxrss / 1024:.0f} MB"


PARTS: dict[str, Callable[[], list[str]]] = {
    "coverage": coverage,
    "cost": cost,
    "ten-million": ten_million,
    "samples": samples,
}


def main() -> None:
    heads = {name: PARTS[name] for name in sys.argv[1:] or PARTS}
    known = OUT.read_text().split("\n## ")[1:] if OUT.exists() else []
    kept = {text.split("\n")[0]: f"## {text.rstrip()}" for text in known}
    for part in heads.values():
        text = "\n".join(part())
        kept[text.split("\n")[0].removeprefix("## ")] = text
        title = "# Single test items\n\nMade by `python benchmarks/items.py`.\n\n"
        OUT.write_text(title + "\n\n".join(kept.values()) + "\n")


if __name__ == "__main__":
    main()
