"""Killed with -9 at any moment, the record goes on and ends byte for byte the same."""

import os
import signal
import subprocess
import sys

import pytest

from recollect.runs.reading import read_run

TASKS = 40
LOOP = f"""
import sys
from recollect.runs import Recorder
with Recorder(sys.argv[1], learner="er", stream="toy", tasks={TASKS}, seed=0) as rec:
    print("ready", flush=True)
    for i in range(-1, {TASKS}):
        if not rec.is_done(i):
            for j in range({TASKS}):
                rec.log(after=i, on=j, correct=(i * 7 + j * 3) % 11, n=10 + 1)
"""

# Stops inside the write of a row, at a given byte.
TORN = """
import os
real, left = os.write, [{bytes}]
def write(handle, data):
    if left[0] < len(data):
        real(handle, data[:left[0]])
        os._exit(9)
    left[0] -= len(data)
    return real(handle, data)
os.write = write
"""


def start(folder, before=""):
    return subprocess.Popen([sys.executable, "-c", before + LOOP, str(folder)], stdout=subprocess.PIPE)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "x"
    with start(folder) as process:
        assert process.wait() == 0
    return (folder / "rows.jsonl").read_bytes()


def goes_on(folder, undisturbed):
    if (folder / "run.json").exists():
        rows = read_run(folder).rows
        assert [row.after for row in rows] == list(range(-1, len(rows) - 1))
    with start(folder) as process:
        assert process.wait() == 0
    assert (folder / "rows.jsonl").read_bytes() == undisturbed
    assert read_run(folder).status == "finished"
    assert sorted(os.listdir(folder)) == ["rows.jsonl", "run.json"]


@pytest.mark.skipif(os.name == "nt", reason="there is no kill -9")
@pytest.mark.parametrize("lines", [0, 1, 3, 10, 25])
def test_killed_from_outside(tmp_path, undisturbed, lines):
    folder = tmp_path / "x"
    with start(folder) as process:
        process.stdout.readline()
        while process.poll() is None and (folder / "rows.jsonl").stat().st_size < lines * 200:
            pass
        process.send_signal(signal.SIGKILL)
    goes_on(folder, undisturbed)


@pytest.mark.parametrize("count", [0, 1, 100, 450, 700, 701, 1500, 2222])
def test_killed_inside_a_write(tmp_path, undisturbed, count):
    folder = tmp_path / "x"
    with start(folder, TORN.format(bytes=count)) as process:
        assert process.wait() == 9
    goes_on(folder, undisturbed)
