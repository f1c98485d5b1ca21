"""Whose checkpoint is it? States that are programs are read only where this user's own runs have signed them.

The key is a file of the user's own in the folder for programs' states (`XDG_STATE_HOME`, else `~/.local/state`). What
somebody else has written, or changed, has no such signature and is refused.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from recollect.errors import UsageError

_SAYS = b"recollect checkpoint 1\n"
_BYTES = 32


def sign(digest: str) -> str:
    """The signature of a state, by its digest."""
    return hmac.new(_key(), _SAYS + digest.encode(), "sha256").hexdigest()


def is_own(digest: str, signature: object) -> bool:
    """Whether this user has signed the state."""
    return isinstance(signature, str) and hmac.compare_digest(sign(digest).encode(), signature.encode())


def key_file() -> Path:
    """Where the key is."""
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    return base / "recollect" / "key"


def _key() -> bytes:
    place = key_file()
    try:
        if not os.path.lexists(place):
            _make(place)
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(handle, "rb") as file:
            _refuse_shared(place, os.fstat(handle))
            key = file.read()
    except OSError as error:
        raise UsageError(
            f"The key that checkpoints are signed with, {place}, cannot be used: {error.strerror}. Let XDG_STATE_HOME"
            " name a folder of your own, or run without checkpoints (checkpoints: off)."
        ) from None
    if len(key) < _BYTES:
        raise UsageError(f"{place} is no key: it has {len(key)} bytes. Remove it, and a new one is made.")
    return key


def _make(place: Path) -> None:
    """A new key: whole or not there, and of two processes that make one the first wins."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = place.with_name(f".key-{os.getpid()}-{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, place)
    finally:
        os.unlink(draft)


def _refuse_shared(place: Path, facts: os.stat_result) -> None:
    if not hasattr(os, "geteuid"):
        return
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise UsageError(
            f"The key {place} is not yours alone, so a checkpoint that it signed may be anybody's. Remove it, and a new"
            " one is made; runs that are under way start again from their first row."
        )
