"""One writer per run: a lock that dies with its process, kill -9 included."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
import warnings
from pathlib import Path

from recollect.errors import RecollectError
from recollect.runs.files import refuse_special, writing
from recollect.runs.reading import read_regular

# Some cluster file systems have no locks at all; recording must still work there.
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)


class Held(RecollectError):
    """Another process is writing the run."""


class Lock:
    """Hold the file `.lock` in a folder, with the process id and the host inside for whoever finds it taken.

    A lock that its owner left behind is free, and is taken. If the owner was on another host, that is said:
    on some shared file systems locks do not reach across hosts, and the owner may be alive.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / ".lock"
        with writing(self._path):
            self._handle = self._take()
        with contextlib.suppress(OSError):  # the id is only a courtesy
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, f"{os.getpid()} on {platform.node()}\n".encode())

    def release(self) -> None:
        """Give the run free; the file goes too."""
        if self._handle < 0:
            return
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        os.close(self._handle)
        self._handle = -1

    def _take(self) -> int:
        while True:
            refuse_special(self._path)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            try:
                if not _try_lock(handle):
                    raise Held(
                        f"Another process (id {_owner(handle) or 'unknown'}) is writing the run in {self._path.parent}."
                        " Wait for it, or give this run a folder of its own."
                    )
                if self._is_current(handle):
                    self._warn_of_another_host(_owner(handle))
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def _warn_of_another_host(self, owner: str) -> None:
        _, _, host = owner.partition(" on ")
        if host and host != platform.node():
            warnings.warn(
                f"the run in {self._path.parent} was being written by the process {owner} and is now by {os.getpid()}"
                f" on {platform.node()}: take care that the other one has ended",
                stacklevel=2,
            )

    def _is_current(self, handle: int) -> bool:
        """Is the locked file still the one in the folder? Its last owner may just have removed it."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(handle))


def owner_of(folder: Path | str) -> str:
    """Who writes the run in a folder, `ID on HOST`; nothing if nobody does. The lock is not touched."""
    try:
        return read_regular(f"{folder}/.lock", most=300).decode("utf-8", "replace").strip()
    except (OSError, RecollectError):
        return ""


def _owner(handle: int) -> str:
    """Who wrote the lock file: `ID on HOST`, the id alone if it was an earlier version, or nothing."""
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, 300).decode("utf-8", "replace").strip()


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            # Far behind the content, which others may read.
            os.lseek(handle, 1 << 20, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        if error.errno in _NO_LOCKS:
            warnings.warn("this file system has no locks: take care that one process alone writes a run", stacklevel=2)
            return True
        raise
    return True
