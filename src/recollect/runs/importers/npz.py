"""`.npz` files: the score matrix `R` and its companions. Pickled objects are never loaded."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from recollect.runs.importers.files import cannot_read, head, in_words, read_bytes
from recollect.runs.importers.matrices import Parts, pick, runs_of, to_array
from recollect.runs.importers.npy import parse
from recollect.runs.importers.versions.zipped import BROKEN, names_in
from recollect.runs.run import Run

NAME = "npz"
SUMMARY = "numpy: .npz with R and, optionally, b, joint, n_classes, n_samples, learned_at, steps, names, seeds"

MAX_MEMBERS = 1_000
MAX_UNPACKED = 2**27


def sniff(path: Path) -> bool:
    """A zip archive whose members are `.npy` files."""
    names = names_in(path) if head(path, 4) == b"PK\x03\x04" else []
    return bool(names) and all(name.endswith(".npy") for name in names)


def read(path: Path, *, rows: str | None = None) -> list[Run]:
    """A run for each matrix of R (`rows`: time or tasks). A lone array is R whatever its name."""
    arrays = arrays_of(path)
    if len(arrays) == 1:
        arrays = {"R": next(iter(arrays.values()))}
    found = pick(path, NAME, arrays)
    R = to_array(path, NAME, "R", found.pop("R"))
    return runs_of(path, NAME, Parts(R, found), rows=rows)


def arrays_of(path: Path) -> dict[str, Any]:
    """The arrays of the archive by their names, each checked before it is unpacked."""
    data = read_bytes(path, NAME)
    arrays: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            # Deflate packs a thousandfold: what a member declares is checked before it is unpacked.
            if len(members) > MAX_MEMBERS or size > MAX_UNPACKED:
                raise cannot_read(
                    path,
                    NAME,
                    f"it unpacks to {len(members):,} arrays of {size:,} bytes; up to {MAX_MEMBERS:,} of"
                    f" {MAX_UNPACKED:,} are read. Save the score matrix alone.",
                )
            names = [member.filename.removesuffix(".npy") for member in members]
            if len(set(names)) != len(names):
                raise cannot_read(path, NAME, "two of its arrays have one name. Save each once.")
            for member in members:
                with archive.open(member) as file:
                    content = file.read(member.file_size + 1)
                arrays[in_words(member.filename.removesuffix(".npy"), 100)] = parse(path, NAME, content)
    except BROKEN as error:
        raise cannot_read(path, NAME, f"the archive is broken: {in_words(str(error))}. Is the file whole?") from None
    if not arrays:
        raise cannot_read(path, NAME, "the archive is empty.")
    return arrays
