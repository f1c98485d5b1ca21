"""Run folders on object storage (s3://, gs://, any file system of fsspec): mirrored, one sealed object per row.

Objects are replaced as a whole and never appended to. So a run is written to a folder of this machine, and after each
row what is new is sent: the row as an object of its own first, then the checkpoint, so that after a kill at any moment
there are at least the rows that the checkpoint knows. A lease that is renewed while the writer lives takes the place of
the lock.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import platform
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from recollect.errors import MissingExtra, RecollectError, UsageError
from recollect.runs.files import ADDRESS, make_folder, write_atomic
from recollect.runs.lock import Held
from recollect.runs.reading import HEADER, ROWS, read_regular

LEASE = ".lease"
_CHECKPOINT = "checkpoint.bin"
# Where rows.jsonl is on object storage: a folder with one object per line.
_LINES = "rows"
_LINE = re.compile(r"\d{6,}\.json")
# In seconds: how long a writer that is not heard of keeps its run, how often it is heard of, and how long it is
# waited for another who takes a lease that has run out at the same moment.
_LEASE = 120.0
_RENEW = 30.0
_SETTLE = 1.0


def address_of(path: str | os.PathLike[str]) -> str | None:
    """The address on object storage that a path is, or None of a path on this machine.

    >>> address_of("s3://bucket/runs"), address_of(Path("s3://bucket/runs")), address_of("runs/s3")
    ('s3://bucket/runs', 's3://bucket/runs', None)
    """
    text = os.fspath(path).rstrip("/")
    found = ADDRESS.match(text)
    if found is None or os.path.exists(text):
        return None
    rest = text[found.end() :]
    return f"{found[1]}:///{rest}" if found[1] in ("file", "local") else f"{found[1]}://{rest}"


def stays_in_process(address: str) -> bool:
    """Whether other processes do not see what is written there."""
    return address.startswith("memory:")


class Storage:
    """A folder on object storage; what goes wrong is one `RecollectError` with the address."""

    def __init__(self, address: str) -> None:
        self.address = address
        try:
            fsspec = import_module("fsspec")
        except ImportError:
            raise MissingExtra.of("fsspec", "storage") from None
        with self._told():
            try:
                self.system, self.root = fsspec.core.url_to_fs(address)
            except ImportError as error:
                raise UsageError(f"{address} needs another package: {error}.") from None
            except ValueError as error:
                raise UsageError(f"{address} is no address of a storage: {error}.") from None
        self.system.use_listings_cache = False

    def read(self, name: str = "") -> bytes | None:
        """One object (by default that at the address itself), or None."""
        with self._told():
            try:
                return bytes(self.system.cat_file(f"{self.root}/{name}".rstrip("/")))
            except (FileNotFoundError, IsADirectoryError):
                return None

    def write(self, name: str, data: bytes, *, new: bool = False) -> None:
        """Put one object there, as a whole; with `new` FileExistsError if there is one."""
        with self._told():
            place = f"{self.root}/{name}"
            if self.system.protocol == ("file", "local"):  # files of a disk would be written in pieces
                make_folder(Path(place).parent)
                if new:
                    os.close(os.open(place, os.O_CREAT | os.O_EXCL, 0o666))
                write_atomic(Path(place), data)
            elif new:
                self.system.pipe_file(place, data, mode="create")
            else:
                self.system.pipe_file(place, data)

    def remove(self, name: str) -> None:
        """Take one object away; nothing if there is none."""
        with self._told(), contextlib.suppress(FileNotFoundError):
            self.system.rm_file(f"{self.root}/{name}")

    def names(self) -> list[str]:
        """All objects at or below, by their names from here; one that leads elsewhere is refused."""
        with self._told():
            self.system.invalidate_cache()
            try:
                found = self.system.find(self.root)
            except FileNotFoundError:
                return []
        root = self.root.rstrip("/") + "/"
        names = [str(one)[len(root) :] for one in found if str(one).startswith(root)]
        bad = next((name for name in names if ".." in PurePosixPath(name).parts or name.startswith("/")), None)
        if bad is not None:
            raise UsageError(f"{self.address} holds an object named {bad!r}, which leads out of it.")
        return sorted(names)

    def read_many(self, names: list[str]) -> Mapping[str, bytes]:
        """Many objects at once; one that has gone meanwhile is left out."""
        with self._told():
            got = self.system.cat([f"{self.root}/{name}" for name in names], on_error="omit") if names else {}
        if isinstance(got, bytes):
            return {names[0]: got}
        by_place = {str(place).lstrip("/"): data for place, data in got.items()}
        wanted = {name: f"{self.root}/{name}".lstrip("/") for name in names}
        return {name: by_place[place] for name, place in wanted.items() if place in by_place}

    def move(self, to: Storage) -> None:
        """Move all objects of this folder to another of the same storage."""
        names = self.names()
        with self._told():
            for name in names:
                if name != LEASE:
                    to.write(name, self.read(name) or b"")
            for name in names:
                self.remove(name)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (RecollectError, FileExistsError):
            raise
        except Exception as error:  # of any library that speaks to any storage
            said = str(error).strip() or type(error).__name__
            raise RecollectError(f"The storage at {self.address} does not do what it is asked: {said}") from error


class Mirror:
    """A run's folder on this machine and its objects, under one lease."""

    def __init__(self, storage: Storage, folder: Path) -> None:
        self.storage = storage
        self.folder = folder
        self._sent: dict[str, bytes] = {}
        self._owner = {"pid": os.getpid(), "host": platform.node(), "key": os.urandom(8).hex()}
        self._ended = threading.Event()
        self._keeper: threading.Thread | None = None

    def __enter__(self) -> Mirror:
        self._take_lease()
        try:
            shutil.rmtree(self.folder, ignore_errors=True)  # what is on the storage is what holds
            self._sent = pull(self.storage, self.folder)
        except BaseException:
            self.storage.remove(LEASE)
            raise
        self._keeper = threading.Thread(target=self._keep_lease, daemon=True)
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._keeper is not None:
            self._keeper.join()
        if self._is_mine():
            self.storage.remove(LEASE)

    def push(self) -> None:
        """Send what is new or gone in the folder, in the order in which a kill may interrupt it."""
        if not self._is_mine():
            raise RecollectError(
                f"The lease of {self.storage.address} was taken over by another process; this one writes no more."
            )
        content = _content(self.folder)
        # Rows and what belongs to them, the checkpoint that knows them, the header that closes them; the first header
        # goes before all, or nobody could tell what run it is.
        turns = {HEADER: 2 if HEADER in self._sent else -1, _CHECKPOINT: 1}
        for name in sorted(content, key=lambda name: (turns.get(name, 0), name)):
            if self._sent.get(name) != content[name]:
                self.storage.write(name, content[name])
                self._sent[name] = content[name]
        for name in [name for name in self._sent if name not in content]:
            self.storage.remove(name)
            del self._sent[name]

    def _take_lease(self) -> None:
        try:
            self.storage.write(LEASE, self._lease(), new=True)
        except FileExistsError:
            there = _lease_in(self.storage.read(LEASE))
            if not _has_ended(there):
                raise Held(
                    f"{self.storage.address} is being written by process {there.get('pid')} on {there.get('host')}."
                ) from None
            self.storage.write(LEASE, self._lease())
            time.sleep(_SETTLE)
        if not self._is_mine():
            raise Held(f"{self.storage.address} was taken by another process a moment ago.")

    def _keep_lease(self) -> None:
        while not self._ended.wait(_RENEW):
            with contextlib.suppress(RecollectError):  # it is tried again; what cannot be sent is told by `push`
                if self._is_mine():
                    self.storage.write(LEASE, self._lease())

    def _lease(self) -> bytes:
        return json.dumps({**self._owner, "until": time.time() + _LEASE}).encode()

    def _is_mine(self) -> bool:
        return _lease_in(self.storage.read(LEASE)).get("key") == self._owner["key"]


