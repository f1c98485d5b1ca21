"""What is by construction is said where it is shown: in the terminal, for programs, and on the page."""

from __future__ import annotations

from dataclasses import replace

from recollect.metrics import registry
from recollect.report.gather import gather
from recollect.report.page.builder import build_page
from recollect.report.summary import summarise
from recollect.runs import Run, group
from tests.report.samples import make_groups, make_run


def masked(seed: int) -> Run:
    run = make_run("er", seed)
    rows = tuple(
        replace(row, correct=tuple(c if j <= row.after else 0 for j, c in enumerate(row.correct or ())))
        if row.after >= 0
        else row
        for row in run.rows
    )
    return replace(run, rows=tuple(replace(row, restricted=None, masked=None, errors={}) for row in rows))


def notes(id: str, groups: list) -> str:
    return " ".join(note for line in summarise(groups, [registry.get(id)]) for note in line.notes)


def test_forward_transfer_by_masking_is_marked() -> None:
    groups = list(group([masked(0), masked(1)]))
    said = "FWT is by masking: tasks that were not learned score 0 by construction"
    assert said in notes("fwt.lopezpaz2017", groups)
    assert said not in notes("fwt.lopezpaz2017", make_groups())
    assert said in build_page(gather(groups))


def test_rescaled_metrics_that_are_the_plain_ones_say_so() -> None:
    groups = make_groups()
    assert "RAA at the last task is AA by construction" in notes("raa.michel2023", groups)
    assert "RAF at the last task is AF by construction" in notes("raf.michel2023", groups)
    assert "by construction" not in notes("acc.average", groups)
    unequal = [
        replace(run, tasks=(replace(run.tasks[0], n_classes=50, classes=None, class_counts=None), *run.tasks[1:]))
        for one in groups
        for run in one.runs
    ]
    assert "RAF at the last task" not in notes("raf.michel2023", list(group(unequal)))


def test_cards_say_it() -> None:
    assert "masking" in registry.get("fwt.lopezpaz2017").card.caution
    assert "by construction" in registry.get("raa.michel2023").card.caution
