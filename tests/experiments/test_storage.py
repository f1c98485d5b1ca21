"""Experiments on object storage: the rows of a local folder, one object per row, killed and resumed, one writer."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from recollect.errors import RecollectError, UsageError
from recollect.experiments import Experiment, parse, run_experiment
from recollect.experiments.running import checked, run_in_process
from recollect.runs import Recorder, load, remote
from recollect.runs.files import write_atomic
from recollect.runs.lock import Held

pytestmark = pytest.mark.skipif(find_spec("fsspec") is None, reason="needs fsspec")

TEXT = """
name: small
streams: [{name: digits, tasks: 5}]
learners: [random]
seeds: 2
"""
RUN = "small/random-digits-s0"


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return parse(TEXT)


@pytest.fixture(scope="module")
def local(experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The rows of a folder on this machine, by run."""
    out = tmp_path_factory.mktemp("local")
    assert not run_experiment(experiment, out, workers=1).failures
    return {file.parent.name: file.read_bytes() for file in out.rglob("rows.jsonl")}


def rows_at(address: str) -> dict[str, bytes]:
    storage = remote.Storage(f"{address}/small")
    rows: dict[str, bytes] = {}
    for name in storage.names():
        run, _, rest = name.partition("/")
        if rest.startswith("rows/"):
            rows[run] = rows.get(run, b"") + (storage.read(name) or b"")
    return rows


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bucket of a local S3 server; its address, with what s3fs needs to know in the environment."""
    if find_spec("moto") is None or find_spec("s3fs") is None:
        pytest.skip("needs moto and s3fs")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    patch = pytest.MonkeyPatch()
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "none"),
        ("AWS_SECRET_ACCESS_KEY", "none"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("FSSPEC_S3_ENDPOINT_URL", f"http://127.0.0.1:{port}"),
    ):
        patch.setenv(name, value)
    try:
        for _ in range(300):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        from fsspec.config import conf, set_conf_env

        set_conf_env(conf)  # it reads the environment when it is imported
        remote.Storage("s3://bucket/x").system.mkdir("bucket")
        yield "s3://bucket"
    finally:
        conf.pop("s3", None)
        patch.undo()
        server.kill()
        server.wait()


def test_worker_processes_write_a_local_s3_server_the_rows_of_a_folder(
    s3: str, experiment: Experiment, local: dict[str, bytes]
) -> None:
    outcome = run_experiment(experiment, f"{s3}/runs", workers=1)
    assert not outcome.failures
    assert outcome.place == f"{s3}/runs/small"
    assert rows_at(f"{s3}/runs") == local
    names = remote.Storage(f"{s3}/runs/{RUN}").names()
    assert "rows/000005.json" in names  # one before training and one per task
    assert not [name for name in names if name.startswith((".lease", "checkpoint"))]
    assert len(run_experiment(experiment, f"{s3}/runs").skipped) == 2
    assert [run.learner for run in load(f"{s3}/runs/small")] == ["random", "random"]
    assert load(Path(f"{s3}/runs"))[0].matrix.R.shape == (5, 5)  # pathlib makes one slash of two


def test_what_other_processes_cannot_see_is_run_in_this_one(experiment: Experiment, local: dict[str, bytes]) -> None:
    assert not run_experiment(experiment, "memory://runs").failures
    assert rows_at("memory://runs") == local


def test_killed_between_any_two_objects_it_goes_on_with_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment, local: dict[str, bytes]
) -> None:
    writes: list[str] = []
    write = remote.Storage.write
    with monkeypatch.context() as patch:
        patch.setattr(
            remote.Storage, "write", lambda self, name, *a, **kw: (writes.append(name), write(self, name, *a, **kw))[1]
        )
        first_run("memory://counted", experiment)
    assert len(writes) > 12  # a lease, headers, six rows, as many checkpoints
    monkeypatch.setattr(remote, "_SETTLE", 0.0)
    for k in range(1, len(writes)):
        address = f"memory://killed-{k}"
        with monkeypatch.context() as patch:
            stop_after(patch, k)
            with pytest.raises(KeyboardInterrupt):
                first_run(address, experiment)
        end_leases(address)
        assert first_run(address, experiment) == "finished"
        assert rows_at(address)["random-digits-s0"] == local["random-digits-s0"], (k, writes[k])


def first_run(address: str, experiment: Experiment) -> str:
    """Run or resume the first run in this process; how it ended."""
    told = list(run_in_process(checked(experiment, address)[:1]))
    return told[-1][1].kind


def stop_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let the process end, as far as the storage sees, after so many objects: nothing is tidied up."""
    write, remove, left = remote.Storage.write, remote.Storage.remove, [count]

    def counted(self: remote.Storage, *args: object, **options: object) -> None:
        if left[0] <= 0:
            raise KeyboardInterrupt
        left[0] -= 1
        write(self, *args, **options)  # type: ignore[arg-type]

    def removed(self: remote.Storage, name: str) -> None:
        if left[0] > 0:
            remove(self, name)

    monkeypatch.setattr(remote.Storage, "write", counted)
    monkeypatch.setattr(remote.Storage, "remove", removed)


