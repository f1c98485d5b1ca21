"""Two worker processes against one, and memory against the number of tasks.

Why: an experiment is many independent runs, so workers should multiply; and a stream of a thousand tasks must
not need more memory than one of ten, but for the record itself.

Workers: one experiment (split digits, ER) on one worker and on two, interleaved; the time is from the moment when
every worker has finished a run (and so has imported torch) to the last finished run. As many runs are timed on both
sides, an even number, or the last run of two workers would be waited for by an idle one.
Where other programs keep the cores busy, two processes cannot show their speed: the load is printed beside the
ratio, and so is what the machine itself gives, two bare torch loops without Recollect side by side.

Memory: the same samples cut into 10, 100 and 1000 tasks (one to a hundred samples a class), a fresh process each;
the peak above what the process had when data and model were there.

Command: python benchmarks/workers.py
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

RESULTS = Path(__file__).parent / "results" / "workers.md"
Pair = tuple[float, float]
EXPERIMENT = "{name: bench, streams: [{name: digits, tasks: 5, passes: PASSES}], learners: [er], seeds: SEEDS}"


def seconds_a_run(workers: int, seeds: list[int], passes: int) -> tuple[float, float]:
    """Wall seconds a run over the runs after each worker's first, and the processor seconds a run."""
    from recollect.experiments import grid, parse
    from recollect.experiments.pool import run_jobs
    from recollect.runs.reading import read_run

    with tempfile.TemporaryDirectory() as place:
        text = EXPERIMENT.replace("SEEDS", str(seeds)).replace("PASSES", str(passes))
        jobs = grid(parse(text), place)
        finished = [time.monotonic() for _, report in run_jobs(jobs, workers) if report.kind == "finished"]
        wall = finished[-1] - finished[workers - 1]  # the workers' leaving is once, however many runs there are
        timings = [read_run(job.folder).timings for job in jobs]
        used = sum(value for each in timings for key, value in each.items() if key.endswith("_cpu_seconds"))
        return wall / (len(jobs) - workers), used / len(jobs)


def compare_workers(rounds: int, seeds: int, passes: int) -> tuple[Pair, Pair, list[float]]:
    """Wall and processor seconds a run on one worker and on two (medians), and the ratio of each round."""
    ones, twos = [], []
    for _ in range(rounds):
        ones.append(seconds_a_run(1, list(range(seeds)), passes))
        twos.append(seconds_a_run(2, list(range(seeds + 1)), passes))
        print(f"one worker {ones[-1][0]:.2f} s a run, two {twos[-1][0]:.2f}", flush=True)
    ratios = sorted(one[0] / two[0] for one, two in zip(ones, twos, strict=True))
    return sorted(ones)[rounds // 2], sorted(twos)[rounds // 2], ratios


def bare(processes: int) -> float:
    """Wall seconds of a fixed number of steps of a small network in so many processes at once."""
    command = [sys.executable, __file__, "--bare"]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()  # torch is imported, the network warm
    began = time.monotonic()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        process.wait()
    return time.monotonic() - began


def bare_loop() -> None:
    """Train the network that ER has on digits, when told to."""
    import torch

    torch.set_num_threads(1)
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 100), torch.nn.ReLU(), torch.nn.Linear(100, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10)
    )
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    x, y = torch.rand(20, 64), torch.randint(10, (20,))

    def steps(count: int) -> None:
        for _ in range(count):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(x), y).backward()
            optimiser.step()

    steps(200)
    print("ready", flush=True)
    sys.stdin.readline()
    steps(10_000)


def peak_of(tasks: int, learner: str) -> dict[str, int]:
    """Run in a fresh process; its memory before the protocol, and the peak during it."""
    answer = subprocess.run(
        [sys.executable, __file__, "--child", str(tasks), learner], check=True, capture_output=True, text=True
    )
    made: dict[str, int] = json.loads(answer.stdout.splitlines()[-1])
    return made


def child(tasks: int, learner: str) -> None:
    """Run the protocol over as many tasks, one new class each, and print the memory it took."""
    import numpy as np
    import torch

    from recollect.learners import Setting, make_learner
    from recollect.protocol import run_protocol, spread
    from recollect.protocol.meter import peak_bytes, reset_peak
    from recollect.runs.run import Plan
    from recollect.runs.seeds import derive
    from recollect.streams import stream_from_arrays

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    # One label space of a thousand classes for all three: the network and the data are the same.
    y = np.repeat(np.arange(1000), 10)
    x = rng.integers(0, 256, (len(y), 1, 8, 8), dtype=np.uint8)
    stream = stream_from_arrays(x, y, x, y, name="like-digits", tasks=tasks)
    options: dict[str, Any] = {"memory": 200} if learner == "er" else {}
    made = make_learner(learner, options, Setting.of(stream), derive(0), "cpu")
    first = next(iter(stream.batches(0)))
    made.learn(first)
    made.score(x[:512])
    reset_peak()
    before = peak_bytes()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        run = run_protocol(made, stream, folder, name=learner, plan=Plan(rows=spread(10, tasks)))
        record = sum(file.stat().st_size for file in folder.iterdir())
    peak = max(int(value) for key, value in run.cost.items() if key.endswith("_peak_bytes"))
    print(json.dumps({"above": peak - before, "record": record}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", nargs=2)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    if chosen.child:
        child(int(chosen.child[0]), chosen.child[1])
        return
    if chosen.bare:
        bare_loop()
        return
    if chosen.seeds % 2 == 0:
        parser.error("--seeds is odd: the first run is not timed, and two workers share the rest")
    from recollect.runs.environment import versions

    peaks = {tasks: peak_of(tasks, "er") for tasks in (10, 100, 1000)}
    print(peaks, flush=True)
    one, two, ratios = compare_workers(chosen.rounds, chosen.seeds, chosen.passes)
    machine = sorted(2 * bare(1) / bare(2) for _ in range(chosen.rounds))[chosen.rounds // 2]
    median = ratios[len(ratios) // 2]
    used = ", ".join(f"{k} {v}" for k, v in versions(("recollect", "numpy", "torch")).items())
    command = f"python benchmarks/workers.py --rounds {chosen.rounds} --seeds {chosen.seeds} --passes {chosen.passes}"
    lines = [
        "# Worker processes, and memory over the number of tasks",
        "",
        f"`{command}`; {used}; {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} while it ran.",
        "",
        f"Two workers give {median:.2f} times the runs per minute of one (median of {len(ratios)} rounds,"
        f" {ratios[0]:.2f} to {ratios[-1]:.2f}):",
        f"{60 / one[0]:.0f} and {60 / two[0]:.0f} runs a minute of ER on split digits, {chosen.passes} passes."
        f" A run takes {one[1]:.2f} processor seconds with one worker and {two[1]:.2f} with two."
        f" Two bare torch loops side by side give {machine:.2f} times the steps of one on this machine.",
        "",
        "Peak memory of a run above data and model (ER, the same 10,000 samples of 1,000 classes in T tasks, 10 rows):",
        "",
        "| T | peak above data and model, MB | record on disk, MB |",
        "|---|---|---|",
    ]
    lines += [f"| {t} | {p['above'] / 2**20:.1f} | {p['record'] / 2**20:.2f} |" for t, p in peaks.items()]
    chosen.results.parent.mkdir(exist_ok=True)
    chosen.results.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
