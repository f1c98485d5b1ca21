"""Pages, figures and tables of detectors: concepts for tasks, their score for accuracy, reasons for what is absent."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import NotComputable
from recollect.metrics import registry
from recollect.report.comparison import compare
from recollect.report.figures import left_out, make_figure
from recollect.report.gather import gather
from recollect.report.notebook import run_html
from recollect.report.page import build_page
from recollect.report.results import Contents
from recollect.report.sentences import answers
from recollect.report.summary import summarise
from recollect.runs import group
from tests.report.samples import CONCEPTS, make_detector, make_detectors
from tests.report.test_page import Reader

ALL_ROWS = ("concepts", "visits", "batches")
# What the page says of what it does not show is the only place where these words belong.
FOREIGN = re.compile(r"\b(tasks?|class(es)?|accurac(y|ies))\b", re.IGNORECASE)
IN_OUR_WORDS = "A task of the definitions"
ALLOWED = "its difficulty does not follow from a number of classes"


@pytest.fixture(scope="module")
def three() -> Contents:
    return gather(make_detectors(seeds=3, rows=ALL_ROWS))


def seen_by_reader(page: str) -> str:
    """All text, and what is read out or shown on hover; but for definitions and reasons, in the catalogue's words."""
    for part in (r'<dl class="definitions">.*?</dl>', r'<ul class="refusals">.*?</ul>', r'title="[^"]*"'):
        page = re.sub(part, "", page, flags=re.DOTALL)
    reader = Reader(page)
    spoken = [attrs.get(name) or "" for _, attrs in reader.found for name in ("aria-label", "title")]
    return " ".join([reader.text, *spoken]).replace(IN_OUR_WORDS, "")


@pytest.mark.parametrize("rows", ALL_ROWS)
@pytest.mark.parametrize("target", ["roc_auc", "average_precision", "f1"])
def test_no_foreign_word_is_left(rows: str, target: str) -> None:
    groups = group(run.with_metric(target) for one in make_detectors(seeds=2, rows=[rows]) for run in one.runs)
    text = seen_by_reader(build_page(gather(groups))).replace(ALLOWED, "")
    assert [text[max(0, m.start() - 60) : m.end() + 30] for m in FOREIGN.finditer(text)] == []
    name = {"roc_auc": "ROC-AUC", "average_precision": "average precision", "f1": "F1"}[target]
    assert f"continual average of {name}" in text


def test_the_table_leads_with_what_the_field_reports(three: Contents) -> None:
    for stream in three.streams:
        assert [(column.title, column.id) for column in stream.columns][:5] == [
            ("CA", "acc.continual_average"),
            ("BWT", "bwt.diazrodriguez2018"),
            ("FWT", "fwt.diazrodriguez2018"),
            ("AF", "forgetting.chaudhry2018"),
            ("average", "acc.average"),
        ]
        assert "bwt.pyclad_code" in stream.columns[1].ids
        assert stream.comparisons[0].id == "acc.continual_average"


def test_what_does_not_apply_is_dropped_with_a_line(three: Contents) -> None:
    text = Reader(build_page(three)).text
    said = f"RAA and RAF are not shown: {ALLOWED}."
    assert text.count(said) == 1, "once, although there are three streams"
    assert text.count("Forgetting is not split here: ") == 1
    assert text.count("Where wrong answers go is not shown: ") == 1
    assert "michel2023" not in text


def test_the_answer_is_about_the_continual_average(three: Contents) -> None:
    lead, _, forgotten, _ = answers(three.streams[0])
    text = " ".join(map(str, (*lead.said, *lead.more)))
    assert text.startswith("Of the 4 contestants replay-IForest has the highest continual average of ROC-AUC, 0.")
    assert "After the last concept replay-IForest has the highest average ROC-AUC over all concepts" in text
    assert re.search(
        r"With all the data cumulative-IForest reaches [\d., \[\]]+ and cumulative-ECOD [\d., \[\]]+\.", text
    )
    assert str(forgotten.said[0]).startswith("replay-IForest's ROC-AUC on earlier concepts has fallen by 0.")


