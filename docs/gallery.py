"""Draw the gallery: every kind of figure from committed records, each with the command that draws it.

    python docs/gallery.py           draw the figures and write docs/gallery.md
    python docs/gallery.py --check   exit 1 if a record, or the code that draws, is not what the figures were made with

The check draws nothing: it compares checksums.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PLACE = DOCS / "gallery"
MADE = PLACE / "made.json"
CODE = ROOT / "src" / "recollect" / "report" / "figures"


@dataclass(frozen=True)
class Shown:
    """A figure: its file, what it shows in a sentence, and the words of its command."""

    name: str
    says: str
    command: str

    @property
    def words(self) -> list[str]:
        return [*shlex.split(self.command), "-o", f"docs/gallery/{self.name}.png"]

    @property
    def records(self) -> Path:
        return ROOT / shlex.split(self.command)[2]


_OURS = "--rename er='ER (M = 2000)' --rename gdumb=GDumb --learner finetune --learner er --learner gdumb"
SHOWN = (
    Shown(
        "aa-raa",
        "Average accuracy, which falls as classes are added, beside its rescaled form (RAA), which takes that out.",
        f"figure aa-raa results/cifar100 --width two {_OURS}",
    ),
    Shown(
        "af-raf",
        "Average forgetting beside its rescaled form, in one column; GDumb was evaluated five times.",
        f"figure af-raf results/cifar100 --width one --style sans {_OURS}",
    ),
    Shown(
        "split",
        "What the forgetting consists of, over time.",
        f"figure split results/cifar100 --width two {_OURS}",
    ),
    Shown(
        "matrix",
        "Score matrices: rows are time, columns the task evaluated.",
        "figure matrix results/digits-probe --width two",
    ),
    Shown(
        "compare",
        "Paired differences in average forgetting; a mark is filled where the interval, for all pairs at once, excludes"
        " zero.",
        "figure compare results/digits-probe --width one -m AF",
    ),
    Shown(
        "confusion",
        "Which class is answered for which at the end, on split digits (docs/gallery/confusion, two seeds).",
        "figure confusion docs/gallery/confusion --width one",
    ),
    Shown(
        "difficulty",
        "How hard the stream becomes: what a random classifier scores and forgets, and the factors for that.",
        "figure difficulty results/cifar100 --width one",
    ),
)


def main() -> None:
    if sys.argv[1:] == ["--check"]:
        sys.exit(check())
    from typer.testing import CliRunner

    from recollect.cli import build

    for one in SHOWN:
        made = CliRunner().invoke(build(), one.words, prog_name="recollect")
        if made.exit_code:
            sys.exit(f"recollect {shlex.join(one.words)}\n{made.output}")
    (DOCS / "gallery.md").write_text(page())
    MADE.write_text(json.dumps(sums(), indent=1) + "\n")


def check() -> int:
    """0 if the page, the figures, the records and the code are those of the last drawing."""
    if (DOCS / "gallery.md").read_text() != page() or json.loads(MADE.read_text()) != sums():
        print("docs/gallery.md is not up to date: run python docs/gallery.py, and look at the figures")
        return 1
    return 0


def page() -> str:
    """The gallery as Markdown."""
    text = (
        "<!-- Made by docs/gallery.py; edit it, not this page. -->\n\n# Gallery\n\n"
        "Figures for papers, 3.25 (`--width one`) or 6.75 inches wide, drawn from the records in the repository.\n"
        "Write `.pdf` instead of `.png` for a paper; `--rename`, `--learner` (the order, too) and `--style serif|sans`"
        " are\non [the command's page](commands.md#recollect-figure).\n"
    )
    for one in SHOWN:
        command = f"$ recollect {one.command} -o {one.name}.png"
        image = f"![{one.name}](gallery/{one.name}.png)"
        text += f"\n## {one.name}\n\n{one.says}\n\n```console\n{command}\n```\n\n{image}\n"
    return text


def sums() -> dict[str, str]:
    """Checksums of what the figures are made of, and of the figures."""
    folders = {"code": sorted(CODE.glob("*.py"))}
    folders |= {one.command.split()[2]: sorted(one.records.rglob("rows.jsonl")) for one in SHOWN}
    folders["figures"] = [PLACE / f"{one.name}.png" for one in SHOWN]
    return {name: _sum(files) for name, files in folders.items()}


def _sum(files: list[Path]) -> str:
    made = hashlib.sha256()
    for file in files:
        made.update(file.read_bytes() if file.is_file() else b"missing")
    return made.hexdigest()[:16]


if __name__ == "__main__":
    main()
