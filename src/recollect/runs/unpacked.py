"""Packed results: a gzip, zip or tar of files is unpacked beside nothing of the user's, and read as what it holds.

What is unpacked stays for as long as the process runs, because single test items are looked up late.
"""

from __future__ import annotations

import atexit
import gzip
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from recollect.errors import UsageError

MOST_BYTES = 4 * 2**30
MOST_FILES = 20_000
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
_ENDS = (".zip", ".gz", *_TARS)
_PIECE = 2**20


def is_packed(path: Path) -> bool:
    """Whether a file is packed, by its name: a zip that belongs to a tool (.npz, .eval, .pt) has another.

    >>> is_packed(Path("evals.zip")), is_packed(Path("results.json.gz")), is_packed(Path("log.eval"))
    (True, True, False)
    """
    return path.name.lower().endswith(_ENDS)


def unpack(path: Path) -> Path:
    """A folder, or a file, with what was packed; UsageError in one paragraph if it cannot be read or is too much."""
    base = path.name[
        : -len(next(end for end in sorted(_ENDS, key=len, reverse=True) if path.name.lower().endswith(end)))
    ]
    root = Path(tempfile.mkdtemp(prefix="recollect-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    try:
        if path.name.lower().endswith(_TARS) or path.suffix.lower() == ".zip":
            members = _of_zip(path) if path.suffix.lower() == ".zip" else _of_tar(path)
            folder = root / (base or "unpacked")
            folder.mkdir()
            _write_all(members, folder)
            return folder
        with gzip.open(path) as packed:
            _copy(packed, root / (base or "unpacked"), MOST_BYTES)
        return root / (base or "unpacked")
    except (
        OSError,
        EOFError,
        zlib.error,
        zipfile.BadZipFile,
        tarfile.TarError,
        RuntimeError,
        NotImplementedError,
    ) as why:
        raise UsageError(f"{path} cannot be unpacked ({str(why)[:120]}). Is the file whole?") from None


def with_packed_files(folder: Path) -> Path | None:
    """A copy of a folder in which files that were packed by gzip are unpacked; None if it holds none."""
    packed = [file for file in sorted(folder.rglob("*.gz"))[:MOST_FILES] if file.is_file() and not file.is_symlink()]
    if not packed:
        return None
    root = Path(tempfile.mkdtemp(prefix="recollect-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    copy = root / (folder.absolute().name or "unpacked")
    shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns("*.gz"))
    for file in packed:
        place = copy / file.relative_to(folder).with_suffix("")
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(unpack(file), place)
    return copy


def _of_zip(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for about in archive.infolist():
            if not about.is_dir():
                with archive.open(about) as file:
                    yield about.filename, file


def _of_tar(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path) as archive:
        for about in archive:
            file = archive.extractfile(about) if about.isreg() else None
            if file is not None:
                yield about.name, file


def _write_all(members: Iterator[tuple[str, IO[bytes]]], folder: Path) -> None:
    left = MOST_BYTES
    for count, (name, file) in enumerate(members, 1):
        parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..", ".")]
        if count > MOST_FILES:
            raise OSError(f"it holds more than {MOST_FILES:,} files")
        if not parts or ":" in parts[0] or "\0" in name:
            continue
        place = folder.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        left -= _copy(file, place, left)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _copy(source: _Readable, place: Path, most: int) -> int:
    written = 0
    with place.open("xb") as file:
        while piece := source.read(_PIECE):
            written += len(piece)
            if written > most:
                raise OSError(f"unpacked it has more than {MOST_BYTES:,} bytes")
            file.write(piece)
    return written
