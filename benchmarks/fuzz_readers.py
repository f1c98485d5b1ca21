"""Spoiled files through every reader: each must give runs or one clear paragraph, and nothing else.

Takes the fixtures of the tests, spoils them (`fuzz_mutations.py`: bytes, lines, numbers, depth bombs, wrong
types in JSON, pickles, arrays and archives) and gives them to each importer by name, every fourth to
detection too. A failure is any exception that is not a RecollectError, a message that is not one paragraph,
a crash of the process, more than 2 s of CPU, more than 3 GB of memory, or an attempt (seen by an audit hook)
to write a file, to remove one, to start a process, to open a socket or to unpickle. Same seed, same inputs.

    python benchmarks/fuzz_readers.py                       # 200,000 inputs, 2 processes
    python benchmarks/fuzz_readers.py --inputs 4000 --results /tmp/table.md
    python benchmarks/fuzz_readers.py --state /tmp/state.jsonl    # can be stopped, and goes on
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import platform
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import numpy as np

import recollect
from fuzz_mutations import OF_KIND
from recollect.errors import RecollectError
from recollect.runs import importers

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "runs" / "fixtures"
CPU_SECONDS = 2.0
# A machine at work may stop a process for long; CPU time decides, this only ends what never returns.
WALL_SECONDS = 60.0
MEMORY = 3 * 2**30
SOURCE_OF = {"pycil": ("pycil", "pilot")}
# Readers whose input is a folder, and what such folders are called in the fixtures.
FOLDERS = {
    "michel": ("run0",),
    "l2metrics": ("lifetime",),
    "facil": ("ewc_seed3",),
    "continual-world": ("run",),
    "lerobot": ("checkpoints",),
    "lm-eval": ("evals", "old"),
    "hf-trainer": ("outputs",),
    "trace": ("seq",),
    "mcitlib": ("lora",),
    "opencompass": ("work",),
}
KINDS = {
    ".json": "json",
    ".npy": "npy",
    ".npz": "zip",
    ".pt": "zip",
    ".eval": "zip",
    ".pkl": "pickle",
    ".pickle": "pickle",
}
FORBIDDEN = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
    "os.chown", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.putenv", "os.kill",
    "subprocess.", "socket.", "shutil.", "ctypes.", "pickle.find_class", "urllib.", "ftplib.", "smtplib.",
    "webbrowser.", "pty.", "tempfile.",
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A good file of a reader: its name (inside a folder, where the reader takes one) and its kind."""

    reader: str
    name: str
    folder: tuple[tuple[str, bytes], ...]
    data: bytes
    kind: str
    top: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a reader made of one input."""

    reader: str
    case: int
    verdict: str
    seconds: float
    detail: str = ""


def samples() -> list[Sample]:
    found = []
    for reader in importers.IMPORTERS:
        for source in SOURCE_OF.get(reader, (reader,)):
            for path in sorted((FIXTURES / source).rglob("*")):
                if path.is_file() and path.name != "expected.json":
                    found += _samples_of(reader, path)
    return found


def _samples_of(reader: str, path: Path) -> list[Sample]:
    data = path.read_bytes()
    kind = KINDS.get(path.suffix, "text")
    if reader not in FOLDERS:
        return [Sample(reader, path.name, (), data, kind)]
    top = next((folder for folder in path.parents if folder.name in FOLDERS[reader]), None)
    # Averages and forgetting lie beside Michel's scores, and nobody reads them.
    if top is None or "forgetting" in path.name or path.name == "avg.csv":
        return []
    others = [p for p in sorted(top.rglob("*")) if p.is_file() and p != path]
    beside = tuple((p.relative_to(top).as_posix(), p.read_bytes()) for p in others)
    return [Sample(reader, path.relative_to(top).as_posix(), beside, data, kind, top.name)]


def spoiled(seed: int, case: int, readers: dict[str, list[Sample]]) -> tuple[Sample, bytes]:
    """Input number `case`: readers take turns, the rest is drawn from the seed and the number."""
    rng = Random(f"{seed}/{case}")
    names = list(readers)
    sample = rng.choice(readers[names[case % len(names)]])
    data = sample.data
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kinds = OF_KIND[sample.kind]
        with contextlib.suppress(Exception):  # a second structural change may find no structure left
            data = rng.choice(kinds)(rng, data)
    return sample, data[: 2**20]


class Guard:
    """Watches what a reader does to the machine; armed only while one is at work."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.armed = False
        self.seen: list[str] = []
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.armed:
            return
        if event == "open":
            mode, flags = arguments[1], arguments[2]
            writes = isinstance(flags, int) and flags & (
                os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            )
            if writes or (isinstance(mode, str) and any(letter in mode for letter in "wax+")):
                self.seen.append(f"open {arguments[0]!r} for writing")
        elif event.startswith(FORBIDDEN):
            self.seen.append(f"{event} {arguments!r}"[:200])


