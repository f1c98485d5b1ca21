"""What a run was made with: versions, the revision of the user's code, the time."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from datetime import UTC, datetime


def versions(packages: Iterable[str] = ("recollect", "numpy")) -> dict[str, str]:
    """Python's version and those of the packages that are installed.

    >>> sorted(versions(["numpy", "no-such-package"]))
    ['numpy', 'python']
    """
    from importlib import metadata  # slow to import, and needed when a run is created only

    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


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
