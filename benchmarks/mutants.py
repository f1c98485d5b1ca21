"""Which wrong lines do the tests notice? Small mutants of one module at a time, each tried on the tests that cover it.

A mutant changes one place: a comparison (`<` to `<=`, `==` to `!=`), an operator (`+` to `-`), a whole number (n to
n + 1), `and` to `or`, `min` to `max`, `not x` to `x`. It is written into a copy of the tree, the tests are run until
the first failure, and a mutant that no test notices is named. It survives for one of two reasons: a test is missing, or
the change changes nothing that can be seen; `SAME` says which of them are of the second kind, and why.

    python benchmarks/mutants.py                                  # the layers below, writes results/mutants.md
    python benchmarks/mutants.py runs/timeline.py tests/runs      # one module, prints only
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results" / "mutants.md"
# Tests that take longer have met a loop without an end.
SECONDS = 300
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
# The modules that everything asks, and the tests that are near them.
LAYERS = {
    "runs/timeline.py": ("tests/runs/test_timeline.py", "tests/runs/test_reduced.py", "tests/runs/test_recorder.py"),
    "runs/assemble.py": ("tests/runs/test_assemble.py", "tests/runs/test_run.py", "tests/metrics/test_split_runs.py"),
    "runs/reduced.py": ("tests/runs/test_reduced.py",),
    "runs/saving.py": ("tests/runs/test_saving.py",),
    "runs/store.py": ("tests/runs/test_store.py",),
    "runs/loading.py": ("tests/runs/test_loading.py",),
    "runs/groups.py": ("tests/runs/test_groups.py", "tests/runs/test_reduced.py"),
    "metrics/rows.py": ("tests/metrics/test_rows.py", "tests/metrics/test_planned.py", "tests/metrics/test_slow.py"),
    "metrics/scoring.py": (
        "tests/metrics/test_planned.py",
        "tests/metrics/test_registry.py",
        "tests/metrics/test_rows.py",
    ),
    "protocol/loop.py": ("tests/protocol", "tests/problems/test_online.py"),
    "report/comparison.py": ("tests/report/test_gather.py", "tests/report/test_common_rows.py"),
    "report/gather.py": ("tests/report/test_gather.py",),
    "report/sentences.py": ("tests/report/test_sentences.py",),
    "report/results.py": ("tests/report/test_gather.py", "tests/report/test_sentences.py"),
    "report/summary.py": ("tests/cli/test_score.py", "tests/cli/test_wide.py", "tests/report/test_words.py"),
    "report/columns.py": ("tests/report/test_gather.py", "tests/report/test_page.py"),
}
# Mutants that nobody can notice: module and what is changed, and why.
SAME: dict[tuple[str, str], str] = {}
_OPERATED: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}


def mutate(node: ast.AST) -> bool:
    """Change this node in place, if it is of a kind that can be changed."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        node.ops[0] = _COMPARED[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATED:
        node.op = _OPERATED[type(node.op)]()
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.Name) and node.id in ("min", "max"):
        node.id = "max" if node.id == "min" else "min"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    else:
        return False
    return True


def mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """The line, the place before and after in words, and the whole source of each mutant."""
    tree = ast.parse(source)
    for place in range(sum(1 for _ in ast.walk(tree))):
        changed = copy.deepcopy(tree)
        node = next(one for i, one in enumerate(ast.walk(changed)) if i == place)
        if isinstance(node, ast.expr):
            before = ast.unparse(node)
            if mutate(node):
                yield node.lineno, f"{before}  ->  {ast.unparse(node)}", ast.unparse(changed)


@dataclass(frozen=True)
class Tried:
    """What became of the mutants of one module."""

    module: str
    tests: tuple[str, ...]
    found: int
    tried: int
    alive: tuple[tuple[int, str], ...]


def attempt(module: str, tests: tuple[str, ...], most: int, seed: int) -> Tried:
    """Try the mutants of one module, or so many of them, drawn by the seed."""
    place = Path("src/recollect") / module
    found = list(mutants((ROOT / place).read_text()))
    chosen = sorted(random.Random(seed).sample(found, min(most, len(found))))
    alive = []
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        for part in ("benchmarks", "docs", "examples", "results", "README.md", "CHANGELOG.md"):
            (tree / part).symlink_to(ROOT / part)
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", *tests]
        if subprocess.run(command, cwd=tree, env=environment, capture_output=True).returncode:
            raise SystemExit(f"{module}: its tests fail without any mutant")
        for line, what, source in chosen:
            (tree / place).write_text(source)
            try:
                done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=SECONDS)
            except subprocess.TimeoutExpired:
                continue  # a loop that does not end is noticed
            if done.returncode == 0:
                alive.append((line, what))
                print(f"{module}:{line}: {what}", flush=True)
    print(f"{module}: {len(chosen)} of {len(found)} mutants tried, {len(alive)} not noticed", flush=True)
    return Tried(module, tests, len(found), len(chosen), tuple(alive))


def table(made: list[Tried], command: str) -> str:
    """The results in Markdown: counts, then every survivor with what is known of it."""
    lines = [
        "# Mutants",
        "",
        f"`{command}`: its docstring says what is changed. Tests: those named in the script.",
        "",
        "| module | mutants | tried | not noticed | of these the same program |",
        "|---|---|---|---|---|",
    ]
    for one in made:
        same = sum((one.module, what) in SAME for _, what in one.alive)
        lines.append(f"| `{one.module}` | {one.found} | {one.tried} | {len(one.alive)} | {same} |")
    lines += ["", "Not noticed:", ""]
    lines += [
        f"- `{one.module}:{line}`: `{what}`: {SAME.get((one.module, what), 'no test looks at it')}"
        for one in made
        for line, what in one.alive
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Try the mutants and say which live."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", nargs="?", help="below src/recollect")
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.module:
        attempt(given.module, tuple(given.tests) or LAYERS[given.module], given.most, given.seed)
        return
    made = [attempt(module, tests, given.most, given.seed) for module, tests in LAYERS.items()]
    command = f"python benchmarks/mutants.py --most {given.most} --seed {given.seed}"
    RESULTS.write_text(table(made, command))


if __name__ == "__main__":
    main()
