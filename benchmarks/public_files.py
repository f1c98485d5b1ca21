"""Every public result file in a folder or archive: read right, or refused for the right reason.

    python benchmarks/public_files.py FOLDER_OR_TAR

The files are other people's and are not in this repository (`../shared/files/public_files.tar.xz`). Right values are
those that the files print, or that stand beside them; where a file prints none, its scores are worked out from it
without our readers (`public_values.py`). Writes benchmarks/results/public_files.md; ends with 1 if anything is wrong.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import public_values as values
from recollect.errors import UsageError
from recollect.metrics import score
from recollect.runs import Run, load, load_all

RESULTS = Path(__file__).parent / "results" / "public_files.md"
Check = Callable[[list[Run]], bool]
ByFile = Callable[[list[Run], Sequence[Path]], bool]


@dataclass(frozen=True)
class Case:
    """Files of one tool that are read together, what is right, or a piece of the refusal that is."""

    tool: str
    place: str
    right: Check | None = None
    refused: str = ""
    rows: str | None = None
    why: str = ""
    by_file: ByFile | None = None


def has(value: float, id: str, digits: int = 4, run: int = 0) -> Check:
    """Whether a metric of a run is the value, rounded as printed."""
    return lambda runs: round(float(score(runs[run].matrix, id)), digits) == round(value, digits)


def says(text: str, run: int = 0) -> Check:
    return lambda runs: any(text in note for note in runs[run].notes)


def both(*checks: Check) -> Check:
    return lambda runs: all(check(runs) for check in checks)


def holds(count: int) -> Check:
    return lambda runs: len(runs) == count


def prints_its_mean(runs: list[Run]) -> bool:
    """Whether the mean over tasks is the stream accuracy that each log prints (test sets of one size)."""
    pairs = [[float(score(run.matrix, id)) for id in ("acc.average", "acc.pooled")] for run in runs]
    return all(abs(mean - printed) < 1e-4 for mean, printed in pairs)


PROVED = "= acc.incremental_pooled"
CASES = (
    Case("avalanche", "avalanche/IGEM/csvlogs/eval_results.csv", by_file=values.avalanche_table),
    Case("avalanche", "avalanche/IGEM/evaluation.log", by_file=values.avalanche_log),
    Case("avalanche", "avalanche/IGEM/permuted-mnist/agem_1_s0.csv", has(0.0789, "forgetting.chaudhry2018")),
    Case("avalanche", "avalanche/IGEM/mmlu-cl/gem_1_s0.csv", has(0.0416, "forgetting.chaudhry2018")),
    Case("npy", "avalanche/IGEM/permuted-mnist/agem_1_s0.npy", says("may be transposed"), why="said to look turned"),
    Case("npy", "avalanche/IGEM/permuted-mnist/agem_1_s11.npy", says("may be transposed"), why="said to look turned"),
    Case("npy", "avalanche/IGEM/permuted-mnist/agem_1_s0.npy", has(0.0789, "forgetting.chaudhry2018"), rows="tasks"),
    Case(
        "npy",
        "avalanche/IGEM/mmlu-cl/gem_1_s0.npy",
        both(has(0.0416, "forgetting.chaudhry2018"), says("turned")),
        rows="tasks",
        why="with --rows tasks; alone it fits both ways, and rows are said to be taken for time",
    ),
    Case("avalanche", "avalanche/MscThesis/naive_log.txt", both(holds(3), says("holds 10 runs"))),
    Case("avalanche", "avalanche/MscThesis/LwF_log.txt", both(holds(1), says("= forgetting.first"))),
    Case("avalanche", "avalanche/MscThesis/multiview_fusion_naive_log.txt", refused="holds no evaluation"),
    Case(
        "avalanche",
        "avalanche/CoenSchouten01/*.json",
        refused="not a file that Recollect knows",
        why="one number per order of tasks, no scores of tasks",
    ),
    Case("avalanche", "avalanche/ocl_survey/?/logs.txt", prints_its_mean),
    Case("avalanche", "avalanche/ocl_survey/0/logs.json", has(0.2895, "acc.average")),
    Case("avalanche", "avalanche/ocl_survey/1/logs.json", by_file=values.avalanche_lines),
    Case("avalanche", "avalanche/ocl_survey/0/linear_probing/logs.*", has(0.453, "acc.average", 3)),
    Case("avalanche", "avalanche/ocl_survey/1/linear_probing/logs.*", has(0.447, "acc.average", 3)),
    Case("pilot", "pilot/RevisitingCIL/aper_adapter/vtab/*.log", has(0.85976, "acc.incremental_pooled", 5)),
    Case("pilot", "pilot/RevisitingCIL/aper_adapter/vtab/*.log", has(0.8435, "acc.pooled")),
    Case("pilot", "pilot/RevisitingCIL/aper_adapter/omnibenchmark/*.log", both(says(PROVED), says("put together"))),
    Case("pilot", "pilot/RevisitingCIL/aper_adapter/cifar224/*.log", says(PROVED)),
    Case("pilot", "pilot/RevisitingCIL/aper_bn/cifar224/*.log", says(PROVED)),
    Case("pilot", "pilot/RevisitingCIL/aper_finetune/cub/*.log", says(PROVED)),
    Case("pilot", "pilot/RevisitingCIL/simplecil/imagenetr/*.log", says(PROVED)),
    Case("pycil", "pycil/tsiggi/lwf/cifar100/50/10/*.log", both(says(PROVED), says("put together"))),
    Case("pycil", "pycil/tsiggi/finetune/cifar100/0/20/*.log", both(says(PROVED), says("put together"))),
    Case("pycil", "pycil/tsiggi/finetune/cifar100/50/10/*.log", says("put together")),
    Case("pycil", "pycil/tsiggi/replay/cifar100/0/20/*.log", both(says(PROVED), holds(2))),
    Case("pycil", "pycil/tsiggi/finetune/cifar100/0/10/*.log", both(holds(9), says("= forgetting.pycil", 8))),
    Case("pycil", "pycil/InfLoRA/0.log", lambda runs: [run.seed for run in runs] == [0, 1, 2, 3, 4]),
    Case("pycil", "pycil/Fetril/40-1/*.log", both(says(PROVED), says("holds 5 runs"))),
    Case("pycil", "pycil/gianlucagiudice/*.log", both(has(0.1250, "acc.pooled"), says("9 of 11 tasks"))),
    Case("pyclad", "pyclad/firepond/*.json", says("BackwardTransfer -0.0850 = bwt.pyclad_code")),
    Case("mammoth", "mammoth/Zuboy/data/results/class-il/seq-cifar10/er/logs.pyd", has(0.5366, "acc.average")),
    Case("l2metrics", "l2metrics/ll_logs/multi_task", has(99.77, "acc.average", 2)),
    Case("continual-world", "continual_world/logs/cl/*", by_file=values.continual_world),
    Case("continual-world", "continual_world/logs/baseline/*", by_file=values.continual_world),
    Case("continual-world", "continual_world/logs/mtl/*", by_file=values.continual_world),
    Case("lm-eval", "lmeval/pythia/pythia-70m/zero-shot", by_file=values.pythia),
    Case("lm-eval", "lmeval/pythia/pythia-160m/zero-shot", by_file=values.pythia),
    Case("lm-eval", "lmeval/pythia/pythia-410m/zero-shot", by_file=values.pythia),
    Case("hf-trainer", "olora/order1_olora", has(0.7837, "acc.average")),
    Case("hf-trainer", "olora/order1_seqlora", by_file=values.last_stage),
    Case("hf-trainer", "olora/long_olora", has(0.0174, "forgetting.chaudhry2018")),
    Case("hf-trainer", "olora/long_seqlora", has(0.4895, "forgetting.chaudhry2018")),
    Case("inspect", "inspect/log_formats.eval", by_file=values.inspect_header),
    Case("wide-csv", "wide_csv/vla_eval_results.csv", by_file=values.wide_named),
    Case("wide-csv", "wide_csv/ocl/*.csv", by_file=values.wide_plain),
)


def judge(case: Case, root: Path) -> tuple[str, str, int]:
    """Verdict, reason and how many files the case covers."""
    places = sorted(root.glob(case.place))
    files = sum(sum(file.is_file() for file in place.rglob("*")) if place.is_dir() else 1 for place in places)
    if not places:
        return "wrong", "not there", 0
    try:
        runs = _read(places, case)
        by_hand = case.by_file is not None and case.by_file(runs, places)
        is_right = by_hand or (case.right is not None and case.right(runs))
        said = (case.by_file.__doc__ or "").split("\n")[0].rstrip(".") if case.by_file is not None else ""
        found = f"worked out from the file: {said[:1].lower()}{said[1:]}" if said else "as printed or stated"
        return ("right" if is_right else "wrong"), case.why or (found if is_right else "another value"), files
    except UsageError as error:
        fits = bool(case.refused) and case.refused in str(error)
        return ("refused" if fits else "wrong"), case.why or str(error).split(": ", 1)[-1][:160], files


def _read(places: Sequence[Path], case: Case) -> list[Run]:
    alone = [run for place in places[:1] for run in load(place, rows=case.rows)]
    return alone if len(places) == 1 else load_all(list(places), rows=case.rows)


def report(root: Path) -> int:
    covered = {file for case in CASES for place in root.glob(case.place) for file in _files(place)}
    every = {file for file in root.rglob("*") if file.is_file()}
    lines, wrong = [], 0
    for case in CASES:
        verdict, why, files = judge(case, root)
        wrong += verdict == "wrong"
        option = f" --rows {case.rows}" if case.rows else ""
        place = case.place.replace("|", "")
        lines.append(f"| {case.tool} | `{place}`{option} | {files} | {verdict} | {why.replace('|', '/')} |")
    text = [
        "# Public result files",
        "",
        "`python benchmarks/public_files.py ../shared/files/public_files.tar.xz`. Right: the value that the file"
        " prints, or that is stated of it, comes out; or the scores are those that a few lines without our readers find"
        " in it (`benchmarks/public_values.py`). Refused: for the reason given.",
        "",
        f"{len(covered & every)} of {len(every)} files in {len(CASES)} cases; {wrong} wrong.",
        "",
        "| tool | files | how many | verdict | why |",
        "|---|---|---:|---|---|",
        *lines,
        "",
    ]
    left = sorted(str(file.relative_to(root)) for file in every - covered)
    if left:
        text += [f"Not in any case: {', '.join(left[:20])}", ""]
    RESULTS.write_text("\n".join(text))
    print(RESULTS.read_text())
    return int(wrong > 0 or bool(left))


def _files(place: Path) -> list[Path]:
    return [file for file in place.rglob("*") if file.is_file()] if place.is_dir() else [place]


def main() -> int:
    given = Path(sys.argv[1])
    if given.is_dir():
        return report(given)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(given) as archive:
            archive.extractall(folder, filter="data")
        return report(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
