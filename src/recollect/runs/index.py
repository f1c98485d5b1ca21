"""The index beside the runs of an experiment: a SQLite file that spares reading thousands of records again.

The records are the truth. An entry counts only while the run's two files have the same inode, size, time of change and
time of status change as when they were read; the last cannot be set by a program. Only where the file system keeps it
by itself is there an index (that is tried out), and a file that was changed within the last two seconds is not entered,
because it might be changed again within the same tick of the clock. Every entry has a checksum. An index that is
damaged is made again, and that is said; whatever else is in the way (no right to write, a lock, a full disk), the
records are read.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from recollect._version import __version__
from recollect.errors import RecollectWarning
from recollect.runs.indexed import Entry, entry_of, indexed, prototype
from recollect.runs.packed import Layout, layout_of
from recollect.runs.reading import HEADER, ROWS, find_runs, read_run, read_with_header
from recollect.runs.run import Run
from recollect.runs.seals import digest

if TYPE_CHECKING:
    import sqlite3

FILE = ".recollect-index.sqlite"
# Fewer runs are read as fast as an index is opened.
LEAST = 500
VERSION = 1
# So many entries are written at a time.
_AT_ONCE = 5000
_APPLICATION = 0x5EC0113C
_TURNED_OFF = ("0", "no", "off", "false")
# In nanoseconds: so old must a change be to be told from a later one, and a time long past.
_SETTLED = 2 * 10**9
_LONG_PAST = 10**18
# In seconds: how long a lock of another process is waited for, and how far a clock may go back unnoticed.
_WAIT = 2.0
_BACK = 2.0
# What SQLite says of the system, not of the file.
_OF_THE_SYSTEM = [
    [name]
    for name in [
        "BUSY",
        "LOCKED",
        "READONLY",
        "IOERR",
        "CANTOPEN",
        "PERM",
        "FULL",
        "AUTH",
        "PROTOCOL",
        "NOMEM",
        "NOLFS",
    ]
]
_TABLES = """
CREATE TABLE told (name TEXT PRIMARY KEY, value);
CREATE TABLE texts (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, text BLOB);
CREATE TABLE runs (name BLOB PRIMARY KEY, stamp BLOB, stream INTEGER, rest INTEGER, layout INTEGER,
                   own BLOB, later BLOB, data BLOB, seal BLOB);
