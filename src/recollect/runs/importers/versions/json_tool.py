"""Tools that write one JSON file per evaluation: what their readers share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from recollect.runs.arrange import Choices
from recollect.runs.importers.files import cannot_read, decode, find_files, guess_json, head, is_folder, read_bytes
from recollect.runs.importers.versions.assemble import runs_of
from recollect.runs.importers.versions.evaluation import Evaluation
from recollect.runs.run import Run

# So many files of a folder are looked at to see whose they are.
_LOOKED_AT = 200


@dataclass(frozen=True)
class JsonTool:
    """A reader of JSON files: `word` stands in the first part of each, `is_its` tells whether one is of this tool."""

    name: str
    word: bytes
    is_its: Callable[[Any], bool]
    evaluation: Callable[[Path, Any], Evaluation]
    suffixes: tuple[str, ...] = (".json",)

    def sniff(self, path: Path) -> bool:
        """A file of this tool, or a folder with one."""
        if is_folder(path):
            return any(self.sniff(file) for file in islice(self._files(path), _LOOKED_AT))
        return path.suffix.lower() in self.suffixes and self.word in head(path, 2**16) and self.is_its(guess_json(path))

    def read(self, path: Path) -> list[Run]:
        """The runs of a file or folder, as names and dates lay them out."""
        return runs_of(self.evaluations(path), path, self.name, Choices())

    def evaluations(self, path: Path) -> list[Evaluation]:
        """Every evaluation at or below a path; files of other tools are passed over."""
        if not is_folder(path):
            data = self._load(path)
            if not self.is_its(data):
                raise cannot_read(path, self.name, "it does not hold what this tool writes.")
            return [self.evaluation(path, data)]
        found = []
        for file in self._files(path):
            data = self._load(file, passing=True)
            if self.is_its(data):
                found.append(self.evaluation(file, data))
        return found

    def _files(self, folder: Path) -> Iterator[Path]:
        return find_files(folder, lambda name: name.lower().endswith(self.suffixes))

    def _load(self, path: Path, passing: bool = False) -> Any:
        data = read_bytes(path, self.name)
        if passing and self.word not in data[: 2**16]:
            return None
        text = decode(data)
        if text is None:
            raise cannot_read(path, self.name, "it is not text (UTF-8). Is it a binary file, or another tool's?")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
            raise cannot_read(path, self.name, f"it is not JSON: {why}. Is the file whole?") from None
