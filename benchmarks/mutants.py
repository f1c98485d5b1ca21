"""Which wrong lines do the tests notice? Small mutants of one module at a time, each tried on the tests that cover it.

A mutant changes one place: a comparison (`<` to `<=`, `==` to `!=`), an operator (`+` to `-`), a whole number (n to
n + 1), `and` to `or`, `min` to `max`. It is written into a copy of the tree, the tests are run until the first failure,
and a mutant that no test notices is printed. It survives for one of two reasons: a test is missing, or the change
changes nothing that can be seen.

Command: python benchmarks/mutants.py src/recollect/runs/timeline.py tests/runs [--most 40] [--seed 0]
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
from pathlib import Path

ROOT = Path(__file__).parent.parent
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


def main() -> None:
    """Try the mutants and print those that live."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", type=Path)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    module = given.module.resolve().relative_to(ROOT)
    found = list(mutants((ROOT / module).read_text()))
    tried = sorted(random.Random(given.seed).sample(found, min(given.most, len(found))))
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary)
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
        alive = 0
        for line, what, source in tried:
            (tree / module).write_text(source)
            command = [sys.executable, "-m", "pytest", "-x", "-q", *given.tests]
            if subprocess.run(command, cwd=tree, env=environment, capture_output=True).returncode == 0:
                alive += 1
                print(f"{module}:{line}: {what}", flush=True)
        print(f"{module}: {len(tried)} of {len(found)} mutants tried, {alive} not noticed")


if __name__ == "__main__":
    main()
