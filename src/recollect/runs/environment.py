"""What a run was made with: versions, the revision of the user's code, the time."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache


def versions(packages: Iterable[str] = ("recollect", "numpy")) -> dict[str, str]:
    """Python's version and those of the packages that are installed.

    >>> sorted(versions(["numpy", "no-such-package"]))
    ['numpy', 'python']
    """
    found = {package: version for package in packages if (version := _version(package)) is not None}
    return {"python": platform.python_version(), **found}


@cache  # an experiment asks for every run, and each answer is read from a file
def _version(package: str) -> str | None:
    from importlib import metadata  # slow to import, and needed when a run is created only

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def revision() -> str | None:
    """The git revision of the working folder, with `-dirty` if files were changed; None outside git."""
    import subprocess

    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def now() -> str:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
