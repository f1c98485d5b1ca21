"""Opening other tools' files: with limits, and with one clear paragraph when it does not work."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from recollect.errors import UsageError

MAX_BYTES = 512 * 2**20
MAX_FILES = 20_000
MAX_FOLDERS_DEEP = 8
# How much of a file a `sniff` looks at.
HEAD = 2**18
# A JSON file larger than this is not guessed at; `read` with the tool named takes it.
MAX_GUESSED = 2**25


def cannot_read(path: Path, tool: str, why: str) -> UsageError:
    """An error that names the file and what it was taken for, in one paragraph.

    >>> print(cannot_read(Path("a.txt"), "gem", "it is empty."))
    Cannot read a.txt as gem: it is empty.
    """
    return UsageError(f"Cannot read {in_words(str(path), 200)} as {tool}: {in_words(why, 700)}")


def in_words(value: object, length: int = 60) -> str:
    r"""A value of a file, short and on one line, however hostile it is.

    >>> in_words("a\nb"), in_words([1, 2]), in_words(10**5000)
    ('a b', 'a list', 'a whole number')
    """
    if isinstance(value, bool | float | None):
        return str(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**18 else "a whole number"
    if not isinstance(value, str):
        return f"a {type(value).__name__}"
    text = "".join(c if c.isprintable() else " " for c in " ".join(value[: 4 * length].split()))
    return text if len(text) <= length else text[: length - 3] + "..."


def read_bytes(path: Path, tool: str, limit: int = MAX_BYTES) -> bytes:
    """The whole file, if it is a file and not too large."""
    try:
        if not path.exists():
            raise cannot_read(path, tool, "there is no such file.")
        if not path.is_file():
            raise cannot_read(path, tool, "it is not a file.")
        size = path.stat().st_size
        if size > limit:
            raise cannot_read(
                path,
                tool,
                f"it has {size:,} bytes; files of scores are read up to {limit:,}."
                " Save the score matrix alone, as .npy or .csv.",
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise cannot_read(path, tool, f"{reason}.") from None


def decode(data: bytes) -> str | None:
    r"""Text in UTF-8, or in UTF-16 as PowerShell redirects it; None if it is neither.

    >>> decode("0,é".encode("utf-16")), decode(b"\xff\x00\xfe"), decode(b"a\x00b")
    ('0,é', None, None)
    """
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeError:
        return None
    return None if "\0" in text else text


def read_text(path: Path, tool: str) -> str:
    """The file's text; its line ends become newlines."""
    text = decode(read_bytes(path, tool))
    if text is None:
        raise cannot_read(path, tool, "it is not text (UTF-8). Is it a binary file, or another tool's?")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def fields_of(path: Path, tool: str, lines: Iterable[str], separator: str = ",") -> list[list[str]]:
    """The fields of each line of a table that is not empty."""
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error as error:
        raise cannot_read(path, tool, f"{error}.") from None


def load_json(path: Path, tool: str) -> Any:
    """The file's JSON; NaN and Infinity are taken as Python writes them."""
    text = read_text(path, tool)
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise cannot_read(path, tool, f"it is not JSON: {why}. Is the file whole?") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, or ValueError if a key comes twice: which of the two is meant cannot be told."""
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key '{in_words(twice)}' comes twice in one object")
    return made


def is_folder(path: Path) -> bool:
    """Whether this is a folder; no for a path that cannot be. Never raises."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def head(path: Path, size: int = HEAD) -> bytes:
    """The first bytes of a file; none if it cannot be read. Never raises."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(size)
    except (OSError, ValueError):
        return b""


def head_lines(path: Path, size: int = HEAD) -> list[str]:
    """The first whole lines of a text file; none if it is not text. Never raises."""
    data = head(path, size)
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff") and len(data) == size:
        data = data[: data.rfind(b"\n") + 1]
    text = decode(data)
    return [] if text is None else text.splitlines()


def mentions(path: Path, *words: bytes, size: int = 2**22) -> bool:
    """Whether all the words are in the first megabytes of a file, in either text encoding. Never raises."""
    data = head(path, size)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.replace(b"\0", b"")
    return all(word in data for word in words)


def guess_json(path: Path) -> Any:
    """The file's JSON, or None if it has none or is too large to look at. Never raises."""
    data = head(path, MAX_GUESSED + 1)
    if len(data) > MAX_GUESSED or data.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")[:1] not in (b"{", b"["):
        return None
    text = decode(data)
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def find_files(folder: Path, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """The files below a folder whose name is wanted, in order; bounded, and links are not followed."""
    looked = 0
    waiting = [(folder, 0)]
    while waiting:
        here, deep = waiting.pop()
        try:
            with os.scandir(here) as found:
                entries = sorted(found, key=lambda entry: natural(entry.name))
        except (OSError, ValueError):
            continue
        folders = []
        for entry in entries:
            looked += 1
            if looked > MAX_FILES:
                return
            if entry.is_dir(follow_symlinks=False):
                folders.append((Path(entry.path), deep + 1))
            elif entry.is_file() and wanted(entry.name):
                yield Path(entry.path)
        if deep < MAX_FOLDERS_DEEP:
            waiting.extend(reversed(folders))


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that counts: run2 before run10.

    >>> sorted(["run10", "run2"], key=natural)
    ['run2', 'run10']
    """
    pieces = re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    return tuple((0, int(p), "") if p[0] in "0123456789" else (1, 0, p) for p in pieces)
