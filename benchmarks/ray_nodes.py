"""Kill machines and workers of a Ray cluster at random moments of experiments, and compare with local workers.

Why: an experiment on a cluster must end with the records of local workers whatever becomes of a machine. Two network
namespaces stand for two machines: a head with one CPU and a node with one CPU, joined by a bridge that this script
makes; nothing outside of them is spoken to. From the first row on disk until an experiment is over, every few seconds
either all processes of the node are killed with -9 (a new node joins some seconds later) or one worker is, on either
machine. Each experiment must finish, with every rows.jsonl equal byte for byte to that of local workers. A run whose
own worker dies twice is reported as failed; the same command is then given again, as the message says, and counted.

Needs root (network namespaces) and iproute2 (`ip`); says so otherwise. With --state FILE what is done is kept there and
the same command goes on from it.

Command: python benchmarks/ray_nodes.py --kills 100
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "ray_nodes.md"
BRIDGE, NET = "rcbridge", "10.213.77"
PORT = 6399
LIMIT = 900.0
EXPERIMENT = """
name: nodes
streams: [{name: digits, tasks: 5}]
learners: [{er: {memory: 100, iterations: 20}}, {agem: {memory: 100, iterations: 10}}, finetune]
seeds: 2
plan: {every: 300}
"""
SAME = "finished, the same"


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
        "RAY_health_check_timeout_ms": "10000",
        "RAY_health_check_failure_threshold": "5",
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
    for _ in range(3):  # on a busy machine Ray sometimes gives up waiting for itself
        started = inside(name, *command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, error = started.communicate(timeout=300)
        if not started.returncode:
            return
        if head is not None:
            kill_all(name)
    raise SystemExit(f"ray did not start in {name}: {error[-2000:]}")


def rows_in(out: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in out.rglob("rows.jsonl")}


@dataclass
class Outcome:
    """How one experiment ended, and what was killed in it."""

    state: str
    seconds: float
    nodes: int
    workers: int
    commands: int
    resumed: int

    @property
    def kills(self) -> int:
        return self.nodes + self.workers


class Cluster:
    """A head and a node; the node may be killed and joined again."""

    def __init__(self, addresses: dict[str, str], temporary: Path) -> None:
        self.addresses = addresses
        self.head, self.node = addresses
        ray_node(self.head, addresses[self.head], temporary)
        self.join()

    def join(self) -> None:
        ray_node(self.node, self.addresses[self.node], Path(), self.addresses[self.head])

    def workers(self) -> list[int]:
        """The processes that run an actor of ours, on either machine."""
        return [one for name in self.addresses for one in processes(name) if "Actor" in title(one)]

    def driver(self, place: Path, out: Path, log: object) -> subprocess.Popen[str]:
        code = [sys.executable, "-m", "recollect", "run", str(place / "e.yaml"), "-o", str(out)]
        code += ["--ray", f"{self.addresses[self.head]}:{PORT}"]
        return inside(self.head, *code, stdout=log, stderr=subprocess.STDOUT)


def title(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def one(number: int, place: Path, local: dict[str, bytes], cluster: Cluster, draw: random.Random) -> Outcome:
    """One experiment, with something killed every few seconds from its first row to its end."""
    out, log = place / f"out{number}", (place / f"log{number}").open("w+")
    made = Outcome("", 0.0, 0, 0, 1, 0)
    began = time.monotonic()
    running = cluster.driver(place, out, log)
    pause = 0.0
    returned = None
    while time.monotonic() < began + LIMIT:
        returned = running.poll()
        if returned is not None:
            if returned == 0 or made.commands > 5:
                break
            made.commands += 1
            running = cluster.driver(place, out, log)
        if not any(rows_in(out).values()):
            time.sleep(0.2)
            continue
        pause = pause or time.monotonic() + draw.uniform(0, 4)
        if time.monotonic() < pause:
            time.sleep(0.1)
            continue
        there = cluster.workers()
        if draw.random() < 0.5:
            kill_all(cluster.node)
            made.nodes += 1
            time.sleep(draw.uniform(1, 5))
            cluster.join()
        elif there:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(there), signal.SIGKILL)
                made.workers += 1
        pause = time.monotonic() + draw.uniform(2, 10)
    else:
        os.killpg(running.pid, signal.SIGKILL)
    made.seconds = round(time.monotonic() - began, 1)
    log.seek(0)
    said = log.read()
    made.resumed = said.count("resuming ")
    made.state = "NOT FINISHED" if returned is None else f"FAILED with {returned}" if returned else SAME
    if made.state == SAME and rows_in(out) != local:
        made.state = "WRONG"
    if made.state != SAME:
        print(said[-3000:])
    shutil.rmtree(out, ignore_errors=True)
    return made


@contextlib.contextmanager
def cluster_of_two() -> Iterator[Cluster]:
    temporary = Path(tempfile.mkdtemp(prefix="rcray", dir="/tmp"))
    names = tuple(f"rc{os.getpid() % 10000}{kind}{time.monotonic_ns() // 10**8 % 1000}" for kind in "hn")
    try:
        with network(names) as addresses:
            yield Cluster(addresses, temporary)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="experiments are made until so much was killed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, help="keep what is done in this file, and go on from it")
    parser.add_argument("--each", type=int, default=5, help="experiments on one cluster before a new one is started")
    chosen = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise SystemExit("this needs root and iproute2: two network namespaces stand for two machines")
    kept = chosen.state.read_text().splitlines() if chosen.state and chosen.state.exists() else []
    table = [Outcome(**json.loads(line)) for line in kept]
    place = Path(tempfile.mkdtemp(prefix="rcnodes"))
    try:
        (place / "e.yaml").write_text(EXPERIMENT)
        here = [sys.executable, "-m", "recollect", "run", str(place / "e.yaml"), "-o", str(place / "local"), "-w", "1"]
        subprocess.run(here, check=True, capture_output=True)
        local = rows_in(place / "local")
        while sum(done.kills for done in table) < chosen.kills:
            with cluster_of_two() as cluster:
                for _ in range(chosen.each):
                    made = one(len(table), place, local, cluster, random.Random(f"{chosen.seed} {len(table)}"))
                    table.append(made)
                    print(len(table), made, flush=True)
                    if chosen.state:
                        with chosen.state.open("a") as file:
                            file.write(json.dumps(asdict(made)) + "\n")
                    write(table, chosen)
                    if made.state == "NOT FINISHED" or sum(done.kills for done in table) >= chosen.kills:
                        break
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if any(made.state != SAME for made in table):
        raise SystemExit("an experiment did not end as with local workers")


def write(table: list[Outcome], chosen: argparse.Namespace) -> None:
    from recollect.runs.environment import versions

    right = sum(made.state == SAME for made in table)
    used = ", ".join(f"{k} {v}" for k, v in versions(("recollect", "numpy", "torch", "ray")).items())
    nodes, workers = sum(made.nodes for made in table), sum(made.workers for made in table)
    lines = [
        f"# {nodes + workers} kills on a Ray cluster: {right} of {len(table)} experiments ended as with local workers",
        "",
        f"`python benchmarks/ray_nodes.py --kills {chosen.kills} --seed {chosen.seed}` (as root); {used}.",
        "",
        "Two network namespaces, a head and a node with one CPU each; three learners, two seeds, split digits, rows",
        f"every 300 samples. Killed with -9 at random moments: {nodes} times all processes of the node (a new one",
        f"joins 1 to 5 s later), {workers} times one worker. The same means: every rows.jsonl is equal byte for byte.",
        "A run whose own worker died twice is reported as failed; the command was then given again.",
        "",
        "| experiment | outcome | seconds | nodes killed | workers killed | runs resumed | commands |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, one in enumerate(table):
        cells = (one.state, f"{one.seconds:.0f}", one.nodes, one.workers, one.resumed, one.commands)
        lines.append(f"| {number} | " + " | ".join(map(str, cells)) + " |")
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
