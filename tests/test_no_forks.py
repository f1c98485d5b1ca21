"""A domain is an entry, not a fork: nothing outside `problems/` asks which domain, scenario or label it has before it.

What a scenario is like (whether the task is told, whether rows are batches) is a fact in `runs/scenarios.py`; what a
learner is for is its role. The test reads the source for whatever asks a name instead: comparisons, `match`, tables
whose keys are such names, methods and patterns of texts, and comparisons with a problem's own entry.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import recollect
import recollect.problems
from recollect.problems import PROBLEMS
from recollect.problems.base import Problem
from recollect.runs.scenarios import SCENARIOS

ROOT = Path(recollect.__file__).parent
# Names of problems and scenarios, and the words that problems use: to compare with one of these is to ask for it.
WORDS = {*PROBLEMS, *SCENARIOS, "anomaly", "concept", "concepts"}
# To compare one of these with any text is to ask for a label.
ASKED = {"problem", "scenario", "label", "learner_label", "learner"}
# A text that is no name: what a field holds where nothing is known.
NOTHING = {"", "unknown"}
# Methods and functions that look into a text, or compare it.
LOOKS = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "find", "rfind", "index", "count", "__eq__", "__ne__"),
    *("__contains__", "match", "fullmatch", "search", "findall", "fnmatch", "fnmatchcase", "eq", "ne", "contains"),
}
# The entries themselves: to compare with one of them is to ask for its name.
ENTRIES = {
    name
    for module in iter_modules(recollect.problems.__path__)
    for name, value in vars(import_module(f"recollect.problems.{module.name}")).items()
    if isinstance(value, Problem)
}
# What looks like a fork and asks for something else.
EXPLAINED = {
    'runs/importers/clarena.py: origin.learner == "results"': "the name of a folder, which is then no learner's",
    'runs/older.py: _ROLES.get(str(config.get("learner", header.get("learner"))), "contestant")': "it has no role",
    'runs/older.py: _TARGETS.get(str(header.get("problem")), ())': "it names no targets",
    "streams/concepts/series.py: column not in SKAB_LABELS": "the columns of a file",
    "streams/concepts/windows.py: _RULES.get(self.label)": "how a window is labelled, by the name of the rule",
}
# A paper's claims are about its learners, by their names; which domain it is must not be asked there either.
OF_A_PAPER = ("reproduce",)
Known = Mapping[str, ast.expr]


def texts(node: ast.AST, known: Known, depth: int = 0) -> set[str]:
    """The texts of a constant, of a container of them, of a call on them, or of a name that is assigned them once."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.Name) and node.id in known and depth < 5:
        return texts(known[node.id], known, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        return {word for text in texts(node.func.value, known, depth) for word in text.split()}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset", "tuple"):
        return {text for part in node.args for text in texts(part, known, depth)}
    if isinstance(node, ast.Dict):
        return {text for key in node.keys if key is not None for text in texts(key, known, depth)}
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
    return {text for part in parts for text in texts(part, known, depth)}


def is_asked(node: ast.AST, known: Known, depth: int = 0) -> bool:
    """Whether this is a name that must not be asked for, or is made of one: a field, an entry, a part of its text."""
    if isinstance(node, ast.Attribute):
        return node.attr in ASKED
    if isinstance(node, ast.Name):
        there = known.get(node.id) if depth < 5 else None
        return node.id in ASKED or (there is not None and is_asked(there, known, depth + 1))
    if isinstance(node, ast.NamedExpr):
        return is_asked(node.value, known, depth)
    if isinstance(node, ast.Subscript):
        return bool(texts(node.slice, {}) & ASKED) or is_asked(node.value, known, depth)
    if isinstance(node, ast.JoinedStr):
        parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        return len(node.values) == len(parts) == 1 and is_asked(parts[0], known, depth)
    if isinstance(node, ast.BoolOp):
        return any(is_asked(value, known, depth) for value in node.values)
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in ("get", "getattr"):
            return any(texts(part, {}) & ASKED for part in node.args[:2])
        if isinstance(function, ast.Attribute) and name in (
            "lower",
            "upper",
            "strip",
            "casefold",
            "split",
            "partition",
        ):
            return is_asked(function.value, known, depth)
        return name in ("str", "len") and any(is_asked(part, known, depth) for part in node.args)
    return False


def is_entry(node: ast.AST) -> bool:
    """Whether this is a problem's entry, or the name of one."""
    if isinstance(node, ast.Attribute):
        return node.attr in ENTRIES or (node.attr == "name" and is_entry(node.value))
    return isinstance(node, ast.Name) and node.id in ENTRIES


def is_length(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "len"


def is_fork(node: ast.AST, known: Known) -> bool:
    """Whether this asks for the name of a domain, a scenario or a label."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        said = {text for side in sides for text in texts(side, known)} - NOTHING
        asked = any(is_asked(side, known) for side in sides)
        counted = any(isinstance(side, ast.Call) and is_asked(side, known) and is_length(side) for side in sides)
        return bool(said & WORDS) or (bool(said) and asked) or counted or any(map(is_entry, sides))
    if isinstance(node, ast.Match):
        cases = {text for part in node.cases for value in ast.walk(part.pattern) for text in texts(value, known)}
        return bool(cases & WORDS) or (bool(cases) and is_asked(node.subject, known))
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load) and is_asked(node.slice, known) and bool(texts(node.value, known))
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        parts = [*node.args, *([function.value] if isinstance(function, ast.Attribute) else [])]
        asked = any(is_asked(part, known) for part in parts)
        if name in ("isinstance", "issubclass") and any(map(is_entry, parts)):
            return True
        if name == "get" and node.args and is_asked(node.args[0], known) and texts(parts[-1], known):
            return True
        return name in LOOKS and ((asked and any(texts(part, known) for part in parts)) or any(map(is_entry, parts)))
    return False


def assigned(tree: ast.AST) -> Known:
    """What each name that is assigned once in this file is assigned: a comparison may hide behind it."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and isinstance(target, ast.Name) and value:
                found.setdefault(target.id, []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def forks(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    known = assigned(tree)
    for node in ast.walk(tree):
        if is_fork(node, known):
            yield getattr(node, "lineno", 0), ast.unparse(node).split("\n")[0].replace("'", '"')


def test_no_domain_scenario_or_label_is_asked_for_outside_problems() -> None:
    found, explained = [], set()
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] == "problems":
            continue
        for line, said in forks(path.read_text()):
            if f"{place}: {said}" in EXPLAINED:
                explained.add(f"{place}: {said}")
            elif place.parts[0] not in OF_A_PAPER or any(f'"{word}"' in said for word in WORDS):
                found.append(f"{place}:{line}: {said}")
    assert explained == set(EXPLAINED), "an exception that is not needed"
    assert not found, "ask the problem, the scenario's facts or the role instead:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "run.problem == 'detection'",
        "stream.scenario in ('concept-aware', 'x')",
        "word == 'concept'",
        "label.startswith('cumulative')",
        "'anomaly' != entry.kind",
        "self.label != 'joint'",
        "scenario not in {'domain-incremental'}",
        "NAME = 'mine'\nrun.problem == NAME",
        "KINDS = ('mine', 'yours')\nrun.problem in KINDS",
        "run.problem in frozenset(('mine',))",
        "run.problem in 'mine yours'.split()",
        "kind = run.problem\nkind == 'mine'",
        "(kind := run.problem) == 'mine'",
        "match run.problem:\n    case 'mine': pass",
        "match kind:\n    case 'x' | 'detection': pass",
        "{'mine': 1}[run.problem]",
        "TABLE = {'mine': 1}\nTABLE.get(run.problem)",
        "run.learner == 'joint'",
        "run.learner in ('joint', 'cumulative')",
        "re.match('cumulative', label)",
        "fnmatch(run.label, 'joint*')",
        "run.label.lower() == 'joint'",
        "run.label[:3] == 'cum'",
        "run.scenario.split('-')[0] == 'mine'",
        "run.scenario.find('mine') >= 0",
        "f'{run.problem}' == 'mine'",
        "str(run.problem) == 'mine'",
        "(run.scenario or '') == 'mine'",
        "getattr(run, 'problem') == 'mine'",
        "entry['problem'] == 'mine'",
        "data.get('scenario') == 'mine'",
        "run.problem.__eq__('mine')",
        "operator.eq(run.problem, 'mine')",
        "problem_of(run.problem) is DETECTION",
        "run.problem == DETECTION.name",
        "operator.is_(a, b) or problem == problems.DETECTION",
        "len(run.problem) == 9",
    ],
)
def test_forks_are_found(source: str) -> None:
    assert list(forks(source))


@pytest.mark.parametrize(
    "source",
    [
        "run.problem == other.problem",
        "dtype.kind == 'f'",
        "role == 'joint'",
        "path.endswith('.csv')",
        "SCENARIOS[run.scenario].is_timed",
        "SCENARIOS.get(run.scenario or '')",
        "run.learner or 'unknown'",
        "labels[run.label]",
        "run.scenario is None",
        "run.learner == other.learner",
        "label >= 2",
    ],
)
def test_what_asks_for_no_name_is_left_alone(source: str) -> None:
    assert not list(forks(source))
