"""Do the files on disk hold what was published? Hashes of files, counts of samples."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotComputable, RecollectError, UsageError
from recollect.streams.cache import md5
from recollect.streams.data import Dataset
from recollect.streams.locate import find_folder, present
from recollect.streams.published import Published


@dataclass(frozen=True)
class FileCheck:
    """What was found of one data set. `identical` is None where nobody publishes hashes of the files."""

    name: str
    folder: Path | None
    counts: bool
    identical: bool | None
    message: str

    @property
    def good(self) -> bool:
        """The counts are right and no hash is wrong."""
        return self.counts and self.identical is not False


def other_hashes(entry: Published, folder: Path) -> tuple[str, ...]:
    """The files whose bytes are not those published. A .gz may be packed anew: its content counts."""
    different = []
    for file in entry.files:
        path = present(folder, file.name)
        if path is None or not file.md5 or md5(path) in file.md5:
            continue
        if path.suffix == ".gz" and _md5_unpacked(path) in file.md5:
            continue
        different.append(file.name)
    return tuple(different)


def check_counts(entry: Published, data: Dataset, *, partial: bool = False) -> None:
    """Raise unless classes, samples, samples per class and shape are those published.

    With `partial` there may be fewer training samples, as long as every class has some.
    """
    if len(data.classes) != entry.classes or data.input_shape != entry.input_shape:
        raise UsageError(
            f"{entry.name} has {entry.classes} classes of shape {entry.input_shape}; these files have"
            f" {len(data.classes)} of {data.input_shape}. They are of another data set, or damaged."
        )
    _check_part(entry, "training", data.y_train, entry.n_train, partial)
    _check_part(entry, "test", data.y_test, entry.n_test, False)


def _check_part(entry: Published, part: str, y: NDArray[np.int64], expected: int, partial: bool) -> None:
    if len(y) and (y.min() < 0 or y.max() >= entry.classes):
        raise UsageError(
            f"Labels of {entry.name} are 0 to {entry.classes - 1}; a {part} label is"
            f" {int(y.max() if y.max() >= entry.classes else y.min())}."
        )
    counts = np.bincount(y, minlength=entry.classes)
    if len(y) == expected and (not entry.equal_classes or (counts == expected // entry.classes).all()):
        return
    spread = f"{counts.min():,}" if counts.min() == counts.max() else f"{counts.min():,} to {counts.max():,}"
    some = part == "training" and len(y) < expected and counts.min() > 0
    if partial and some:
        return
    may_be_partial = some and entry.name == "tiny-imagenet"
    told = " Or give partial = True to use them as they are." if may_be_partial else ""
    raise UsageError(
        f"The published {entry.name} has {expected:,} {part} samples; found {len(y):,} ({spread} a class)."
        f" Unpack it again.{told}"
    )


def verify(entry: Published, data: Path | str | None = None) -> FileCheck:
    """Find the data set, count its samples, hash its files."""
    from recollect.streams.concepts.named import counted
    from recollect.streams.datasets import READ_BY, load_dataset

    try:
        folder = find_folder(entry, data) if entry.files else None
    except NotComputable as error:
        return FileCheck(entry.name, None, False, None, str(error))
    if entry.name not in READ_BY and folder is not None:
        right, message = counted(entry, folder)
        return FileCheck(entry.name, folder, right, None, message)
    try:
        found = load_dataset(entry.name, data=data)
    except RecollectError as error:
        return FileCheck(entry.name, folder, False, None, str(error))
    counts = f"{len(found.y_train):,} + {len(found.y_test):,} samples, {len(found.classes)} classes"
    if folder is None:
        return FileCheck(entry.name, None, True, None, f"{counts}, inside scikit-learn")
    if not any(file.md5 for file in entry.files):
        return FileCheck(entry.name, folder, True, None, f"{counts}; hashes of the single files are not published")
    different = other_hashes(entry, folder)
    if different:
        return FileCheck(entry.name, folder, True, False, f"same counts, other hash: {', '.join(different)} ({counts})")
    return FileCheck(entry.name, folder, True, True, f"{counts}, byte for byte as published")


def _md5_unpacked(path: Path) -> str | None:
    try:
        with gzip.open(path) as file:
            hashed = hashlib.md5(usedforsecurity=False)
            while block := file.read(1 << 20):
                hashed.update(block)
            return hashed.hexdigest()
    except (OSError, EOFError, zlib.error):
        return None