def end_leases(address: str) -> None:
    """What time would do."""
    storage = remote.Storage(address)
    for name in storage.names():
        if name.endswith(remote.LEASE):
            lease = json.loads(storage.read(name) or b"{}")
            storage.write(name, json.dumps({**lease, "until": 0}).encode())


def test_a_process_that_is_killed_leaves_what_the_same_command_goes_on_with(
    tmp_path: Path, local: dict[str, bytes], experiment: Experiment
) -> None:
    address = f"file://{tmp_path}/out"
    (tmp_path / "e.yaml").write_text(TEXT)
    command = [sys.executable, "-m", "recollect", "run", str(tmp_path / "e.yaml"), "-o", address, "-w", "1"]
    first = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    row = tmp_path / "out" / RUN / "rows" / "000001.json"
    for _ in range(600):
        if row.exists() or first.poll() is not None:
            break
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert row.exists()
    assert not run_experiment(experiment, address, workers=1).failures
    assert rows_at(address) == local


def test_a_run_has_one_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_SETTLE", 0.0)
    storage = remote.Storage("memory://one-writer")
    with remote.Mirror(storage, tmp_path / "a") as first:
        with pytest.raises(Held, match=f"process {os.getpid()}"), remote.Mirror(storage, tmp_path / "b"):
            pass
        end_leases("memory://one-writer")
        with (
            remote.Mirror(storage, tmp_path / "b"),
            pytest.raises(RecollectError, match="taken over by another process"),
        ):
            first.push()
    assert storage.read(remote.LEASE) is None


def test_another_experiment_there_is_refused_and_anew_keeps_it_aside(experiment: Experiment) -> None:
    address = "memory://other"
    assert not run_experiment(experiment, address).failures
    changed = parse(TEXT.replace("tasks: 5", "tasks: 2"))
    with pytest.raises(UsageError, match="tasks"):
        run_experiment(changed, address)
    assert not run_experiment(changed, address, anew=True).failures
    names = remote.Storage(f"{address}/small").names()
    assert [name for name in names if name.startswith(".before/random-digits-s0-") and name.endswith("run.json")]
    assert len(load(f"{address}/small")) == 2


def test_an_object_that_leads_elsewhere_is_refused() -> None:
    storage = remote.Storage("memory://hostile")
    storage.write("a/../../../etc/x", b"no")
    with pytest.raises(UsageError, match="leads out"):
        load("memory://hostile")


@pytest.mark.parametrize(("path", "says"), [("memory://nothing-here", "nothing at"), ("nosuch://x/y", "nosuch")])
def test_an_address_that_cannot_be_read_is_one_paragraph(path: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load(path)


def test_a_matrix_file_is_read_from_its_address() -> None:
    remote.Storage("memory://files").write("m.csv", b"0.9,0.1\n0.5,0.8\n")
    (run,) = load("memory://files/m.csv")
    assert run.matrix.R.tolist() == [[0.9, 0.1], [0.5, 0.8]]


def test_an_address_never_becomes_a_folder_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="only `recollect run -o` writes there"):
        Recorder("s3://bucket/er-0", learner="er", stream="mine", tasks=2, seed=0)
    with pytest.raises(UsageError, match="only `recollect run -o` writes there"):
        write_atomic(Path("s3://bucket/report.html"), b"")
    assert not list(tmp_path.iterdir())
