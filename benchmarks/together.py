"""Seeds trained together in experiments: what whole runs gain, and that kill -9 changes nothing.

Speed: five seeds on split digits, from the making of the stream to the saved record, as one bundle of a worker
(`run_bundle`) against one run after the other with `run_protocol`, which has the learner by itself. CPU time, one
thread, taking turns, medians.

Kills: bundles are killed at random moments, each time put together anew from the same five runs; then they are let
finish in yet other company. Right is: every rows.jsonl (counts, and digests of the whole state) equal byte for byte
to that of a bundle that was never disturbed.

    python benchmarks/together.py    # about four minutes; exits with 1 if a record differs
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from recollect.experiments import grid, parse
from recollect.experiments.grid import Job, build_stream, is_finished
from recollect.experiments.worker import Report, run_bundle
from recollect.learners import Setting, make_learner
from recollect.protocol import run_protocol
from recollect.runs.environment import versions
from recollect.runs.seeds import derive

RESULTS = Path(__file__).parent / "results" / "together.md"
TEXT = "{name: bench, streams: [{name: digits, tasks: 5, passes: PASSES}], learners: [LEARNER], seeds: 5, plan: PLAN}"
LEARNERS = {"finetune": "finetune", "er": "{er: {memory: 100}}"}


def jobs_of(place: Path, learner: str, passes: int = 1, plan: str = "{}") -> list[Job]:
    text = TEXT.replace("PASSES", str(passes)).replace("LEARNER", LEARNERS[learner]).replace("PLAN", plan)
    return grid(parse(text), place)


def quietly(job: Job, report: Report) -> None:
    if report.kind == "failed":
        raise SystemExit(f"{job.name} failed: {report.message}")


def as_bundle(jobs: Sequence[Job]) -> None:
    run_bundle(jobs, quietly)


def one_by_one(jobs: Sequence[Job]) -> None:
    for job in jobs:
        stream = build_stream(job.stream, job.stream_options, job.seed, job.data)
        learner = make_learner(job.learner, job.learner_options, Setting.of(stream), derive(job.seed), "cpu")
        run_protocol(learner, stream, job.folder, name=job.learner_label, seed=job.seed, plan=job.plan)


def speed(learner: str, passes: int, rounds: int) -> float:
    """How many times faster the bundle is; the first round is warm-up."""
    seconds: dict[Callable[[Sequence[Job]], None], list[float]] = {as_bundle: [], one_by_one: []}
    for _ in range(rounds + 1):
        for way, spent in seconds.items():
            with tempfile.TemporaryDirectory() as place:
                jobs = jobs_of(Path(place), learner, passes)
                start = time.process_time()
                way(jobs)
                spent.append(time.process_time() - start)
    return median(seconds[one_by_one][1:]) / median(seconds[as_bundle][1:])


def rows_of(jobs: Sequence[Job]) -> list[bytes]:
    return [(job.folder / "rows.jsonl").read_bytes() for job in jobs]


def killed(jobs: Sequence[Job], delay: float) -> bool:
    """Run in a fork, kill it after `delay` seconds; False if it had finished before."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run_bundle(jobs, quietly)
            code = 0
        finally:
            os._exit(code)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a bundle failed by itself")
    return os.WIFSIGNALED(status)


def kills(learner: str, wanted: int, rng: random.Random) -> tuple[int, int]:
    """How many kills there were, and how many were in runs that ended with the right records."""
    made = right = 0
    with tempfile.TemporaryDirectory() as place:
        whole = jobs_of(Path(place) / "whole", learner, plan="{every: 300}")
        start = time.monotonic()
        as_bundle(whole)
        seconds = time.monotonic() - start
        number = 0
        while made < wanted:
            jobs = jobs_of(Path(place) / str(number), learner, plan="{every: 300}")
            number += 1
            mine = 0
            while mine < 6 and not all(map(is_finished, jobs)):
                company = rng.sample(jobs, rng.randint(1, len(jobs)))
                mine += killed(company, rng.uniform(0, 0.6 * seconds))
            mixed = rng.sample(jobs, len(jobs))
            as_bundle(mixed[:2])
            as_bundle(mixed[2:])
            made += mine
            right += mine if rows_of(jobs) == rows_of(whole) else 0
            print(f"{learner}: {made} kills, {right} right", flush=True)
    return made, right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="for each learner")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rng = random.Random(0)
    lines, wrong = [], False
    for learner in LEARNERS:
        once, often = (speed(learner, passes, chosen.rounds) for passes in (1, 5))
        made, right = kills(learner, chosen.kills, rng)
        wrong |= made != right
        lines.append(f"| {learner} | {once:.2f} | {often:.2f} | {right} of {made} |")
    used = ", ".join(f"{name} {version}" for name, version in versions(("recollect", "numpy", "torch")).items())
    text = [
        "# Seeds trained together in experiments",
        "",
        f"`python benchmarks/together.py --kills {chosen.kills} --rounds {chosen.rounds}`; {used};"
        f" {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}.",
        "",
        "Split digits, 5 tasks, 5 seeds, MLP 64-100-100-10; whole runs with evaluation, saving and the making of the",
        "streams, one bundle against one run after the other (CPU time, one thread). Steps alone: see training.md.",
        "",
        "| learner | times faster, one pass | five passes | kills after which every record is the same |",
        "|---|---|---|---|",
        *lines,
    ]
    print("\n".join(text))
    RESULTS.write_text("\n".join(text) + "\n", encoding="utf-8")
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
