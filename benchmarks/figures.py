"""Every kind of figure at both widths of a paper, for few and many learners and tasks: what does not fit, measured.

    OMP_NUM_THREADS=1 python benchmarks/figures.py --out FOLDER

The records are made up (`tests/report/samples.py`). Each figure is drawn and asked where its text, markers and bands
are (`tests/report/fits.py`); the pictures stay in FOLDER, to be looked at.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.report.fits import faults  # noqa: E402
from tests.report.samples import make_run  # noqa: E402

from recollect.errors import NotComputable  # noqa: E402
from recollect.report.figures import FIGURES, make_figure, save_figure  # noqa: E402
from recollect.report.gather import gather  # noqa: E402
from recollect.report.results import StreamResult  # noqa: E402
from recollect.runs import group  # noqa: E402

NAMES = (
    "finetune",
    "er",
    "ER (ours)",
    "A-GEM",
    "DER++",
    "LwF",
    "EWC",
    "iCaRL",
    "GDumb, balanced",
    "MIR",
    "SCR",
    "RanPAC",
)


def stream_of(learners: int, tasks: int, seeds: int = 2) -> StreamResult:
    runs = [
        make_run(name, seed, tasks, keep=0.5 + 0.04 * place, harder=0.7 - 0.05 * place)
        for place, name in enumerate(NAMES[:learners])
        for seed in range(seeds)
    ]
    return gather(group(runs)).streams[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--learners", type=int, nargs="+", default=[2, 5, 12])
    parser.add_argument("--tasks", type=int, nargs="+", default=[5, 100])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for tasks, learners in product(given.tasks, given.learners):
        stream = stream_of(learners, tasks)
        for name, width, style in product(FIGURES, ("one", "two"), ("serif", "sans")):
            what = f"{name}-{width}-{style}-{learners}-learners-{tasks}-tasks"
            try:
                figure = make_figure(name, stream, width=width, style=style)
            except NotComputable as error:
                print(f"{what}: {error}")
                continue
            found = faults(figure)
            wrong += len(found)
            print(f"{what}: {'; '.join(found[:4]) or 'fits'}", flush=True)
            save_figure(figure, given.out / f"{what}.png", style)
    print(f"{wrong} faults")


if __name__ == "__main__":
    main()
