"""Experiments as an array job: the record is that of local workers. Slurm itself is played by four small scripts."""

from __future__ import annotations

import json
import os
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.experiments import Experiment, parse, run_experiment, slurm_pool

pytestmark = pytest.mark.skipif(find_spec("submitit") is None, reason="needs submitit")

TEXT = """
name: small
streams: [{name: digits, tasks: 5}]
learners: [random]
seeds: 2
"""

# Runs every task of the array in a process of its own, as Slurm would; the state of each is a file.
SBATCH = """
import os, re, shlex, subprocess, sys
home = os.path.dirname(__file__)
script = open(sys.argv[-1]).read()
number = str(sum(name.endswith(".script") for name in os.listdir(home)) + 100)
open(os.path.join(home, number + ".script"), "w").write(script)
array = re.search(r"--array=0-(\\d+)", script)
command = next(line for line in script.splitlines() if line.startswith("srun"))
for k in range(int(array.group(1)) + 1) if array else [None]:
    name = number if k is None else f"{number}_{k}"
    one = {"SLURM_JOB_ID": name, "SLURM_JOB_NUM_NODES": "1", "SLURM_NTASKS": "1", "SLURM_NODEID": "0",
           "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOB_NODELIST": "here",
           "SUBMITIT_EXECUTOR": "slurm"}
    if k is not None:
        one |= {"SLURM_ARRAY_JOB_ID": number, "SLURM_ARRAY_TASK_ID": str(k)}
    state = os.path.join(home, name + ".state")
    open(state, "w").write("RUNNING")
    if os.environ.get("FAKE_SLURM") == "dies" and not os.path.exists(os.path.join(home, "died")):
        open(os.path.join(home, "died"), "w").close()
        open(state, "w").write("NODE_FAIL")
        continue
    if os.environ.get("FAKE_SLURM") == "pending":
        open(state, "w").write("PENDING")
        continue
    subprocess.Popen(["bash", "-c", f"{command}; echo COMPLETED > {shlex.quote(state)}"], env=os.environ | one,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("Submitted batch job", number)
"""
SRUN = """
import os, sys
parts = sys.argv[1:]
files = {}
while parts[0].startswith("--"):
    if parts[0] != "--unbuffered":
        files[parts[0]] = parts.pop(1)
    parts.pop(0)
for name, handle in (("--output", 1), ("--error", 2)):
    path = files[name].replace("%t", "0")
    for sign, value in (("%A", "ARRAY_JOB_ID"), ("%a", "ARRAY_TASK_ID"), ("%j", "JOB_ID")):
        path = path.replace(sign, os.environ.get("SLURM_" + value, ""))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), handle)
os.execvp(parts[0], parts)
"""
SACCT = """
import os
home = os.path.dirname(__file__)
print("JobID|State|NodeList")
for name in sorted(os.listdir(home)):
    if name.endswith(".state"):
        print(name[:-6], open(os.path.join(home, name)).read().strip(), "here", sep="|")
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in PATH with a Slurm of four scripts."""
    home = tmp_path / "bin"
    home.mkdir()
    for name, text in (("sbatch", SBATCH), ("srun", SRUN), ("sacct", SACCT), ("scancel", "")):
        (home / name).write_text(f"#!{sys.executable}\n{text}")
        (home / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{home}{os.pathsep}{os.environ['PATH']}")
    for name, value in (("_LOOK", 0.2), ("_ASK", 0.2), ("_TO_APPEAR", 0.5)):
        monkeypatch.setattr(slurm_pool, name, value)
    return home


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return parse(TEXT)


@pytest.fixture(scope="module")
def local(experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("local")
    assert not run_experiment(experiment, out, workers=1).failures
    return rows_in(out)


def rows_in(out: Path) -> dict[str, bytes]:
    return {file.parent.name: file.read_bytes() for file in out.rglob("rows.jsonl")}


def test_one_array_job_gives_the_records_of_local_workers(
    tmp_path: Path, slurm: Path, experiment: Experiment, local: dict[str, bytes]
) -> None:
    outcome = run_experiment(experiment, tmp_path / "out", slurm="time=5,partition=short", workers=2)
    assert not outcome.failures
    assert rows_in(tmp_path / "out") == local
    (script,) = slurm.glob("*.script")
    assert "#SBATCH --array=0-1%2" in script.read_text()
    assert "#SBATCH --partition=short" in script.read_text()
    again = run_experiment(experiment, tmp_path / "out", slurm="time=5")
    assert len(again.skipped) == 2
    assert len(list(slurm.glob("*.script"))) == 1


def test_a_job_that_died_with_its_machine_is_queued_again(
    tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment, local: dict[str, bytes]
) -> None:
    monkeypatch.setenv("FAKE_SLURM", "dies")
    outcome = run_experiment(experiment, tmp_path / "out", slurm="time=5")
    assert not outcome.failures
    assert rows_in(tmp_path / "out") == local
    assert len(list(slurm.glob("*.script"))) == 2


def test_jobs_that_wait_in_the_queue_are_followed_not_given_again(
    tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment
) -> None:
    monkeypatch.setenv("FAKE_SLURM", "pending")
    jobs = slurm_pool_jobs(experiment, tmp_path / "out")
    first = slurm_pool.run_jobs_on_slurm(jobs, "time=5")
    assert [next(first)[1].kind for _ in jobs] == ["started", "started"]
    monkeypatch.setattr(slurm_pool.time, "sleep", stop)
    with pytest.raises(KeyboardInterrupt):
        next(first)
    assert len(list(slurm.glob("*.script"))) == 1
    second = slurm_pool.run_jobs_on_slurm(jobs, "time=5")
    with pytest.raises(KeyboardInterrupt):
        list(second)
    assert len(list(slurm.glob("*.script"))) == 1
    known = json.loads((tmp_path / "out" / "small" / ".slurm" / "jobs.json").read_text())
    assert sorted(known.values()) == ["100_0", "100_1"]


def stop(_: float) -> None:
    raise KeyboardInterrupt


def slurm_pool_jobs(experiment: Experiment, out: Path) -> list:
    from recollect.experiments import grid

    return grid(experiment, out)


def test_processes_on_this_machine_write_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment, local: dict[str, bytes]
) -> None:
    monkeypatch.setattr(slurm_pool, "_LOOK", 0.2)
    assert not run_experiment(experiment, tmp_path, slurm="local", workers=1).failures
    assert rows_in(tmp_path) == local


def test_a_run_that_fails_says_why(tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "name: x\nstreams: [{name: digits, tasks: 5}]\nlearners: ['fails:make']\nseeds: 1\n"
    (tmp_path / "fails.py").write_text(
        "from recollect.learners import make_learner\n"
        "def make(setting, seeds, device='cpu'):\n"
        "    learner = make_learner('random', {}, setting, seeds, 'cpu')\n"
        "    def learn(*args, **options):\n"
        "        raise ValueError('no more')\n"
        "    learner.learn = learn\n"
        "    return learner\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    (failure,) = run_experiment(parse(text), tmp_path / "out", slurm="time=5").failures
    assert "no more" in failure.message
    assert len(list(slurm.glob("*.script"))) == 1


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("partition=x", "got no time"),
        ("time", "such as time=240"),
        ("", "such as time=240"),
        ("time=5,nonsense=1", "nonsense"),
    ],
)
def test_options_that_cannot_be_used_are_one_paragraph_and_nothing_is_written(
    tmp_path: Path, slurm: Path, experiment: Experiment, asked: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        run_experiment(experiment, tmp_path / "out", slurm=asked)
    assert not (tmp_path / "out").exists()


def test_without_slurm_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, experiment: Experiment) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="Slurm is not found here"):
        run_experiment(experiment, tmp_path / "out", slurm="time=5")
    assert not (tmp_path / "out").exists()


def test_ray_and_slurm_are_not_both(tmp_path: Path, experiment: Experiment) -> None:
    with pytest.raises(UsageError, match="not on both"):
        run_experiment(experiment, tmp_path, slurm="local", ray="local")
