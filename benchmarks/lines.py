"""Lines of code in Python files, without imports at the top, docstrings, comments and empty lines.

python benchmarks/lines.py src/recollect/learners/mir.py ENV/avalanche/training/plugins/mir.py
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path


def lines_of_code(text: str) -> int:
    """How many lines say something."""
    tree, aside = ast.parse(text), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            aside.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    for top in tree.body:
        if isinstance(top, ast.Import | ast.ImportFrom):
            aside.update(range(top.lineno, (top.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for number, line in lines if line.strip() and line.strip()[0] != "#" and number not in aside)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{lines_of_code(Path(name).read_text(encoding='utf-8')):5} {name}")
