"""Fetch a data set: hash checked, progress shown, a broken download continued."""

from __future__ import annotations

import logging
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect.errors import MissingExtra, NotComputable
from recollect.streams.catalogue import Download, Published
from recollect.streams.locate import download_dir, find_folder

Progress = Callable[[str, int, int], None]
_TIMEOUT = 30
_BLOCK = 1 << 18


def get(entry: Published, data: Path | str | None = None, progress: Progress | None = None) -> Path | None:
    """The folder of the data set, downloaded if it is nowhere to be found; None if it needs no files.

    `progress(name, done, total)` is called with bytes as they come.
    """
    if not entry.files:
        return None
    try:
        return find_folder(entry, data)
    except NotComputable:
        pass
    root = download_dir(data)
    for download in entry.downloads:
        _fetch(entry, download, root, progress)
    return find_folder(entry, root)


def _fetch(entry: Published, download: Download, root: Path, progress: Progress | None) -> None:
    try:
        import pooch
        import requests
    except ImportError:
        raise MissingExtra.of("pooch", "data") from None
    folder = root if download.unpack else root / download.folder
    folder.mkdir(parents=True, exist_ok=True)
    pooch.get_logger().setLevel(logging.WARNING)
    problems = []
    for url in download.urls:
        try:
            packed = pooch.retrieve(
                url,
                known_hash=f"md5:{download.md5}",
                fname=download.name,
                path=folder,
                downloader=Continuing(folder / f"{download.name}.part", download.size, progress),
            )
        except ValueError:  # pooch: the hash is another
            problems.append(f"{url} gave a file with another hash")
        except (requests.RequestException, OSError) as error:
            problems.append(f"{url}: {type(error).__name__}")
        else:
            if download.unpack:
                _unpack(Path(packed), root, download)
            return
    raise NotComputable(_instructions(entry, download, root, problems))


class Continuing:
    """A downloader for pooch that goes on with the `.part` file of an earlier try.

    A whole file is handed over and the part is gone: a file with another hash is not continued.
    """

    def __init__(self, part: Path, size: int, progress: Progress | None = None) -> None:
        self.part = part
        self.size = size
        self.progress = progress

    def __call__(self, url: str, output_file: str | os.PathLike[str], pooch: Any) -> None:
        """Fetch what is missing of the part, then hand the whole to pooch, which checks the hash."""
        import requests

        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Range": f"bytes={have}-"} if 0 < have < self.size else {}
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            response.raise_for_status()
            # 206: the server goes on where we were; 200: it starts again, and so do we.
            done = have if response.status_code == 206 else 0
            with self.part.open("ab" if done else "wb") as file:
                for block in response.iter_content(_BLOCK):
                    file.write(block)
                    done += len(block)
                    if self.progress is not None:
                        self.progress(self.part.stem, done, self.size)
        shutil.move(self.part, output_file)


def _unpack(packed: Path, root: Path, download: Download) -> None:
    """Unpack into the data folder and drop the archive; nothing is written outside of it."""
    try:
        if packed.suffix == ".zip":
            with zipfile.ZipFile(packed) as archive:
                archive.extractall(root)
        else:
            with tarfile.open(packed) as tar:
                tar.extractall(root, filter="data")
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise NotComputable(f"Cannot unpack {packed} into {root}: {error}.") from None
    packed.unlink()
    if not (root / download.folder).is_dir():
        raise NotComputable(f"{download.name} should unpack to {root / download.folder}, which is not there.")


def _instructions(entry: Published, download: Download, root: Path, problems: list[str]) -> str:
    """What to put where, for a machine without a network."""
    where = root / download.folder
    names = ", ".join(d.name for d in entry.downloads)
    act = f"unpack it to {where}" if download.unpack else f"put them (as they are) into {where}"
    return (
        f"Could not download {entry.name}: {'; '.join(problems)}. On a machine with a network fetch {names}"
        f" ({sum(d.size for d in entry.downloads) / 1e6:.0f} MB) from {download.urls[0].rsplit('/', 1)[0]}/"
        f" and {act}; or give the folder that has {entry.folders[0]} as --data DIR or RECOLLECT_DATA."
        f" `recollect data verify {entry.name}` then checks it."
    )
