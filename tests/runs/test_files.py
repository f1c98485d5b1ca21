"""Writes that cannot be half done, names that cannot lead astray."""

import errno
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import RecollectError, UsageError
from recollect.runs import files


def full_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call):
    target = tmp_path / "run.json"
    files.write_atomic(target, b"old")
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(RecollectError, match=r"No space left on device.*run the same command again"):
        files.write_atomic(target, b"new" * 1000)
    monkeypatch.undo()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["run.json"]


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:3]))
    files.write_atomic(tmp_path / "x", b"0123456789")
    assert (tmp_path / "x").read_bytes() == b"0123456789"


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_failed_append_is_taken_back(tmp_path, monkeypatch, call):
    handle = os.open(tmp_path / "rows", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    files.append_synced(handle, b"first\n")
    real = os.write
    if call == "write":  # half a line gets through, then the disk is full
        calls = iter([lambda h, d: real(h, d[:4]), full_disk])
        monkeypatch.setattr(os, "write", lambda h, d: next(calls)(h, d))
    else:
        monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        files.append_synced(handle, b"second\n")
    monkeypatch.undo()
    files.append_synced(handle, b"third\n")
    os.close(handle)
    assert (tmp_path / "rows").read_bytes() == b"first\nthird\n"


@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe", "device", "folder"])
def test_nothing_but_a_plain_file_is_written_to(tmp_path, kind):
    place, other = tmp_path / "report.html", tmp_path / "other"
    other.write_bytes(b"precious")
    if kind == "link":
        place.symlink_to(other)
    elif kind == "link to nothing":
        place.symlink_to(tmp_path / "new")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place = Path("/dev/null")
    with pytest.raises(UsageError, match="plain file"):
        files.write_atomic(place, b"x")
    assert other.read_bytes() == b"precious"
    assert not (tmp_path / "new").exists()
    assert os.path.lexists(place)
    assert not place.is_file() or place.is_symlink()


def test_a_long_name_is_written_too(tmp_path):
    files.write_atomic(tmp_path / ("x" * 250), b"1")
    assert (tmp_path / ("x" * 250)).read_bytes() == b"1"


def test_a_tiny_disk_that_is_full_leaves_the_old_file(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        files.write_atomic(disk / "a.csv", b"old")
        with pytest.raises(RecollectError, match="No space left"):
            files.write_atomic(disk / "a.csv", b"new" * 100_000)
        assert (disk / "a.csv").read_bytes() == b"old"
        assert os.listdir(disk) == ["a.csv"]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_files_are_as_readable_as_the_user_wants(tmp_path):
    files.write_atomic(tmp_path / "x", b"")
    (tmp_path / "y").touch()
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "y").stat().st_mode


@pytest.mark.parametrize("plain", ["er", "er-digits-seed0", "lwf_2.0", "größe", "a=1+2"])
def test_plain_names_stay(plain):
    assert files.folder_name(plain) == plain


@given(st.lists(st.text(), min_size=1))
def test_any_name_is_one_safe_folder(parts):
    name = files.folder_name(*parts)
    assert name
    assert not set(name) & set('<>:"/\\|?*\0')
    assert all(ord(mark) >= 32 for mark in name)
    assert name[0] not in ".- "
    assert name[-1] not in ". "
    assert len(name.encode()) <= 100
    assert name.split(".")[0].lower() not in files._DEVICES


@pytest.mark.parametrize("hostile", ["../../x", "/etc/passwd", "..", ".", "", "CON", "nul.txt", "a\0b", "C:\\x", "~"])
def test_hostile_names_stay_inside(tmp_path, hostile):
    target = (tmp_path / files.folder_name(hostile)).resolve()
    assert target.parent == tmp_path.resolve()


def test_two_names_are_two_folders():
    names = ["a/b", "a\\b", "a:b", "a_b", "ER", "er", "Er", "x" * 200, "x" * 201, "..", "...", "\ud800"]
    folders = [files.folder_name(name).lower() for name in names]
    assert len(set(folders)) == len(names)


def test_a_file_in_the_way_is_said(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(UsageError, match="a file is in its way"):
        files.make_folder(tmp_path / "x")
    with pytest.raises(UsageError, match="a file is in its way"):
        files.make_folder(tmp_path / "x" / "y")
