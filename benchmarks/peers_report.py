"""The page of `peers.py`: its findings as markdown."""

from __future__ import annotations

from typing import Any


def markdown(result: dict[str, Any]) -> str:
    """The whole page."""
    findings, first, last = result["findings"], result["tasks"][0], result["tasks"][-1]
    sections = [
        "# Who prints what",
        f"Made by `{result['command']}` (its docstring says how the environments are made) with recollect "
        f"{result['recollect']}, seed {result['seed']}.",
        f"""\
Each function is the peer's own code, run in the peer's environment on {result["matrices"]:,} random matrices
of {first} to {last} tasks with test sets of unequal size. An id of ours is named when it gives the same
number, to {result["tolerance"]:g}, on every one of them; *difference* is the largest found.
*Curve*: where the function also gives a value after each task, whether that curve agrees wherever ours is
defined. *One task*: what it gives or raises for a single task, where our id is undefined. The cards name a tool as one
that prints an id if its function gives it and its own loop calls the function so: Mammoth's loop does not.""",
        table(findings),
        "## Remarks",
        "Where no id is named, the formula of the remark was computed beside the peer's number.",
        "\n".join(remark(f) for f in findings if f["note"]),
        """\
CapyMOA, GEM and ContinualEvaluation compute in torch's default type and were asked in float64. As shipped, in
float32, no number can agree to this tolerance.""",
        "## Read, not run",
        "Formulas read in the source, at the commit named, or on the peer's page.",
        read_table(result["read"]),
        """\
SAPT's forward transfer is `fwt.single` by its definition; its code is said to have 50.94 written in where the scores of
single-task models belong. That line was not found in the snapshot read (52a52b9), so no card names it.""",
        "## Time",
        f"""\
For functions that take a matrix: the peer's, called for each matrix of {last} tasks, over ours on all of them
at once (the median of nine, checks of the input included), in the same run. online-continual-learning has
one call for its five numbers; each line is that call.""",
        time_table(findings),
    ]
    if result["left_out"]:
        sections.append(f"Not run this time: {'; '.join(result['left_out'])}.")
    return "\n\n".join(sections) + "\n"


def table(findings: list[dict[str, Any]]) -> str:
    """One line a function."""
    lines = ["| tool | version | function | our id | difference | matrices | curve | one task |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for f in findings:
        if f["equal"]:
            named, gap = ", ".join(f"`{id}`" for id in f["equal"]), f"{f['difference']:.1e}"
        else:
            named, gap = "none", ""
        curve = "" if not (f["has_curve"] and f["equal"]) else "agrees" if f["curve"] else "differs"
        cells = (f["title"], f["version"], f"`{f['function']}`", named, gap, f"{f['matrices']:,}", curve)
        lines.append(f"| {' | '.join(cells)} | {f['instead'] or ''} |")
    return "\n".join(lines)


def remark(finding: dict[str, Any]) -> str:
    """A remark, with how well its formula gives the peer's number where no id does."""
    checked = finding["note_difference"]
    said = f" (Checked: differs by at most {checked:.1e}.)" if checked is not None else ""
    return f"- {finding['title']}, `{finding['function']}`: {finding['note']}{said}"


def read_table(rows: list[dict[str, Any]]) -> str:
    """What was read."""
    lines = ["| tool | version | name | our id | remark |", "|---|---|---|---|---|"]
    lines += [f"| {r['title']} | {r['version']} | {r['function']} | `{r['id']}` | {r['note']} |" for r in rows]
    return "\n".join(lines)


def time_table(findings: list[dict[str, Any]]) -> str:
    """How many times our time each function takes."""
    lines = ["| tool | function | our id | times ours |", "|---|---|---|---|"]
    for f in findings:
        if f["times_ours"] is not None:
            lines.append(f"| {f['title']} | `{f['function']}` | `{f['equal'][-1]}` | {f['times_ours']:,.0f} |")
    return "\n".join(lines)
