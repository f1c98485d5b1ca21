"""Where data are looked for, and what is said when they are not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from recollect.errors import NotComputable, UsageError
from recollect.streams.published import Published


def cache_dir() -> Path:
    """The user's cache folder of Recollect; the environment variable RECOLLECT_CACHE moves it."""
    if own := os.environ.get("RECOLLECT_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "recollect" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "recollect"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recollect"


def data_dirs(data: Path | str | None = None) -> list[Path]:
    """The folders that are searched: the one given, then RECOLLECT_DATA, then the cache.

    RECOLLECT_DATA may name several folders, separated as in PATH.
    """
    if data is not None and not Path(data).is_dir():
        raise UsageError(f"The data folder {data} is not a folder. Give one that exists.")
    given = [] if data is None else [Path(data)]
    environment = [Path(part) for part in os.environ.get("RECOLLECT_DATA", "").split(os.pathsep) if part]
    return [*given, *environment, cache_dir() / "data"]


def download_dir(data: Path | str | None = None) -> Path:
    """Where downloads go: the folder given, or the cache."""
    return Path(data) if data is not None else cache_dir() / "data"


def find_folder(entry: Published, data: Path | str | None = None) -> Path:
    """The first folder that holds all files of the data set.

    A file counts as present under its own name or with `.gz`. Where no folder has all of them the error says
    which are missing from the fullest one, what was searched and where the data set is published.
    """
    candidates = list(_candidates(entry, data))
    missing = {folder: _missing(entry, folder) for folder in candidates}
    for folder in candidates:
        if not missing[folder]:
            return folder
    fullest = min(candidates, key=lambda folder: len(missing[folder]))
    if len(missing[fullest]) < len(entry.files):
        what = f"{fullest} lacks {', '.join(missing[fullest])}"
    else:
        what = f"none of {', '.join(file.name for file in entry.files)} was found"
    searched = ", ".join(str(root) for root in data_dirs(data))
    fetch = f"`recollect data get {entry.name}` downloads it" if entry.downloads else f"put it into {entry.folders[0]}"
    raise NotComputable(
        f"The data set {entry.name} is not here: {what}. Looked for a folder"
        f" {' or '.join(entry.folders)} in {searched}. It is published at {entry.home}; {fetch},"
        " --data DIR or RECOLLECT_DATA says where it is."
    )


def present(folder: Path, name: str) -> Path | None:
    """The file of this name in the folder, plain or gzipped; None if there is neither.

    A name with a * is a pattern: then it is the first file that it fits.
    """
    if "*" in name:
        return min(folder.glob(name), default=None)
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            return path
    return None


def _candidates(entry: Published, data: Path | str | None) -> Iterable[Path]:
    for root in data_dirs(data):
        # The root itself too: somebody may give the data set's own folder.
        for folder in (*entry.folders, "."):
            yield root / folder if folder != "." else root
    yield from map(Path, entry.elsewhere)


def _missing(entry: Published, folder: Path) -> list[str]:
    return [file.name for file in entry.files if present(folder, file.name) is None]
