"""One writer, and no lock that outlives its owner."""

import errno
import os
import platform
import subprocess
import sys

import pytest

from recollect.errors import RecollectError, UsageError
from recollect.runs.lock import Lock

fcntl = pytest.importorskip("fcntl")


def test_the_lock_of_a_dead_process_is_no_lock(tmp_path):
    code = (
        "import os; from pathlib import Path; from recollect.runs.lock import Lock;"
        f" lock = Lock(Path({str(tmp_path)!r})); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert (tmp_path / ".lock").exists()
    Lock(tmp_path).release()
    assert os.listdir(tmp_path) == []


def test_another_process_is_named(tmp_path):
    code = (
        "import sys; from pathlib import Path; from recollect.runs.lock import Lock;"
        f" lock = Lock(Path({str(tmp_path)!r})); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(RecollectError, match=rf"Another process \(id {other.pid} on "):
            Lock(tmp_path)
        other.communicate()


def test_a_lock_file_that_its_owner_just_removed_is_not_trusted(tmp_path, monkeypatch):
    real = fcntl.flock
    removed = []

    def flock(handle, how):
        if not removed:
            removed.append(os.unlink(tmp_path / ".lock"))
        return real(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    held = Lock(tmp_path)
    assert (tmp_path / ".lock").exists()
    held.release()
    held.release()


def test_where_there_are_no_locks_recording_goes_on_with_a_warning(tmp_path, monkeypatch):
    def flock(handle, how):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.warns(UserWarning, match="no locks"):
        Lock(tmp_path).release()


def test_a_lock_left_by_another_host_is_not_taken_in_silence(tmp_path):
    (tmp_path / ".lock").write_text("4711 on elsewhere\n")
    with pytest.warns(UserWarning, match="4711 on elsewhere"):
        held = Lock(tmp_path)
    assert (tmp_path / ".lock").read_text() == f"{os.getpid()} on {platform.node()}\n"
    held.release()


def test_a_link_in_the_place_of_the_lock_is_not_written_through(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".lock").symlink_to(precious)
    with pytest.raises(UsageError, match="is a link"):
        Lock(folder)
    assert precious.read_text() == "mine"
