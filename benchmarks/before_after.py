"""Is this tree as fast as another one? The jobs of the speed tables, with both, in turns; ratios of processor time.

Every job is a process of its own that imports one of the trees and says how much processor time (user and system) the
job took, without imports and without what it makes first. The trees take turns, so that what else the machine does
hurts both; the shortest of the repeats counts, because noise only adds. Records are written by the code of the tree
that reads them, and once more by the other one: *older records* are those of the other tree, read by this one.

    git worktree add ../before 235a0f4
    python benchmarks/before_after.py ../before        # writes benchmarks/results/before_after.md
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results" / "before_after.md"
ALLOWED = 1.02


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The shortest processor time of some repeats."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def metrics(runs: int, T: int) -> float:
    """All ids that both trees have, with curves, from arrays."""
    import numpy as np

    from recollect.matrix import ScoreMatrix
    from recollect.metrics import evaluate, registry

    rng = np.random.default_rng(0)
    R, b, joint = rng.random((runs, T, T)), rng.random((runs, T)), rng.random((runs, T, T))
    ids = [id for id in registry.all_ids() if id in OLD_IDS]

    def work() -> None:
        matrix = ScoreMatrix(R, b=b, joint=joint, n_classes=[2] * T, n_samples=[100] * T, orientation="time_rows")
        for id in ids:
            evaluate(matrix, registry.get(id), curve=True)

    return seconds(work)


def reading(place: str) -> float:
    """A thousand run folders."""
    from recollect.runs import load

    load(place)
    return seconds(lambda: load(place))


def matrices(place: str) -> float:
    """The score matrices of a thousand runs."""
    from recollect.runs import load

    times = []
    for _ in range(3):
        runs = load(place)
        times.append(seconds(lambda runs=runs: [run.matrix for run in runs], repeats=1))
    return min(times)


def page(place: str) -> float:
    """The page of a thousand runs: 20 learners of 50 seeds."""
    from recollect.report.gather import gather
    from recollect.report.page import build_page
    from recollect.runs import group, load

    groups = group(load(place))
    return seconds(lambda: build_page(gather(groups)), repeats=1)


def counting() -> float:
    """An evaluation of 10,000 samples whose scores are there already: all tasks, restricted, masked, errors."""
    import numpy as np

    from recollect.streams import stream_from_arrays

    try:
        from recollect.problems.counting import evaluate, question_of
    except ImportError:
        from recollect.protocol.counting import evaluate, question_of

    rng = np.random.default_rng(0)
    x, y = rng.random((10_000, 100), dtype=np.float32), np.arange(10_000) % 100
    stream = stream_from_arrays(x, y, x, y, tasks=10)

    class Known:
        def score(self, x: Any, task: Any = None) -> Any:
            return x

    question = question_of(stream)
    return seconds(lambda: [evaluate(Known(), stream, question, current=9) for _ in range(5)])


def training(name: str) -> float:
    """A thousand steps of a learner on a small network."""
    from recollect.learners import Setting, make_learner
    from recollect.runs.seeds import derive

    sys.path.insert(0, str(Path(os.environ["TREE"]) / "benchmarks"))
    from training import batches

    setting = Setting((64,), 10, (tuple(range(10)),))
    some = list(batches((64,), 10, count=1000))
    learner = make_learner(name, {"hidden": (100, 100)}, setting, derive(0), "cpu")

    def work() -> None:
        for batch in some:
            learner.learn(batch)

    return seconds(work)


def protocol() -> float:
    """A whole run in memory: finetune on the digits, five tasks, evaluated after every 20 steps."""
    from recollect.learners import Setting, make_learner
    from recollect.protocol import iter_protocol
    from recollect.runs import Plan
    from recollect.runs.seeds import derive
    from recollect.streams import make_stream

    stream = make_stream("digits/5", batch=10)

    def work() -> None:
        learner = make_learner("finetune", {"hidden": (20,)}, Setting.of(stream), derive(0), "cpu")
        for _ in iter_protocol(learner, stream, seed=0, plan=Plan(every=200)):
            pass

    return seconds(work)


OLD_IDS = frozenset(os.environ.get("OLD_IDS", "").split(","))
JOBS: dict[str, tuple[str, Callable[[], float]]] = {
    "all metrics with curves, 10,000 runs of 20 tasks": ("", lambda: metrics(10_000, 20)),
    "all metrics with curves, 100 runs of 500 tasks": ("", lambda: metrics(100, 500)),
    "reading 1,000 run folders, 20 tasks, scores": ("scores", lambda: reading(os.environ["RUNS"])),
    "reading 1,000 run folders, 20 tasks, all counts": ("counts", lambda: reading(os.environ["RUNS"])),
    "their score matrices": ("counts", lambda: matrices(os.environ["RUNS"])),
    "older records: reading 1,000 run folders, all counts": ("older", lambda: reading(os.environ["RUNS"])),
    "the page of 1,000 runs, 20 learners": ("counts", lambda: page(os.environ["RUNS"])),
    "evaluation without the forward pass": ("", counting),
    "1,000 steps of finetune": ("", lambda: training("finetune")),
    "1,000 steps of ER": ("", lambda: training("er")),
    "1,000 steps of EWC": ("", lambda: training("ewc")),
    "a run in memory": ("", protocol),
}
STARTS = {
    "`import recollect`": ("-c", "import recollect"),
    "`recollect score FILE`": ("-m", "recollect", "score", "er.csv"),
}


def environment(tree: Path, **more: str) -> dict[str, str]:
    """What a process gets that is to import this tree."""
    return {**os.environ, "PYTHONPATH": str(tree / "src"), "TREE": str(tree), "OMP_NUM_THREADS": "1", **more}


def write_runs(tree: Path, place: Path, counts: bool) -> None:
    """A thousand run folders, written by the code of a tree."""
    code = (
        "import sys; from pathlib import Path; from reading import make_runs, write\n"
        f"for k, run in enumerate(make_runs(20, {counts}, {counts})): write(run, Path({str(place)!r}) / f'run{{k}}')"
    )
    place.mkdir(parents=True)
    subprocess.run([sys.executable, "-c", code], env=environment(tree), cwd=tree / "benchmarks", check=True)


def job(number: int, tree: Path, runs: Path | None, ids: str) -> float:
    """One job with one tree, in a process of its own."""
    more = {"OLD_IDS": ids} | ({} if runs is None else {"RUNS": str(runs)})
    command = [sys.executable, __file__, "--job", str(number), "-"]
    done = subprocess.run(command, env=environment(tree, **more), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{list(JOBS)[number]} with {tree}:\n{done.stderr}")
    return float(done.stdout.split()[-1])


def start(words: tuple[str, ...], tree: Path, folder: Path) -> float:
    """User and system time of a whole process."""
    child = subprocess.Popen(
        [sys.executable, *words],
        env=environment(tree),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return usage.ru_utime + usage.ru_stime


def in_turns(ours: Callable[[], float], theirs: Callable[[], float], repeats: int) -> tuple[float, float]:
    """The shortest time of each, the two taking turns."""
    pairs = [(ours(), theirs()) for _ in range(repeats)]
    return min(one for one, _ in pairs), min(other for _, other in pairs)


def measure(before: Path, folder: Path, repeats: int, only: str) -> Iterator[tuple[str, float, float]]:
    """Every job: seconds of this tree, seconds of the other one."""
    listing = [sys.executable, "-c", "from recollect.metrics import registry; print(','.join(registry.all_ids()))"]
    ids = subprocess.run(listing, env=environment(before), capture_output=True, text=True, check=True).stdout.strip()
    (folder / "er.csv").write_text("0.9,0.1\n0.6,0.8\n")
    for name, words in STARTS.items():
        if only in name:
            yield (
                name,
                *in_turns(
                    lambda words=words: start(words, HERE, folder),
                    lambda words=words: start(words, before, folder),
                    10 * repeats,
                ),
            )
    places: dict[tuple[str, Path], Path] = {}
    for number, (name, (kind, _)) in enumerate(JOBS.items()):
        if only not in name:
            continue
        for tree in (HERE, before):
            writer = before if kind == "older" else tree
            if kind and (kind, tree) not in places:
                same = ("counts", before) if kind == "older" else (kind, tree)
                if same not in places:
                    places[same] = folder / f"{same[0]}-{'here' if writer is HERE else 'before'}"
                    write_runs(writer, places[same], kind != "scores")
                places[kind, tree] = places[same]
        yield (
            name,
            *in_turns(
                lambda number=number, kind=kind: job(number, HERE, places.get((kind, HERE)), ids),
                lambda number=number, kind=kind: job(number, before, places.get((kind, before)), ids),
                repeats,
            ),
        )


def main() -> None:
    """Compare, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the folder of the other tree")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="jobs whose names hold this; prints only")
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job is not None:
        print(list(JOBS.values())[given.job][1]())
        return
    folder = Path(tempfile.mkdtemp())
    lines = []
    try:
        for name, ours, theirs in measure(Path(given.before).resolve(), folder, given.repeats, given.only):
            lines.append(f"| {name} | {ours:.3f} | {theirs:.3f} | {ours / theirs:.3f} |")
            print(lines[-1], flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not given.only:
        revision = subprocess.run(
            ["git", "-C", given.before, "rev-parse", "--short", "HEAD"], capture_output=True, text=True
        ).stdout.strip()
        RESULTS.write_text(
            f"# Before and after\n\n`python benchmarks/before_after.py` against commit {revision}: processor time in"
            f" seconds, the shortest of {given.repeats}\nrepeats in turns; Python {platform.python_version()}."
            f" At most {ALLOWED} is meant to be the ratio.\n\n"
            "| job | this tree | before | ratio |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"
        )


if __name__ == "__main__":
    main()
