"""A domain is an entry, not a fork: nothing outside `problems/` asks which domain, scenario or label it has before it.

What a scenario is like (whether the task is told, whether rows are batches) is a fact in `runs/scenarios.py`; what a
learner is for is its role. The test reads the source for comparisons that ask a name instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import recollect
from recollect.problems import PROBLEMS
from recollect.runs.scenarios import SCENARIOS

ROOT = Path(recollect.__file__).parent
# Names of problems and scenarios, and the words that problems use: to compare with one of these is to ask for it.
WORDS = {*PROBLEMS, *SCENARIOS, "anomaly", "concept", "concepts"}
# To compare one of these with any text is to ask for a label.
ASKED = {"problem", "scenario", "label", "learner_label"}
STARTS = {"startswith", "endswith", "removeprefix", "removesuffix"}


def texts(node: ast.expr) -> Iterator[str]:
    """The texts in a constant, or in a list, set or tuple of constants."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_fork(node: ast.AST) -> bool:
    """Whether this asks for the name of a domain, a scenario or a label."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        said = {text for side in sides for text in texts(side)}
        return bool(said & WORDS) or (bool(said - {""}) and any(name_of(side) in ASKED for side in sides))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTS:
        return name_of(node.func.value) in ASKED | {"learner"} and bool(node.args) and bool(list(texts(node.args[0])))
    return False


def forks(source: str) -> list[tuple[int, str]]:
    return [
        (node.lineno, ast.unparse(node).replace("'", '"'))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.expr) and is_fork(node)
    ]


def test_no_domain_scenario_or_label_is_asked_for_outside_problems() -> None:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] != "problems":
            found += [f"{place}:{line}: {said}" for line, said in forks(path.read_text())]
    assert not found, "ask the problem, the scenario's facts or the role instead:\n" + "\n".join(found)


def test_forks_are_found() -> None:
    for source in (
        "run.problem == 'detection'",
        "stream.scenario in ('concept-aware', 'x')",
        "word == 'concept'",
        "label.startswith('cumulative')",
        "'anomaly' != entry.kind",
        "self.label != 'joint'",
        "scenario not in {'domain-incremental'}",
    ):
        assert len(forks(source)) == 1, source
    for source in ("run.problem == other.problem", "dtype.kind == 'f'", "role == 'joint'", "path.endswith('.csv')"):
        assert not forks(source), source
