"""Writes README.md from the runs beside it, one table per experiment, and the tables of them in docs/michel2023.md.

Means with 95 % intervals over seeds.

python results/make_tables.py            # with --check: exit 1 if a page is not what the runs give
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import cglb
import numpy as np
import public

from recollect.metrics import evaluate, registry
from recollect.runs import Group, attach_joint, group, load
from recollect.runs.reduced import at_rows
from recollect.runs.run import Run
from recollect.stats import estimate

HERE = Path(__file__).parent
CLASSES = {
    "AA": "acc.average",
    "AF": "forgetting.chaudhry2018",
    "within": "split.within",
    "older": "split.older",
    "newer": "split.newer",
}
PROBES = {"AF of probes": "probe.forgetting", "mean of probes": "probe.average"}
CONCEPTS = {
    "CA": "acc.continual_average",
    "BWT": "bwt.diazrodriguez2018",
    "FWT": "fwt.diazrodriguez2018",
    "AF": "forgetting.chaudhry2018",
    "average at the end": "acc.average",
}
GRAPHS = {
    "AP": "acc.average",
    "AF, BeGin's page": "forgetting.begin_docs",
    "AF, BeGin's code": "forgetting.first",
    "AF, CGLB": "bwt.lopezpaz2017",
    "INT": "intransigence.begin",
    "FWT, BeGin's page": "fwt.begin_docs",
    "FWT, BeGin's code": "fwt.lopezpaz2017",
    "within": "split.within",
    "older": "split.older",
    "newer": "split.newer",
}
LINKS = {name: GRAPHS[name] for name in list(GRAPHS)[:7]}
HEAD = """# Finished experiments

