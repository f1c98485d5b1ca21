"""Shells around other libraries, run with the libraries themselves in environments of their own.

    python benchmarks/integrations.py PYTHON [PYTHON ...]

Each PYTHON has some of avalanche-lib, transformers, lightning, mlflow, wandb and tensorboard, beside what Recollect
needs and pytest. The tests of `tests/integrations` are run in each; where MLflow is installed, results are pushed to a
live server as well and asked for again. Writes benchmarks/results/integrations.md.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = Path(__file__).parent / "results" / "integrations.md"
LIBRARIES = ("avalanche-lib", "transformers", "lightning", "mlflow", "wandb", "tensorboard", "torch")
# A torchvision that was built for another torch lacks its own operators; nothing here uses them.
TESTS = """
import re, sys, torch
library = torch.library.Library("torchvision", "FRAGMENT")
for _ in range(50):
    try:
        import torchvision
        break
    except ImportError:
        break
    except RuntimeError as error:
        library.define(re.search("torchvision::([a-z_]+)", str(error))[1] + "(Tensor x) -> Tensor")
        for name in [m for m in sys.modules if m.startswith("torchvision")]:
            del sys.modules[name]
import pytest
sys.exit(pytest.main(["-v", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=.", "tests/integrations"]))
"""
VERSIONS = """
import importlib.metadata as found, json, sys
there = {}
for name in sys.argv[1:]:
    try:
        there[name] = found.version(name)
    except found.PackageNotFoundError:
        pass
print(json.dumps(there))
"""
ASK = """
import json, sys, mlflow
client = mlflow.MlflowClient(sys.argv[1])
experiment = client.get_experiment_by_name("recollect")
runs = client.search_runs([experiment.experiment_id])
print(json.dumps([[run.info.run_name, run.data.metrics["acc.average"],
                   sorted(file.path for file in client.list_artifacts(run.info.run_id))] for run in runs]))
"""


def called(python: str, code: str, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [python, "-c", code, *words], cwd=ROOT, env=environment, check=check, capture_output=True, text=True
    )


def tests(python: str) -> list[str]:
    """A line for each test that ran."""
    said = called(python, TESTS, check=False).stdout
    found = re.findall(r"^tests/integrations/(\S+) (PASSED|FAILED|ERROR)", said, re.MULTILINE)
    return [f"| {name.replace('.py::', ': ').replace('_', ' ')} | {result.lower()} |" for name, result in found]


def live_mlflow(python: str) -> str:
    """Push a small record to a server of this machine, and ask the server for it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "er.csv").write_text("0.9,0.1\n0.7,0.8\n")
        options = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        options += ["--backend-store-uri", "sqlite:///m.db", "--artifacts-destination", "files"]
        command = [python, "-m", "mlflow", "server", *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        server = subprocess.Popen(command, cwd=folder, start_new_session=True, **quiet)
        try:
            _wait(f"{where}/health")
            push = [python, "-m", "recollect", "push", "mlflow", "er.csv", "--where", where]
            subprocess.run(push, cwd=folder, env=environment, check=True, capture_output=True)
            ((name, value, files),) = json.loads(called(python, ASK, where).stdout)
        finally:
            os.killpg(server.pid, 15)
            server.wait()
    has = f"{name!r} with acc.average {value:.2f} and {', '.join(files)}"
    return f"`recollect push mlflow` to a live server, which then has the run {has}"


def _wait(url: str, seconds: float = 180) -> None:
    ends = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(1)


def main() -> None:
    lines = ["# Shells around other libraries", "", "Made by `python benchmarks/integrations.py PYTHON ...`."]
    for python in sys.argv[1:]:
        versions = json.loads(called(python, VERSIONS, *LIBRARIES).stdout)
        named = ", ".join(f"{name} {version}" for name, version in versions.items())
        lines += ["", f"## With {named}", "", "| test | result |", "|---|---|", *tests(python)]
        if "mlflow" in versions:
            lines += ["", f"{live_mlflow(python)}."]
        OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