def pull(storage: Storage, folder: Path, *, checkpoint: bool = True) -> dict[str, bytes]:
    """Make a folder as the storage has it, its runs as they are on disk; what was read, by the objects' names."""
    unread = (LEASE,) if checkpoint else (LEASE, _CHECKPOINT)
    got = dict(storage.read_many([name for name in storage.names() if PurePosixPath(name).name not in unread]))
    rows: dict[Path, list[bytes]] = {folder / name: [] for name in got if PurePosixPath(name).name == HEADER}
    for name in sorted(got):
        place = folder / name
        if _LINE.fullmatch(place.name) and place.parent.name == _LINES and place.parents[1] / HEADER in rows:
            rows[place.parents[1] / HEADER].append(got[name])
            continue
        make_folder(place.parent)
        write_atomic(place, got[name])
    for header, lines in rows.items():
        write_atomic(header.parent / ROWS, b"".join(lines))
    return got


def mirror_folder() -> Path:
    """A new folder on this machine that is removed when the process ends."""
    place = Path(tempfile.mkdtemp(prefix="recollect-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def local_copy(path: str | os.PathLike[str]) -> Path:
    """A copy on this machine of what is at an address, until the process ends; a path of this machine is itself."""
    address = address_of(path)
    if address is None:
        return Path(path)
    storage = Storage(address)
    target = mirror_folder() / (address.rpartition("/")[2] or "runs")
    if pull(storage, target, checkpoint=False):
        return target
    data = storage.read()
    if data is None:
        raise UsageError(f"There is nothing at {address}.")
    write_atomic(target, data)
    return target


def _content(folder: Path) -> dict[str, bytes]:
    """What a run's folder is on object storage."""
    content: dict[str, bytes] = {}
    for place, _, files in os.walk(folder):
        for file in files:
            path = Path(place) / file
            if file != ROWS and not file.startswith("."):
                content[path.relative_to(folder).as_posix()] = read_regular(path)
    with contextlib.suppress(FileNotFoundError):
        for k, line in enumerate(read_regular(folder / ROWS).splitlines(keepends=True)):
            content[f"{_LINES}/{k:06d}.json"] = line
    return content


def _lease_in(data: bytes | None) -> dict[str, Any]:
    try:
        lease = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return lease if isinstance(lease, dict) else {}


def _has_ended(lease: Mapping[str, Any]) -> bool:
    """Whether its time is over, or its owner is known to be dead."""
    until, pid = lease.get("until"), lease.get("pid")
    if not isinstance(until, int | float) or until < time.time():
        return True
    return lease.get("host") == platform.node() and isinstance(pid, int) and not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