def test_another_may_be_best_at_the_end() -> None:
    # "late" starts low and ends high, "early" the other way round.
    def run(learner: str, rows: list[list[float]], seed: int) -> object:
        made = make_detector(learner, seed)
        scored = [replace(row, scores={"roc_auc": tuple(line)}) for row, line in zip(made.rows[1:], rows, strict=True)]
        return replace(made, rows=(made.rows[0], *scored))

    early = [[0.9] * 5] * 4 + [[0.5] * 5]
    late = [[0.6] * 5] * 4 + [[0.8] * 5]
    groups = group(run(name, rows, s) for name, rows in (("early", early), ("late", late)) for s in range(2))  # type: ignore[misc]
    lead = answers(gather(groups).streams[0])[0]
    text = " ".join(map(str, (*lead.said, *lead.more)))
    assert "early has the highest continual average" in text
    assert "After the last concept late has the highest average ROC-AUC over all concepts, 0.800" in text


def test_matrices_are_rows_by_concepts_with_the_learned_cells(three: Contents) -> None:
    square, visits, batches = three.streams
    shapes = [stream.learners[0].matrix.value.shape for stream in three.streams]
    assert shapes == [(5, 5), (9, 5), (12, 5)]
    assert square.learners[0].learned_at == ()
    assert visits.learners[0].learned_at == (0, 1, 2, 4, 6)
    assert batches.learners[0].learned_at == (2, 4, 4, 8, 11), "two concepts end within one batch"
    assert len(batches.rows) == len(batches.numbers) == 12


def test_each_concepts_drop_has_forgetting_as_its_mean(three: Contents) -> None:
    for stream in three.streams:
        for learner in stream.learners:
            assert learner.drops is not None
            mean = np.nanmean(learner.drops.value)
            np.testing.assert_allclose(mean, learner.numbers["forgetting.chaudhry2018"].value, atol=1e-9)


def test_streams_of_one_name_are_told_apart_by_their_scenario(three: Contents) -> None:
    assert [stream.key for stream in three.streams] == [
        "nsl_kdd (concept-aware)",
        "nsl_kdd (concept-incremental)",
        "nsl_kdd (concept-agnostic)",
    ]


def test_ranks_over_scenarios_warn_of_the_p(three: Contents) -> None:
    table = three.ranks["acc.continual_average"]
    assert table.n == 3
    assert table.names[int(np.argmin(table.average))] == "cumulative-IForest"
    assert "the same data in another scenario" in (table.reason or "")
    extra = gather((*make_detectors(seeds=2, rows=ALL_ROWS), *group([make_detector("experts-IForest", 0)])))
    refused = {one.what: one.why for one in extra.refusals}
    assert refused["experts-IForest in the ranks"] == "not on every stream"


def test_a_concept_of_one_class_is_named_with_its_reason() -> None:
    for rows in ALL_ROWS:
        groups = make_detectors(seeds=2, rows=[rows], one_class="probe")
        (stream,) = gather(groups).streams
        why = (
            "the concept probe has no ROC-AUC (its test set holds normal samples only);"
            " `--without probe` gives the numbers of the others"
        )
        assert stream.unscored == {"probe": "its test set holds normal samples only"}
        assert stream.learners[0].numbers["acc.average"].reason == why
        assert str(answers(stream)[0].said[0]) == f"No learner has a continual average of ROC-AUC: {why}."
        refused = {one.what: one.why for one in stream.refusals}
        assert refused["ROC-AUC of the concept probe"] == "its test set holds normal samples only"
        assert np.isnan(stream.learners[0].matrix.value[:, 2]).all()
        assert FOREIGN.search(seen_by_reader(build_page(gather(groups))).replace(ALLOWED, "")) is None
        (line,) = summarise(groups[:1], [registry.get("acc.average")])
        assert line.reason == why


