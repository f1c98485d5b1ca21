"""One experiment in every place where it can be run; its rows must be those of local workers, byte for byte.

Why: where a run is made must change nothing in it. The places: local worker processes (the measure), a Ray of this
machine, jobs of submitit (its local executor), objects on a local S3 server (moto), objects behind file://, and objects
in memory. Two nodes of Ray in network namespaces, with kills, are the subject of ray_nodes.py, which needs root.

Command: python benchmarks/everywhere.py
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from recollect.experiments import parse, run_experiment
from recollect.runs.remote import Storage

RESULTS = Path(__file__).parent / "results" / "everywhere.md"
EXPERIMENT = """
name: everywhere
streams: [{name: digits, tasks: 5}]
learners: [finetune, {er: {memory: 100}}, {agem: {memory: 100}}]
seeds: 2
"""


def rows_in(folder: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in folder.rglob("rows.jsonl")}


def rows_at(address: str) -> dict[str, bytes]:
    storage, rows = Storage(f"{address}/everywhere"), {}
    for name in storage.names():
        run, _, rest = name.partition("/")
        if rest.startswith("rows/"):
            rows[run] = rows.get(run, b"") + (storage.read(name) or b"")
    return rows


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """A bucket of a server on this machine; s3fs reads the environment when it is imported."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_DEFAULT_REGION": "us-east-1",
        "FSSPEC_S3_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        Storage("s3://bucket/x").system.mkdir("bucket")
        yield "s3://bucket"
    finally:
        server.kill()
        server.wait()


def main() -> None:
    experiment = parse(EXPERIMENT)
    found: list[tuple[str, dict[str, bytes]]] = []
    with tempfile.TemporaryDirectory() as place, s3_server() as bucket:
        out = Path(place)
        run_experiment(experiment, out / "local", workers=2)
        wanted = rows_in(out / "local")
        run_experiment(experiment, out / "ray", ray="local", workers=2)
        found.append(("Ray on this machine, 2 workers", rows_in(out / "ray")))
        run_experiment(experiment, out / "slurm", slurm="local", workers=2)
        found.append(("submitit, local executor, 2 at a time", rows_in(out / "slurm")))
        addresses = {"S3 (moto)": bucket, "file://": f"file://{out}/objects", "memory://": "memory://everywhere"}
        for name, address in addresses.items():
            run_experiment(experiment, address, workers=2)
            found.append((name, rows_at(address)))
    head = "| place | runs | rows | runs whose rows are equal byte for byte |\n|---|---|---|---|\n"
    lines = [
        f"| {name} | {len(rows)} | {sum(len(one.splitlines()) for one in rows.values())} |"
        f" {sum(rows.get(run) == one for run, one in wanted.items())} of {len(wanted)} |"
        for name, rows in [("local workers (the measure)", wanted), *found]
    ]
    made = "`python benchmarks/everywhere.py`: finetune, ER and A-GEM on split digits, 2 seeds."
    RESULTS.write_text(f"# One experiment everywhere\n\n{made}\n\n" + head + "\n".join(lines) + "\n")
    print(RESULTS.read_text())
    if any(rows != wanted for _, rows in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
