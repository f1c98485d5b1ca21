"""Seals: a checksum beside what was written, so that what was changed on disk is found when it is read.

A row's seal covers its line and the seal before it, so a line that is changed, gone, moved or put in between does not
fit. The header of a run that is complete names the number of its rows and their last seal. A seal says that the bytes
are those that were written, not who wrote them.
"""

from __future__ import annotations

import hashlib
import re

_BEFORE_SEAL = b',"seal":"'
_LINE_LENGTH = len(_BEFORE_SEAL) + 32 + 2
_HEADER = re.compile(rb',\n "seal": "([0-9a-f]{32})"\n\}\n')
_HEADER_LENGTH = len(b',\n "seal": ""\n}\n') + 32
_CHECKPOINT = b"recollect checkpoint "
# A checkpoint of schema 1 had no seal and begins as every pickle does; no flipped bit makes a sealed one begin so.
_UNSEALED = b"\x80"


def digest(*parts: bytes) -> bytes:
    """The checksum of all seals."""
    return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest().encode()


def seal_line(line: bytes, before: str) -> tuple[bytes, str]:
    """A row's JSON object with its seal as the last field, and the seal.

    >>> sealed, seal = seal_line(b'{"after":0}', before="")
    >>> check_line(sealed, before="") == seal
    True
    """
    seal = digest(before.encode(), line)
    return line[:-1] + b',"seal":"' + seal + b'"}', seal.decode()


def check_line(line: bytes, before: str, required: bool = True) -> str:
    """The seal of a line, "" if it has none and need not have one; ValueError if it does not fit."""
    content, seal = line[:-_LINE_LENGTH], line[-34:-2]
    if line[-_LINE_LENGTH:] != _BEFORE_SEAL + seal + b'"}':
        if required:
            raise ValueError("it has no seal")
        return ""
    if digest(before.encode(), content, b"}") != seal:
        raise ValueError("its seal does not fit: it was changed, or a line before it is gone")
    return seal.decode()


def seal_header(text: bytes) -> bytes:
    """The header, an indented JSON object and a line end, with its seal as the last field."""
    seal = digest(text)
    return text.removesuffix(b"\n}\n") + b',\n "seal": "' + seal + b'"\n}\n'


def check_header(data: bytes) -> None:
    """ValueError if the header has no seal that fits."""
    found = _HEADER.fullmatch(data[-_HEADER_LENGTH:])
    if found is None or digest(data[:-_HEADER_LENGTH] + b"\n}\n") != found[1]:
        raise ValueError("its seal does not fit: the file was changed or is not whole")


def seal_checkpoint(data: bytes) -> bytes:
    """A checkpoint behind its seal.

    >>> open_checkpoint(seal_checkpoint(b"state"))
    b'state'
    """
    return _CHECKPOINT + digest(data) + b"\n" + data


def open_checkpoint(data: bytes) -> bytes:
    """What is behind the seal; ValueError if it does not fit."""
    if data.startswith(_UNSEALED):
        return data
    start = len(_CHECKPOINT) + 33
    if data[:start] != _CHECKPOINT + digest(data[start:]) + b"\n":
        raise ValueError("its seal does not fit")
    return data[start:]
