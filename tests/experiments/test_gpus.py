"""Which worker has which GPU, on machines that are made up: there is no GPU to try it on."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.experiments import grid, parse, pool, run_experiment
from recollect.experiments.gpus import VARIABLE, gpus_for, visible_gpus

TEXT = "name: x\nstreams: [{name: digits, tasks: 2}]\nlearners: [random]\nseeds: 1\ndevice: %s\n"


class Hired:
    """A worker that is not started; the GPU that it was given."""

    def __init__(self, gpu: str | None = None) -> None:
        self.gpu = gpu


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("0,1", ("0", "1")),
        ("", ()),
        ("-1", ()),
        ("3", ("3",)),
        ("0,-1,2", ("0",)),
        ("GPU-8a,MIG-1/2", ("GPU-8a", "MIG-1/2")),
    ],
)
def test_the_environment_says_which_gpus_there_are(
    monkeypatch: pytest.MonkeyPatch, given: str, names: tuple[str, ...]
) -> None:
    monkeypatch.setenv(VARIABLE, given)
    assert visible_gpus() == names


@pytest.mark.parametrize(
    ("says", "names"), [("GPU 0: A (UUID: a)\nGPU 1: B (UUID: b)", ("0", "1")), ("No devices", ())]
)
def test_without_it_nvidia_smi_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, names: tuple[str, ...]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\ncat <<'E'\n{says}\nE\n")
    tool.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert visible_gpus() == names
    tool.unlink()
    assert visible_gpus() == ()


@pytest.mark.parametrize(("device", "spread"), [("auto", True), ("cuda", True), ("cpu", False), ("cuda:1", False)])
def test_only_runs_that_take_any_gpu_are_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, spread: bool
) -> None:
    monkeypatch.setenv(VARIABLE, "0,1")
    assert bool(gpus_for(grid(parse(TEXT % device), tmp_path))) is spread


def test_every_worker_has_its_own_gpu_and_a_new_one_that_of_the_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "4,5,6")
    monkeypatch.setattr(pool, "LocalWorker", Hired)
    team = pool._LocalTeam(grid(parse(TEXT % "auto"), tmp_path), 3)
    for _ in range(3):
        team.workers.append(team.hire())
    assert [worker.gpu for worker in team.workers] == ["4", "5", "6"]
    del team.workers[1]
    assert team.hire().gpu == "5"


def test_a_worker_process_sees_its_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0,1")
    worker = pool.LocalWorker("1")
    try:
        environ = Path(f"/proc/{worker.process.pid}/environ")
        if not environ.exists():
            pytest.skip("needs /proc")
        for _ in range(100):  # it is empty until the process has become another program
            if known := environ.read_bytes():
                break
            time.sleep(0.05)
        assert f"{VARIABLE}=1".encode() in known.split(b"\0")
    finally:
        worker.stop(at_once=True)
        worker.join()


@pytest.mark.parametrize("gpus", [-1.0, float("nan"), 0.5])
def test_a_share_of_a_gpu_is_for_ray(tmp_path: Path, gpus: float) -> None:
    with pytest.raises(UsageError, match="--gpus"):
        run_experiment(parse(TEXT % "auto"), tmp_path / "out", gpus=gpus, ray=None if gpus == 0.5 else "local")
    assert not (tmp_path / "out").exists()
