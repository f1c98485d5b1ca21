"""Kill a machine of a Ray cluster in the middle of an experiment, and compare with local workers.

Why: an experiment on a cluster must end with the records of local workers whatever becomes of a machine. Two network
namespaces stand for two machines: a head with one CPU and a node with one CPU, joined by a bridge that this script
makes; nothing outside of them is spoken to. All processes of the node are killed with -9 some time after the first row
is on disk, and in half of the experiments a new node joins a little later. Each experiment must finish, with every
rows.jsonl equal byte for byte to that of local workers.

Needs root (network namespaces) and iproute2 (`ip`); says so otherwise. Each experiment is given a limited time.

Command: python benchmarks/ray_nodes.py --experiments 10
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "ray_nodes.md"
BRIDGE, NET = "rcbridge", "10.213.77"
PORT = 6399
LIMIT = 420.0
OVER = "over before the kill"
EXPERIMENT = """
name: nodes
streams: [{name: digits, tasks: 5}]
learners: [{er: {memory: 100, iterations: 20}}, {agem: {memory: 100, iterations: 10}}, finetune]
seeds: 2
plan: {every: 300}
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def network(names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Namespaces that see each other and nothing else; their addresses."""
    made = {name: f"{NET}.{k + 1}" for k, name in enumerate(names)}
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("link", "set", BRIDGE, "up")
        for name, address in made.items():
            ip("netns", "add", name)
            ip("link", "add", f"{name}v", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"{name}v", "master", BRIDGE, "up")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield made
    finally:
        for name in made:
            kill_all(name)
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True)


def inside(name: str, *command: str, **options: object) -> subprocess.Popen[str]:
    """A process in a namespace, in a session of its own; what it starts can be found by the namespace."""
    environment = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",  # nobody else is on this network
        "RAY_health_check_period_ms": "1000",
        "RAY_health_check_timeout_ms": "2000",
        "RAY_health_check_failure_threshold": "3",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        ["ip", "netns", "exec", name, *command],
        env=environment,
        text=True,
        start_new_session=True,
        **options,  # type: ignore[call-overload]
    )


def processes(name: str) -> list[int]:
    """The processes in a namespace."""
    told = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout
    return [int(word) for word in told.split()]


def kill_all(name: str) -> int:
    """Kill -9 of every process in a namespace: the machine is gone."""
    found = processes(name)
    for process in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(found)


def ray_node(name: str, address: str, temporary: Path, head: str | None = None) -> None:
    """Start Ray in a namespace: the head, or a node that joins it; returns when it is up."""
    where = ["--head", "--port", str(PORT)] if head is None else ["--address", f"{head}:{PORT}"]
    common = ["--num-cpus", "1", "--object-store-memory", str(80 * 2**20), "--disable-usage-stats"]
    command = [str(Path(sys.executable).parent / "ray"), "start", *where, "--node-ip-address", address, *common]
    command += ["--include-dashboard=false", "--temp-dir", str(temporary)] if head is None else []
    started = inside(name, *command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, error = started.communicate(timeout=120)
    if started.returncode:
        raise SystemExit(f"ray did not start in {name}: {error[-2000:]}")


def rows_in(out: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in out.rglob("rows.jsonl")}


def one(number: int, place: Path, local: dict[str, bytes], draw: random.Random) -> tuple[str, float, int, str]:
    """One experiment with one node killed; outcome, seconds, rows on disk at the kill, what was said."""
    names = tuple(f"rc{os.getpid() % 10000}{kind}{time.monotonic_ns() // 10**8 % 1000}" for kind in "hn")
    temporary = Path(tempfile.mkdtemp(prefix="rcray", dir="/tmp"))
    out = place / f"out{number}"
    try:
        with network(names) as addresses:
            head, node = names
            ray_node(head, addresses[head], temporary)
            ray_node(node, addresses[node], temporary, addresses[head])
            began = time.monotonic()
            code = [sys.executable, "-m", "recollect", "run", str(place / "e.yaml"), "-o", str(out)]
            code += ["--ray", f"{addresses[head]}:{PORT}"]
            log = (place / f"log{number}").open("w+")
            running = inside(head, *code, stdout=log, stderr=subprocess.STDOUT)
            while running.poll() is None and not any(rows_in(out).values()):
                if time.monotonic() > began + LIMIT:
                    break
                time.sleep(0.05)
            time.sleep(draw.uniform(0, 5))
            rows = sum(data.count(b"\n") for data in rows_in(out).values())
            early = running.poll() is not None
            kill_all(node)
            if number % 2 == 1 and not early:
                time.sleep(draw.uniform(2, 8))
                ray_node(node, addresses[node], temporary, addresses[head])
            try:
                returned = running.wait(timeout=max(1.0, began + LIMIT - time.monotonic()))
            except subprocess.TimeoutExpired:
                returned = None
            seconds = time.monotonic() - began
            for name in names:
                kill_all(name)
            log.seek(0)
            said = log.read()
        same = rows_in(out) == local
        state = OVER if early else "finished, the same" if returned == 0 and same else "WRONG"
        if returned is None:
            state = "NOT FINISHED"
        elif returned != 0:
            state = f"FAILED with {returned}"
        return state, seconds, rows, said
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise SystemExit("this needs root and iproute2: two network namespaces stand for two machines")
    draw = random.Random(chosen.seed)
    place = Path(tempfile.mkdtemp(prefix="rcnodes"))
    try:
        (place / "e.yaml").write_text(EXPERIMENT)
        command = [
            sys.executable,
            "-m",
            "recollect",
            "run",
            str(place / "e.yaml"),
            "-o",
            str(place / "local"),
            "-w",
            "1",
        ]
        subprocess.run(command, check=True, capture_output=True)
        local = rows_in(place / "local")
        table = []
        while len(table) < chosen.experiments:
            number = len(table)
            state, seconds, rows, said = one(number, place, local, draw)
            shutil.rmtree(place / f"out{number}", ignore_errors=True)
            if state == OVER:
                print("over before the kill; again", flush=True)
                continue
            resumed = said.count("resuming ")
            table.append((state, seconds, rows, resumed))
            print(number, state, f"{seconds:.0f} s, {rows} rows at the kill, {resumed} runs resumed", flush=True)
            if state.isupper() or "FAILED" in state:
                print(said[-3000:])
    finally:
        shutil.rmtree(place, ignore_errors=True)
    write(table, chosen, sum(data.count(b"\n") for data in local.values()))
    if any(state != "finished, the same" for state, *_ in table):
        raise SystemExit("an experiment did not end as with local workers")


def write(table: list[tuple[str, float, int, int]], chosen: argparse.Namespace, total: int) -> None:
    from recollect.runs.environment import versions

    right = sum(state == "finished, the same" for state, *_ in table)
    used = ", ".join(f"{k} {v}" for k, v in versions(("recollect", "numpy", "torch", "ray")).items())
    lines = [
        f"# A machine of a Ray cluster killed with -9: {right} of {len(table)} experiments ended as with local workers",
        "",
        f"`python benchmarks/ray_nodes.py --experiments {chosen.experiments} --seed {chosen.seed}` (as root); {used}.",
        "",
        "Two network namespaces, a head and a node with one CPU each; three learners, two seeds, split digits, rows",
        "every 300 samples. All processes of the node are killed; with odd numbers a new one joins 2 to 8 s later.",
        "The same means: every rows.jsonl is equal byte for byte.",
        "",
        "| experiment | outcome | seconds | rows on disk at the kill | runs resumed |",
        "|---|---|---|---|---|",
    ]
    for number, (state, seconds, rows, resumed) in enumerate(table):
        lines.append(f"| {number} | {state} | {seconds:.0f} | {rows} of {total} | {resumed} |")
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
