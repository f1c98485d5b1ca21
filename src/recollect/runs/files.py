"""Writing so that nothing is ever half there: atomic files, synced appends, safe folder names."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from recollect.errors import RecollectError, UsageError

# Names that Windows gives to devices, with any extension.
_DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in "0123456789¹²³")])
_LONGEST = 80
_SHORTEST = 40
_SPECIAL = {stat.S_ISLNK: "a link", stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}


# A drive's letter is no protocol; pathlib makes one slash of two.
ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/{1,3}(?!/)")


@contextlib.contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Turn what the operating system says about a write into one paragraph for the user."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise RecollectError(
            f"Could not write {path}: {reason}. What was recorded before is unharmed. Make room or allow the"
            " write, and run the same command again to go on."
        ) from error


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file by new content: after a crash there is the old file or the new one, never a mixture.

    Every file that Recollect writes is written so. A link, a pipe, a device or a folder in its place is refused: it is
    neither written through nor replaced.
    """
    refuse_address(path)
    refuse_special(path)
    with writing(path):
        temporary = path.parent / f".{path.name[:_SHORTEST]}.{os.urandom(4).hex()}.tmp"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            try:
                write_all(handle, data)
                os.fsync(handle)
            finally:
                os.close(handle)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(path.parent)


def refuse_address(path: Path) -> None:
    """Raise UsageError for an address of object storage, which would become a folder named "s3:" on this machine."""
    if ADDRESS.match(str(path)) and not os.path.exists(path.parts[0]):
        raise UsageError(
            f"{path} is an address on object storage, and only `recollect run -o` writes there. Give a path on this"
            " machine."
        )


def refuse_special(path: Path) -> None:
    """Raise UsageError if something is at this path that is not a plain file."""
    with writing(path):
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            return
    if not stat.S_ISREG(mode):
        kind = next((name for is_one, name in _SPECIAL.items() if is_one(mode)), "a device")
        raise UsageError(f"{path} is {kind}, and a plain file is to be written there. Give another path, or remove it.")


def append_synced(handle: int, data: bytes) -> None:
    """Append to an open file and wait until it is on disk; on any failure the file is as it was."""
    before = os.fstat(handle).st_size
    try:
        write_all(handle, data)
        os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, before)
        raise


def write_all(handle: int, data: bytes) -> None:
    """Write every byte; the system may take fewer than it is given."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can say so."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system syncs folders
            raise
    finally:
        os.close(handle)


def folder_name(*parts: object) -> str:
    """One folder name made of `parts` that no operating system objects to and that leads nowhere else.

    A name that had to be changed, or has capitals where a file system may ignore them, ends in a short hash
    of what it was, so that two names stay two folders.

    >>> folder_name("er", "digits", "seed0")
    'er-digits-seed0'
    >>> folder_name("../../x")
    'x-9cdf6a50'
    """
    wanted = "-".join(str(part) for part in parts)
    text = unicodedata.normalize("NFC", wanted)
    text = re.sub(r"[^\w.+=-]+", "_", text).strip("._- ")
    while len(text.encode()) > _LONGEST:
        text = text[:-1].rstrip("._- ")
    if text.split(".")[0].lower() in _DEVICES:
        text = f"_{text}"
    if text and text == wanted and text == text.lower():
        return text
    return f"{text or '_'}-{hashlib.sha256(wanted.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def make_folder(folder: Path) -> None:
    """Make a folder and its parents; a file in the way is the user's mistake."""
    refuse_address(folder)
    try:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    except RecollectError as error:
        if isinstance(error.__cause__, FileExistsError | NotADirectoryError):
            raise UsageError(f"{folder} must be a folder, and a file is in its way. Choose another place.") from None
        raise