"""


def is_wanted() -> bool:
    """Whether RECOLLECT_INDEX leaves indexes on."""
    return os.environ.get("RECOLLECT_INDEX", "").strip().lower() not in _TURNED_OFF


def read_all(folder: str, *, index: bool = True) -> list[Run]:
    """All runs at or below a folder, in the order of `find_runs`."""
    runs = []
    for parent, places in _by_parent(find_runs(folder)).items():
        has_one = index and len(places) >= LEAST and sys.platform != "win32"
        runs += _Index(parent).read(places) if has_one else [read_run(place) for place in places]
    return runs


def ready(places: Sequence[str]) -> dict[str, tuple[bytes, Run]]:
    """The runs that indexes have, each with its stamp, to be held against `stamp_of`; nothing is written."""
    made: dict[str, tuple[bytes, Run]] = {}
    if not is_wanted() or sys.platform == "win32":
        return made
    for parent, inside in _by_parent(places).items():
        made |= _Index(parent).ready(inside) if len(inside) >= LEAST else {}
    return made


def _by_parent(places: Iterable[str]) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for place in places:
        made.setdefault(os.path.dirname(place), []).append(place)
    return made


def stamp_of(place: str) -> bytes | None:
    """What changes whenever the files of a run do; None if they are not two plain files."""
    made: list[int] = []
    for name in (HEADER, ROWS):
        try:
            status = os.lstat(f"{place}/{name}")
        except OSError:
            return None
        if not S_ISREG(status.st_mode):
            return None
        made += (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return struct.pack("<8q", *made) if max(made) < 2**63 else None


@dataclass
class _Index:
    """The index in one folder, for one reading."""

    folder: str
    _texts: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    _layouts: dict[int, Layout] = field(default_factory=dict)
    _shared: dict[tuple[bytes, bytes], dict[str, Any]] = field(default_factory=dict)

    @property
    def _path(self) -> str:
        return f"{self.folder}/{FILE}"

    def read(self, places: Sequence[str]) -> list[Run]:
        """The runs in these folders, from the index as far as it is up to date; what was not, is then."""
        entered = self._entered()
        runs: list[Run | None] = []
        stale: list[tuple[int, bytes | None]] = []
        for number, place in enumerate(places):
            stamp = stamp_of(place)
            row = entered.pop(_name(place), None)
            run = None if row is None or row[1] != stamp else self._run(place, row)
            if run is None:
                stale.append((number, stamp))
            runs.append(run)
        if stale or entered:
            self._read_stale(places, runs, stale, list(entered))
        return [run for run in runs if run is not None]

    def ready(self, places: Sequence[str]) -> dict[str, tuple[bytes, Run]]:
        """What is entered of these folders, whether it is up to date or not, with its stamp."""
        entered = self._entered()
        known = {place: entered.get(_name(place)) for place in places}
        return {place: (row[1], self._run(place, row)) for place, row in known.items() if row is not None}

    def _read_stale(
        self, places: Sequence[str], runs: list[Run | None], stale: list[tuple[int, bytes | None]], gone: list[bytes]
    ) -> None:
        moment = _time_of_files(self.folder)
        new: list[tuple[bytes, bytes | None, Entry]] = []
        try:
            for number, stamp in stale:
                place = places[number]
                run, header = read_with_header(place)
                entry = None if stamp is None or moment is None else entry_of(run, header)
                runs[number] = run if entry is None else self._of_entry(place, entry)
                if entry is not None and _is_settled(stamp, moment) and stamp_of(place) == stamp:
                    new.append((_name(place), stamp, entry))
                if len(new) >= _AT_ONCE and moment is not None:  # whoever is killed has not read in vain
                    self._write(new, [])
                    new.clear()
        finally:
            if moment is not None and (new or gone):
                self._write(new, gone)

    def _of_entry(self, place: str, entry: Entry) -> Run:
        """A run that was just read, without its rows: they may be more than the memory holds."""
        shared = self._shared_by(entry.stream, entry.rest)
        return indexed(place, shared, layout_of(entry.layout.decode()), entry.own, entry.later, entry.data)

    def _run(self, place: str, row: tuple[Any, ...]) -> Run:
        _, _, stream, rest, layout, own, later, data, _ = row
        shared = self._shared_by(self._texts[stream][1], self._texts[rest][1])
        if layout not in self._layouts:
            self._layouts[layout] = layout_of(self._texts[layout][1].decode())
        return indexed(place, shared, self._layouts[layout], own, later, data)

    def _shared_by(self, stream: bytes, rest: bytes) -> dict[str, Any]:
        if (stream, rest) not in self._shared:
            self._shared[stream, rest] = prototype(stream, rest)
        return self._shared[stream, rest]

    def _entered(self) -> dict[bytes, tuple[Any, ...]]:
        """The entries by the names of their folders; none where there is no index that can be used."""
        if not _is_plain_file(self._path):
            return {}
        try:
            with self._opened() as connection:
                return self._checked(connection)
        except _Damaged as damage:
            self._discard(str(damage))
        except OSError:
            pass
        return {}

    def _checked(self, connection: sqlite3.Connection) -> dict[bytes, tuple[Any, ...]]:
        if not _is_ours(connection):
            return {}
        ((written,),) = connection.execute("SELECT value FROM told WHERE name = 'written'").fetchall() or ((None,),)
        if type(written) is not float:
            raise _Damaged("it does not say when it was written")
        if time.time() < written - _BACK:  # times of change may come again
            return {}
        for id, own_digest, text in connection.execute("SELECT id, digest, text FROM texts"):
            if type(text) is not bytes or digest(text) != own_digest:
                raise _Damaged("a text does not fit its checksum")
            self._texts[id] = (own_digest, text)
        entered = {}
        for row in connection.execute("SELECT name, stamp, stream, rest, layout, own, later, data, seal FROM runs"):
            name, stamp, stream, rest, layout, own, later, data, seal = row
            try:
                texts = [self._texts[id][0] for id in (stream, rest, layout)]
                fits = _seal(name, stamp, texts, own, later, data) == seal
            except (KeyError, TypeError):
                fits = False
            if not fits:
                raise _Damaged("an entry does not fit its checksum")
            entered[name] = row
        return entered

    def _write(self, new: list[tuple[bytes, bytes | None, Entry]], gone: list[bytes]) -> None:
        """Enter runs and take out those that are gone; without success it is as it was."""
        if os.path.lexists(self._path) and not _is_plain_file(self._path):
            return
        with contextlib.suppress(OSError, _Damaged), self._opened(create=True) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN IMMEDIATE")
            if not _is_ours(connection) and not _is_made_ours(connection):
                return
            ids: dict[bytes, int] = {}
            for name, stamp, entry in new:
                texts = [entry.stream, entry.rest, entry.layout]
                places = [_text_id(connection, ids, text) for text in texts]
                own = (entry.own, entry.later, entry.data)
                row = (name, stamp, *places, *own, _seal(name, stamp, [digest(text) for text in texts], *own))
                connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            connection.executemany("DELETE FROM runs WHERE name = ?", [(name,) for name in gone])
            connection.execute("INSERT OR REPLACE INTO told VALUES ('written', ?)", (time.time(),))
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def _opened(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """The file as a database; `_Damaged` if it is none, OSError if it cannot be used now."""
        try:
            import sqlite3
        except ImportError:  # Python was built without it
            raise OSError("no sqlite3") from None
        mode = "rwc" if create else "rw" if os.access(self._path, os.W_OK) else "ro"
        try:
            address = f"file:{_quoted(self._path)}?mode={mode}"
            connection = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)
            try:
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").split("_")[1:2] in _OF_THE_SYSTEM:
                raise OSError(str(error)) from None
            raise _Damaged(str(error)) from None

    def _discard(self, why: str) -> None:
        """Remove a damaged index and say so."""
        said = "and is made again"
        try:
            os.unlink(self._path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._path}-journal")
        except OSError:
            said = "cannot be removed, and is not used"
        warnings.warn(
            f"the index {self._path} is damaged ({why}) {said}: the records were read instead",
            RecollectWarning,
            stacklevel=2,
        )


class _Damaged(Exception):
    """An index does not hold what was written to it."""


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Whether this version of Recollect wrote it; `_Damaged` if none did."""
    application, version, tables = _said(connection)
    if application != _APPLICATION and tables:
        raise _Damaged("it is not one of Recollect's")
    if version != VERSION or not tables:
        return False
    made_by = connection.execute("SELECT value FROM told WHERE name = 'recollect'").fetchall()
    return bool(made_by == [(__version__,)])


