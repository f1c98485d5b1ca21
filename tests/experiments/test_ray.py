"""Experiments on Ray: the record is that of local workers, whoever dies; what cannot work is one paragraph."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import MissingExtra, RecollectError, UsageError
from recollect.experiments import Experiment, grid, parse, ray_pool, run_experiment
from recollect.experiments.ray_pool import run_jobs_on_ray

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs ray")

TEXT = """
name: small
streams: [{name: digits, tasks: 5}]
learners: [finetune, {er: {memory: 50}}]
seeds: 2
"""


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return parse(TEXT)


@pytest.fixture(scope="module")
def local(experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The rows of local worker processes, by run."""
    out = tmp_path_factory.mktemp("local")
    assert not run_experiment(experiment, out, workers=1).failures
    return rows_in(out)


@pytest.fixture(scope="module")
def own_ray() -> Iterator[Any]:
    """A Ray that several tests share; "auto" is the one that a process is connected to."""
    ray = pytest.importorskip("ray")
    ray.init("local", num_cpus=2, object_store_memory=80 * 2**20, include_dashboard=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


def rows_in(out: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in out.rglob("rows.jsonl")}


@needs_ray
def test_the_records_are_those_of_local_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment, local: dict[str, bytes]
) -> None:
    import ray

    monkeypatch.chdir(tmp_path)
    outcome = run_experiment(experiment, "out", workers=2, ray="local")
    assert not outcome.failures
    assert not ray.is_initialized()
    assert len(local) == 4
    assert rows_in(tmp_path) == local
    assert len(run_experiment(experiment, "out", ray="nobody:1").skipped) == 4  # finished is a no-op, without Ray


@needs_ray
def test_an_address_where_nobody_answers_is_one_paragraph(tmp_path: Path, experiment: Experiment) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listening
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        for asked in (address, f"ray://{address}"):
            with pytest.raises(UsageError, match=r"No Ray cluster answers at .*refused"):
                run_experiment(experiment, tmp_path, ray=asked)


@needs_ray
def test_one_who_answers_but_is_no_ray_is_not_awaited_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment
) -> None:
    monkeypatch.setattr(ray_pool, "_TO_CONNECT", 3.0)
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(UsageError, match="no answer in 3 seconds"):
        run_experiment(experiment, tmp_path, ray=f"127.0.0.1:{other.getsockname()[1]}")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_killed_worker_is_resumed(
    tmp_path: Path, experiment: Experiment, local: dict[str, bytes], own_ray: Any
) -> None:
    told: list[tuple[str, str]] = []
    jobs = [job for job in grid(experiment, tmp_path) if job.learner == "er"]
    for job, report in run_jobs_on_ray(jobs, "auto", 1):
        told.append((job.name, report.kind))
        if told[-1] == ("er-digits-s1", "row") and told.count(told[-1]) == 2:
            os.kill(int((job.folder / ".lock").read_text().split()[0]), signal.SIGKILL)
    assert told.count(("er-digits-s1", "died")) == 1
    for name in ("er-digits-s0", "er-digits-s1"):
        assert told.count((name, "finished")) == 1
    assert rows_in(tmp_path) == {name: rows for name, rows in local.items() if name.startswith("er")}


def test_more_workers_than_cpus_wait_say_so_and_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment, local: dict[str, bytes], own_ray: Any
) -> None:
    monkeypatch.setattr(ray_pool, "_QUIET", 0.05)
    told = [(job.name, report) for job, report in run_jobs_on_ray(grid(experiment, tmp_path), "auto", 4)]
    assert sorted(name for name, report in told if report.kind == "finished") == sorted(local)
    assert rows_in(tmp_path) == local
    waited = [report.message for _, report in told if report.kind == "waiting"]
    assert any("1 machines with 2 CPUs" in message for message in waited)


def test_closing_stops_the_workers(tmp_path: Path, experiment: Experiment, own_ray: Any) -> None:
    reports = run_jobs_on_ray(grid(experiment, tmp_path), "auto", 1)
    job = next(job for job, report in reports if report.kind == "row")
    worker = int((job.folder / ".lock").read_text().split()[0])
    reports.close()
    deadline = time.monotonic() + 20
    while is_alive(worker):
        assert time.monotonic() < deadline, "the worker outlives the experiment"
        time.sleep(0.05)


class Broken:
    def __init__(self, home: str) -> None:
        raise ModuleNotFoundError("No module named 'recollect'")

    def begin(self, job: object) -> None: ...

    def ping(self) -> None: ...


def test_a_machine_without_the_environment_is_one_paragraph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment, own_ray: Any
) -> None:
    monkeypatch.setattr(ray_pool, "Actor", Broken)
    with pytest.raises(RecollectError, match="need the same Python environment"):
        run_experiment(experiment, tmp_path, workers=1, ray="auto")


def test_one_connection_a_process(tmp_path: Path, experiment: Experiment, own_ray: Any) -> None:
    with pytest.raises(UsageError, match="connected to a Ray cluster already"):
        run_experiment(experiment, tmp_path, ray="local")


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_folder_that_is_not_shared_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment, own_ray: Any
) -> None:
    monkeypatch.setattr(ray_pool, "absolute", lambda job: replace(job, folder=tmp_path / "elsewhere" / job.name))
    monkeypatch.setattr(ray_pool, "_TO_APPEAR", 0.2)
    with pytest.raises(RecollectError, match="the folder of the runs is not shared"):
        run_experiment(experiment, tmp_path / "here", workers=1, ray="auto")


def test_without_ray_it_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"ray is not installed; it comes with: pip install 'recollect\[ray\]'"):
        run_experiment(experiment, tmp_path, ray="local")
