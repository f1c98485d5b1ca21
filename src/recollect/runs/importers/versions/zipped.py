"""Members of a zip, those too that are compressed with zstd, which Python reads by itself from 3.14 on."""

from __future__ import annotations

import importlib
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.runs.importers.files import MAX_BYTES, cannot_read, in_words

_ZSTD = 93
BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    OverflowError,
)


def member(path: Path, name: str, tool: str) -> bytes | None:
    """The bytes of one member; None if there is none of that name."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.namelist().count(name) > 1:
                raise cannot_read(path, tool, f"it has two members called {in_words(name)}.")
            if name not in archive.namelist():
                return None
            about = archive.getinfo(name)
            if about.file_size > MAX_BYTES:
                raise cannot_read(
                    path, tool, f"its {name} has {about.file_size:,} bytes; up to {MAX_BYTES:,} are read."
                )
            return _zstd(archive, about, path, tool) if about.compress_type == _ZSTD else archive.read(about)
    except BROKEN as error:
        raise cannot_read(path, tool, f"it is not a whole zip file ({error}).") from None


def names_in(path: Path) -> list[str]:
    """The names of the members; none if it is not a zip. Never raises."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except BROKEN:
        return []


def _zstd(archive: zipfile.ZipFile, about: zipfile.ZipInfo, path: Path, tool: str) -> bytes:
    decompress = _decompressor(path)
    with open(path, "rb") as file:
        file.seek(about.header_offset)
        _, name_length, extra_length = struct.unpack("<26sHH", file.read(30))
        file.seek(name_length + extra_length, 1)
        packed = file.read(about.compress_size)
    try:
        data = bytes(decompress(packed))
    except Exception as error:  # each package has errors of its own
        raise cannot_read(path, tool, f"its {about.filename} cannot be unpacked ({error}).") from None
    if len(data) != about.file_size or zlib.crc32(data) != about.CRC:
        raise cannot_read(path, tool, f"its {about.filename} is not what it was when it was written (checksum).")
    return data


def _decompressor(path: Path) -> Any:
    """What unpacks zstd here: Python itself, or a package."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name).decompress
        except ImportError:
            continue
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise UsageError(
            f"{path} is compressed with zstd, which this Python cannot read by itself. Install the package that can:"
            " pip install zstandard (or use Python 3.14)."
        ) from None
    return lambda packed: zstandard.ZstdDecompressor().decompressobj().decompress(packed)