def _is_made_ours(connection: sqlite3.Connection) -> bool:
    """Make the tables in a new file, or anew in one of another version; one of a later version stays as it is."""
    if _said(connection)[1] > VERSION:
        return False
    for name in ("told", "texts", "runs"):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in _TABLES.split(";")[:-1]:
        connection.execute(statement)
    connection.execute("INSERT INTO told VALUES ('recollect', ?)", (__version__,))
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    return True


def _said(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Whose file it is, of which version, and how many tables it has."""
    asked = ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    application, version, tables = (connection.execute(question).fetchone()[0] for question in asked)
    return application, version, tables


def _text_id(connection: sqlite3.Connection, ids: dict[bytes, int], text: bytes) -> int:
    if text not in ids:
        own = digest(text)
        connection.execute("INSERT OR IGNORE INTO texts (digest, text) VALUES (?, ?)", (own, text))
        ((ids[text],),) = connection.execute("SELECT id FROM texts WHERE digest = ?", (own,)).fetchall()
    return ids[text]


def _seal(name: bytes, stamp: bytes | None, texts: Sequence[bytes], own: bytes, later: bytes, data: bytes) -> bytes:
    sizes = struct.pack("<3q", len(name), len(own), len(later))
    return digest(sizes, name, stamp or b"", *texts, own, later, data)


def _name(place: str) -> bytes:
    return os.fsencode(os.path.basename(place))


def _is_settled(stamp: bytes | None, moment: int | None) -> bool:
    if stamp is None or moment is None:
        return False
    _, _, header_set, header_changed, _, _, rows_set, rows_changed = struct.unpack("<8q", stamp)
    return bool(max(header_set, header_changed, rows_set, rows_changed) < moment - _SETTLED)


def _time_of_files(folder: str) -> int | None:
    """The time by the file system's clock; None where nothing can be written, or where a program sets that time."""
    place = f"{folder}/.recollect-index.{os.urandom(4).hex()}.tmp"
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            os.utime(place, ns=(_LONG_PAST, _LONG_PAST))
            status = os.lstat(place)
        finally:
            os.unlink(place)
    except OSError:
        return None
    is_kept = status.st_mtime_ns == _LONG_PAST and status.st_ctime_ns > _LONG_PAST + _SETTLED
    return status.st_ctime_ns if is_kept else None


def _is_plain_file(path: str) -> bool:
    try:
        return S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _quoted(path: str) -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(os.fsencode(os.path.abspath(path)))