Run records (one folder per run) of the experiments in `examples/`, and what they say. Nothing here is typed: this page
is written by `python results/make_tables.py`, pages are made by `recollect report results/...`. Means over seeds with
95 % t intervals; n is the number of seeds, rows that of the evaluations. RAA and RAF are curves: after the last task
they are AA and AF by construction."""
_SPLIT = ("AF", "within", "older", "newer")
TABLES_IN_DOCS = (
    ("split", "cifar100", _SPLIT),
    ("split", "cifar100-convolutions", ("AA", *_SPLIT)),
    ("split", "tiny-imagenet", _SPLIT),
    ("ablation", "cifar100-ablation", ("AA", *_SPLIT)),
)
RUN = "`recollect run examples/{}.yaml --data DIR -o results`"
ABOUT = {
    "cifar100": f"{RUN.format('cifar100')}: split CIFAR-100, 10 tasks of 10 classes, one pass, batch 10, M = 2000,"
    " reduced ResNet-18, SGD 0.1; ER draws 10 samples from memory a step, er-64 draws 64; GDumb with 32 epochs before"
    " each of 5 evaluations. Forgetting over 5 rows is that of the 4 earlier tasks that have a row of their own, so er"
    " and finetune stand there a second time, over the same rows.",
    "cifar100-convolutions": f"{RUN.format('cifar100-convolutions')}: the same stream with a network of three"
    " convolutions; GDumb with 32 epochs before each evaluation; every learner evaluated after every task. The"
    " reproduction of Michel et al. 2023.",
    "cifar100-ablation": f"{RUN.format('cifar100-ablation')}: what ER's result depends on, one factor at a time against"
    " `er` (SGD 0.1, one step per batch, 10 samples from memory per step, no augmentation), with a network of three"
    " convolutions; one seed.",
    "cifar100-survey": f"{RUN.format('cifar100-survey')}: ER in the setting in which Soutif et al. 2023 publish it, 20"
    " tasks of 5 classes; their figure stands beside it in docs/learners/er.md.",
    "tiny-imagenet": f"{RUN.format('tiny-imagenet')}: split Tiny ImageNet, 100 tasks of 2 classes, all 100,000 training"
    " images at 32 x 32, M = 2000, a network of three convolutions; Finetune and ER evaluated after every task, GDumb"
    " (16 epochs) after 25. Under way: the runs that are finished.",
    "tiny-imagenet-partial": "The same at 25 evaluations, GDumb at 12, with the first 100 of 500 training images of"
    " each class.",
    "digits-probe": "`recollect run examples/digits-probe.yaml -o results`: split digits, 5 tasks of 2 classes, one"
    " pass, an MLP; after every task a linear probe of each task's features, refitted to its training samples.",
    "nsl-kdd-aware": f"{RUN.format('nsl-kdd/aware')}: NSL-KDD in five clustered concepts, 1,000 training and test rows"
    " each, ROC-AUC; the seed orders the concepts.",
    "nsl-kdd-incremental": f"{RUN.format('nsl-kdd/incremental')}: the same, boundaries only.",
    "graphs-cora": f"{RUN.format('graphs/cora')}: Cora, 3 tasks of 2 classes, the last class dropped, public split; two"
    " GCN layers with 64 hidden, Adam .01, weight decay 5e-4, 100 epochs for each task, a new optimiser for each.",
    "graphs-citeseer": f"{RUN.format('graphs/citeseer')}: CiteSeer, the same; 6 classes, none dropped.",
    "graphs-amazon-computers": f"{RUN.format('graphs/amazon-computers')}: Amazon Computers, 5 tasks of 2 classes, 60 %"
    " of each class for training and 20 % for testing; two GCN layers with 16 hidden, Adam .01, weight decay 5e-4, 30"
    " epochs for each task: what an hour of one core allows, and too few for the joint learner, which begins anew at"
    " each step and ends below er_gnn where classes come. lwf, mas, gem and twp have three to five seeds, as n says.",
    "graphs-coauthor-cs": f"{RUN.format('graphs/coauthor-cs')}: Coauthor CS, 7 tasks of 2 classes, the last class"
    " dropped; the same split, network and epochs.",
    "graphs-coauthor": f"{RUN.format('graphs/coauthor')}: which authors of Coauthor CS write together, in 5 groups of"
    " fields by that of the first author, the whole graph of training links; hits@50; two GCN layers with 32 hidden, 30"
    " epochs for each task.",
    "graphs-enzymes": f"{RUN.format('graphs/enzymes')}: 600 graphs of enzymes, 3 tasks of 2 classes, 60 % of each class"
    " for training and 20 % for testing; two GIN layers with 64 hidden and the mean over nodes, Adam .01, 50 epochs for"
    " each task.",
    "graphs-bitcoin-ratings": f"{RUN.format('graphs/bitcoin-ratings')}: the same ratings as numbers from -10 to 10,"
    " mean absolute error.",
    "graphs-tox21": f"{RUN.format('graphs/tox21')}: 12 properties of molecules, one for each task, ROC-AUC; 60 % of the"
    " molecules for training and 20 % for testing; two GIN layers with 32 hidden and the mean over atoms, Adam .01, two"
    " passes over each task in batches of 250.",
    "graphs-bitcoin-otc": f"{RUN.format('graphs/bitcoin-otc')}: signed ratings in 7 periods, in a graph that grows,"
    " ROC-AUC.",
    "skab": f"{RUN.format('skab')}: three kinds of experiments with a water circuit, each visited twice, windows of 16"
    " rows, 1,000 for training and 1,500 for testing each, ROC-AUC; autoencoders over time. Page: pages/skab.html.",
    "streaming": f"{RUN.format('streaming')}: NSL-KDD as a stream of 10,000 samples, five clusters visited twice, one"
    " sample in twenty an anomaly, batches of 100, each scored before it is learned. Page: pages/streaming.html.",
    "olora": "`python results/public.py FOLDER`: what the authors of O-LoRA published of their runs, converted;"
    " docs/public-results.md.",
    "pythia": "`python results/public.py FOLDER`: zero-shot evaluations of Pythia's checkpoints as published,"
    " converted; docs/public-results.md.",
    "nsl-kdd-agnostic": f"{RUN.format('nsl-kdd/agnostic')}: the same in batches of 250; neither concepts nor boundaries"
    " are told.",
}


def cell(members: Group, metric: str) -> str:
    """Mean and interval over seeds; one seed has none."""
    outcome = evaluate(members.matrix, registry.get(metric))
    made = estimate(outcome.value, bounds=outcome.bounds)
    if math.isnan(float(made.value)):  # an input is not there: future tasks, or the scores among fewer classes
        return "not defined"
    value, low, high = (f"{round(float(part), 3) + 0.0:.3f}" for part in (made.value, made.low, made.high))
    return value if math.isnan(float(made.low)) else f"{value} [{low}, {high}]"


def table(folder: Path, columns: dict[str, str] | None = None) -> str:
    """One line per learner."""
    runs = [run for run in attach_joint(load(folder)) if run.status == "finished"]
    streams = list(dict.fromkeys(run.stream for run in runs))
    if len(streams) > 1:
        parts = [f"{stream}:\n\n{lines_of([r for r in runs if r.stream == stream], columns)}" for stream in streams]
        return "\n\n".join(parts)
    return lines_of(runs, columns)


def lines_of(runs: list[Run], columns: dict[str, str] | None) -> str:
    """The table of runs on one stream."""
    if columns is None:
        columns = CONCEPTS if runs[0].scenario and runs[0].scenario.startswith("concept") else CLASSES
    if runs[0].experiment and runs[0].experiment.startswith("graphs"):
        columns = GRAPHS if runs[0].problem == "classification" else LINKS
    if any(run.matrix.probe is not None for run in runs):
        columns = {**columns, **PROBES}
    lines = [f"| learner | n | rows | {' | '.join(columns)} |", "|---|---|---|" + "---|" * len(columns)]
    groups = group(runs)
    fewest = min((rows_of(members) for members in groups), key=len)
    for members in groups:
        lines.append(line(members.learner, members, columns))
        if fewest < rows_of(members):  # beside learners that were evaluated less often: the same rows
            lines.append(line(f"{members.learner}, at those {len(fewest)} rows", at_those(members, fewest), columns))
    return "\n".join(lines)


def line(name: str, members: Group, columns: dict[str, str]) -> str:
    """One line of a table."""
    cells = " | ".join(cell(members, metric) for metric in columns.values())
    rows = int((~np.isnan(members.matrix.R).all(axis=(0, 2))).sum())
    return f"| {name} | {len(members.runs)} | {rows} | {cells} |"


def rows_of(members: Group) -> frozenset[int]:
    """After which tasks, or sections of a stream, the learner was evaluated at their ends."""
    return frozenset(row.after for row in members.runs[0].rows if row.task_end and row.after >= 0)


def at_those(members: Group, rows: frozenset[int]) -> Group:
    """The same runs as if they had been evaluated after these tasks only."""
    return Group(tuple(at_rows(run, rows) for run in members.runs))


def readme() -> str:
    """All experiments, one table each."""
    parts = [HEAD]
    for folder in sorted(path for path in HERE.iterdir() if path.is_dir() and path.name != "pages"):
        made = public.TABLES[folder.name]() if folder.name in public.TABLES else table(folder)
        parts += [f"## {folder.name}", ABOUT[folder.name], made]
    return "\n\n".join(parts) + "\n"


def with_splits(page: str) -> str:
    """The page with the split of forgetting between its marks, an experiment each."""
    for what, name, shorts in TABLES_IN_DOCS:
        head, mark, rest = page.partition(f"<!-- {what} of results/{name} -->\n")
        if not mark:
            sys.exit(f"the page has no place for the {what} of results/{name}")
        columns = {short: CLASSES[short] for short in shorts}
        page = head + mark + table(HERE / name, columns) + "\n<!-- end -->" + rest.partition("<!-- end -->")[2]
    return page


def with_tables(page: str) -> str:
    """The page with the tables of experiments between their marks."""
    for folder in sorted(path for path in HERE.iterdir() if path.is_dir()):
        head, mark, rest = page.partition(f"<!-- results/{folder.name} -->\n")
        if mark:
            page = head + mark + table(folder) + "\n<!-- end -->" + rest.partition("<!-- end -->")[2]
    head, mark, rest = page.partition("<!-- CGLB's tables -->\n")
    return head + mark + cglb.tables() + "\n<!-- end -->" + rest.partition("<!-- end -->")[2] if mark else page


def with_public(page: str) -> str:
    """The page with what public files of others say between its marks."""
    for name, made in public.TABLES.items():
        head, mark, rest = page.partition(f"<!-- {name} -->\n")
        page = head + mark + made() + "\n<!-- end -->" + rest.partition("<!-- end -->")[2] if mark else page
    return page


def main() -> None:
    docs = HERE.parent / "docs"
    guide, others = docs / "michel2023.md", docs / "public-results.md"
    pages = {
        HERE / "README.md": readme(),
        guide: with_splits(guide.read_text(encoding="utf-8")),
        others: with_public(others.read_text(encoding="utf-8")),
        **{
            page: with_tables(page.read_text(encoding="utf-8"))
            for page in (docs / "graphs.md", docs / "experiments.md")
        },
    }
    for page, text in pages.items():
        if "--check" not in sys.argv[1:]:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            sys.exit(f"{page.name} is not up to date: python results/make_tables.py")


if __name__ == "__main__":
    main()