def place(sample: Sample, data: bytes, home: Path) -> Path:
    """Write the input where the reader expects it; give the path to hand over."""
    top = home / sample.reader / (sample.top or "")
    target = top / sample.name
    if sample.folder or not target.parent.is_dir():
        for name, content in (*sample.folder, (sample.name, data)):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_bytes(content)
    target.write_bytes(data)
    return top if sample.top else target


def judge(sample: Sample, case: int, path: Path, guard: Guard) -> Outcome:
    """Give one input to detection and to its reader."""
    guard.seen.clear()
    guard.armed = True
    started = time.process_time()
    verdict, detail = "refused", ""
    try:
        if case % 4 == 0:
            importers.detect(path)
        runs = importers.read(path, sample.reader)
        verdict = "accepted" if runs else "failed"
        detail = "" if runs else "gave no runs and no error"
        for run in runs[:3]:
            with contextlib.suppress(RecollectError):
                assert len(run.tasks) == run.matrix.T
    except RecollectError as error:
        message = str(error)
        if not message.strip() or "\n" in message or len(message) > 2000 or not message.isprintable():
            verdict, detail = "failed", f"not one paragraph: {message[:300]!r}"
    except BaseException:  # whatever it is, it is what this script looks for
        verdict, detail = "failed", traceback.format_exc(limit=-4)
    seconds = time.process_time() - started
    guard.armed = False
    if guard.seen:
        verdict, detail = "failed", "; ".join(guard.seen[:3])
    elif seconds > CPU_SECONDS:
        verdict, detail = "failed", f"took {seconds:.1f} s of CPU"
    return Outcome(sample.reader, case, verdict, seconds, detail)


def work(seed: int, cases: Sequence[int], home: Path, report: Connection) -> None:
    """One worker: announce each case before it is tried, so that a crash has a number."""
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    readers = by_reader()
    guard = Guard(home)
    for case in cases:
        sample, data = spoiled(seed, case, readers)
        path = place(sample, data, home)
        report.send((case, sample.reader))
        report.send(judge(sample, case, path, guard))
    report.send(None)


def by_reader() -> dict[str, list[Sample]]:
    grouped: dict[str, list[Sample]] = {}
    for sample in samples():
        grouped.setdefault(sample.reader, []).append(sample)
    return grouped


def run_share(
    seed: int,
    cases: Sequence[int],
    home: Path,
    outcomes: list[Outcome],
    context: multiprocessing.context.SpawnContext,
) -> Iterator[None]:
    """Start a worker on its share; a generator that is asked, again and again, to take what has come."""
    while cases:
        receive, send = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(seed, cases, home, send), daemon=True)
        worker.start()
        send.close()
        current, since = None, time.monotonic()
        while True:
            try:
                message = receive.recv() if receive.poll(0) else "none"
            except EOFError:
                message = "gone"
            if message is None:
                worker.join()
                return
            if isinstance(message, Outcome):
                outcomes.append(message)
                current = None
            elif isinstance(message, tuple):
                current, since = message, time.monotonic()
            elif message == "gone" or (current and time.monotonic() - since > WALL_SECONDS):
                worker.kill()
                worker.join()
                case, reader = current or (cases[0], "?")
                why = f"the process died ({worker.exitcode})" if message == "gone" else "never returned"
                outcomes.append(Outcome(reader, case, "failed", WALL_SECONDS, why))
                cases = cases[cases.index(case) + 1 :]
                break
            else:
                yield