def test_reasons_of_other_concepts_and_targets_are_ignored() -> None:
    for reasons in ({"roc_auc": {"no such concept": "x"}}, {"f1": {"drift": "x"}}):
        run = make_detector("naive", 0)
        rows = tuple(replace(row, reasons=reasons) for row in run.rows)
        assert gather(group([replace(run, rows=rows)])).streams[0].unscored == {}


def test_the_untrained_row_without_scores_is_no_row(three: Contents) -> None:
    assert all(learner.untrained is None for stream in three.streams for learner in stream.learners)
    silent = [one for one in three.refusals if "before any training" in one.what]
    assert len(silent) == 1, "one line for ninety runs"
    assert "untrained learner is" not in Reader(build_page(three)).text


def test_detectors_without_chance_are_named() -> None:
    runs = [make_detector("replay-IForest", seed) for seed in range(3)]
    same = [replace(make_detector("naive-ECOD", 0), seed=seed) for seed in range(3)]
    (stream,) = gather(group([*runs, *same])).streams
    assert len(stream.cautions) == 1
    assert stream.cautions[0].startswith("every seed gave the same scores with naive-ECOD: nothing in them is random")
    assert "Every seed gave the same scores" in Reader(build_page(gather(group([*runs, *same])))).text


def test_an_order_of_concepts_for_every_seed() -> None:
    runs = []
    for seed in range(2):
        run = make_detector("naive-ECOD", seed, rows="batches")
        order = run.tasks if seed else run.tasks[::-1]
        runs.append(replace(run, tasks=order))
    (stream,) = gather(group(runs)).streams
    assert stream.tasks[0] == "concept 1"
    assert stream.rows[4] == "batch 5 (concept 2, concept 3 learned)"
    assert any("its own order of concepts" in note for note in stream.notes)


def test_other_scores_are_pointed_at(three: Contents) -> None:
    assert any("`--target`: average_precision, f1" in note for note in three.streams[0].notes)


def test_comparisons_tell_scenarios_apart() -> None:
    groups = make_detectors(seeds=3, rows=ALL_ROWS)
    made = compare(groups, registry.get("acc.continual_average"))
    assert [stream.stream for stream in made.streams] == [stream.key for stream in gather(groups).streams]
    assert made.ranks is not None


@pytest.mark.parametrize("rows", ALL_ROWS)
def test_figures_have_the_words(rows: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (stream,) = gather(make_detectors(seeds=2, rows=[rows])).streams
    ax = make_figure("aa-raa", stream).axes[0]
    assert ax.get_ylabel() == "average ROC-AUC"
    assert ax.get_xlabel() == {"concepts": "concepts learned", "batches": "batches", "visits": "visits"}[rows]
    assert "RAA" not in [a.get_ylabel() for a in make_figure("aa-raa", stream).axes]
    assert "does not follow from a number of classes" in (left_out("aa-raa", stream) or "")
    panels = make_figure("matrix", stream).axes
    matrix, below = panels[0], panels[len(stream.learners) - 1]  # of a column the last has the label
    assert below.get_xlabel() == "evaluated concept"
    assert matrix.get_ylabel() == {"concepts": "after concept", "batches": "after batch", "visits": "after visit"}[rows]
    assert len(matrix.patches) == (0 if rows == "concepts" else len(CONCEPTS))
    assert "acc.continual_average" in make_figure("compare", stream).axes[0].get_xlabel()
    for name, why in (("difficulty", "number of classes"), ("split", "one score per sample")):
        with pytest.raises(NotComputable, match=why):
            make_figure(name, stream)


def test_a_notebook_says_concepts() -> None:
    html = run_html(make_detector("naive", 0, rows="batches"))
    assert "12 batches, 5 concepts" in html
    assert "task" not in html