def fuzz(inputs: int, seed: int, workers: int, state: Path | None = None) -> list[Outcome]:
    outcomes = _done(state)
    known = {outcome.case for outcome in outcomes}
    left = [case for case in range(inputs) if case not in known]
    kept = len(outcomes)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="fuzz-readers-") as scratch:
        shares = [
            run_share(seed, left[n::workers], Path(scratch) / f"worker{n}" / "in", outcomes, context)
            for n in range(workers)
        ]
        printed = 0
        while shares:
            for share in list(shares):
                if next(share, "done") == "done":
                    shares.remove(share)
            if state is not None and len(outcomes) >= kept + 500:
                kept = _keep(state, outcomes, kept)
            if len(outcomes) >= printed + 10_000:
                printed = len(outcomes)
                bad = sum(outcome.verdict == "failed" for outcome in outcomes)
                print(f"{printed:,} of {inputs:,} inputs, {bad} failures", flush=True)
            time.sleep(0.002)
    if state is not None:
        _keep(state, outcomes, kept)
    return outcomes


def _done(state: Path | None) -> list[Outcome]:
    """What an earlier call has come to."""
    lines = state.read_text().splitlines() if state is not None and state.exists() else []
    return [Outcome(**json.loads(line)) for line in lines]


def _keep(state: Path, outcomes: list[Outcome], kept: int) -> int:
    """Append what is new; it gives how many are kept."""
    with state.open("a") as file:
        file.writelines(json.dumps(asdict(outcome)) + "\n" for outcome in outcomes[kept:])
    return len(outcomes)


def table(outcomes: list[Outcome], seed: int, workers: int) -> str:
    lines = [
        "# Spoiled files through every reader",
        "",
        f"`python benchmarks/fuzz_readers.py --inputs {len(outcomes)} --seed {seed}`, recollect"
        f" {recollect.__version__}, Python {platform.python_version()}, numpy {np.__version__},"
        f" {workers} processes.",
        "",
        "An input is a good file of the reader, spoiled one to three times; every fourth went through"
        " detection too. Accepted: runs came out, and their matrices were built or refused in words. Refused:"
        " one paragraph. Failure: any other exception, a message of several lines, a crash, more than 2 s of"
        " CPU or 3 GB of memory, a file written or removed, a process, a socket, an unpickling.",
        "",
        "| reader | inputs | accepted | refused | failures | slowest (ms of CPU) |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    groups = {reader: [o for o in outcomes if o.reader == reader] for reader in importers.IMPORTERS}
    for reader, group in (*groups.items(), ("**all**", outcomes)):
        count = {v: sum(o.verdict == v for o in group) for v in ("accepted", "refused", "failed")}
        slowest = max((o.seconds for o in group), default=0.0) * 1000
        cells = (len(group), count["accepted"], count["refused"], count["failed"])
        lines.append(f"| {reader} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {slowest:.0f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--state", type=Path, help="a file of outcomes, of one seed, to go on from")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "fuzz_readers.md")
    given = parser.parse_args()
    outcomes = fuzz(given.inputs, given.seed, given.workers, given.state)
    failures = [outcome for outcome in outcomes if outcome.verdict == "failed"]
    shown: set[str] = set()
    for failure in failures:
        last = failure.detail.strip().split("\n")[-1]
        if f"{failure.reader} {last}" not in shown and len(shown) < 20:
            shown.add(f"{failure.reader} {last}")
            print(f"case {failure.case}, {failure.reader}: {failure.detail[:1500]}", file=sys.stderr)
    given.results.write_text(table(outcomes, given.seed, given.workers))
    print(f"{len(outcomes):,} inputs, {len(failures)} failures; the table is in {given.results}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
