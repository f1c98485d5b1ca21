"""The sentences of a report, on cases made by hand."""

from __future__ import annotations

from recollect.report.contents import Bend, Number
from recollect.report.gather import gather
from recollect.report.prose import Sentence
from recollect.report.sentences import _forgotten as forgotten
from recollect.report.sentences import answer, other_rows, who_stopped
from recollect.report.words import Words
from tests.report.samples import make_groups

NAN = float("nan")
WORDS = Words()


def said(sentences: tuple[Sentence, ...]) -> str:
    return " ".join(map(str, sentences))


def number(value: float, half: float | None = 0.01, n: int = 8) -> Number:
    return Number(value, NAN, NAN, n) if half is None else Number(value, value - half, value + half, n)


def bend(kind: str, at: int | None = None, low: int | None = None, high: int | None = None) -> Bend:
    slope = number(0.031)
    return Bend(kind, at is not None, at, low, high, slope, slope, 5, "it rises, but the seeds do not show it: 0.1")


class TestWhoStopped:
    def test_a_plateau_with_its_interval_counts_tasks_from_one(self) -> None:
        text = said(who_stopped({"gdumb": bend("plateau", 6, 5, 8)}, WORDS, 20))
        assert text == (
            "By RAA, which corrects accuracy for the growing number of classes: gdumb stops learning at task 7"
            " [6, 9] of 20."
        )

    def test_every_kind_is_said(self) -> None:
        bends = {
            "p": bend("peak", 3, 3, 4),
            "r": bend("rising"),
            "s": bend("slowing"),
            "f": bend("flat"),
            "d": bend("falling"),
            "u": bend("undecided"),
            "none": None,
        }
        text = said(who_stopped(bends, Words("concept", "concepts", "ROC-AUC"), 10))
        assert "p stops learning at concept 4 [4, 5] of 10 and loses ground after it." in text
        assert "r and s are still learning at the end (RAA rises by 0.031 a concept)." in text
        assert "f never gains." in text
        assert "d loses ground throughout." in text
        assert "Whether u stopped learning is open: it rises, but the seeds do not show it." in text
        assert "none" not in text

    def test_nothing_to_say_without_curves(self) -> None:
        assert who_stopped({"a": None}, WORDS, 5) == ()


class TestOtherRows:
    def test_learners_evaluated_less_often_are_named(self) -> None:
        ends = {"er": (1, 2, 3, 4), "er-64": (None, 2, None, 4), "gdumb": (None, 2, None, 4)}
        text = said(other_rows(ends, WORDS, 4))
        assert text.startswith("er-64 and gdumb were evaluated after 2 of 4 tasks, others after 4.")
        assert "compare them with care" in text

    def test_the_same_rows_need_no_word(self) -> None:
        assert other_rows({"a": (None, 2), "b": (None, 2)}, WORDS, 2) == ()
        assert other_rows({}, WORDS, 2) == ()

    def test_as_many_but_other_rows_are_said_too(self) -> None:
        text = said(other_rows({"a": (1, None, 3), "b": (None, 2, 3)}, WORDS, 3))
        assert text.startswith("Learners were evaluated after 2 tasks each, not the same ones. Forgetting")


class TestWhatWasForgotten:
    def test_lost_and_confusion_with_their_share(self) -> None:
        text = str(forgotten("er", number(0.4), number(0.1), number(0.3), number(0.05, 0), WORDS))
        assert text == (
            "er forgets 0.400 [0.390, 0.410]: 0.100 [0.090, 0.110] (25 %) is lost knowledge, 0.300 [0.290, 0.310]"
            " is confusion with newer classes, of which guessing alone explains 0.050."
        )

    def test_nothing_lost(self) -> None:
        text = str(forgotten("er", number(0.9), number(-0.02), number(0.92), number(0.2, 0), WORDS))
        assert "none of it is lost knowledge (−0.020 [−0.030, −0.010])" in text

    def test_loss_that_cannot_be_told_from_zero(self) -> None:
        text = str(forgotten("er", number(0.9), number(0.005), number(0.895), Number(), WORDS))
        assert "the seeds show no lost knowledge (0.005 [−0.005, 0.015])" in text
        assert "guessing" not in text

    def test_less_confusion_than_chance(self) -> None:
        text = str(forgotten("er", number(0.3), number(0.25), number(0.05), number(0.1, 0), WORDS))
        assert "less than guessing alone would bring: 0.100" in text

    def test_no_forgetting_and_gain(self) -> None:
        none, gain = (
            str(forgotten("er", af, Number(), Number(), Number(), WORDS)) for af in (number(0.005), number(-0.1))
        )
        assert none == "er forgets nothing that the seeds could show: AF 0.005 [−0.005, 0.015]."
        assert "gains on earlier tasks" in gain

    def test_without_the_split(self) -> None:
        assert (
            str(forgotten("er", number(0.4), Number(), Number(), Number(), WORDS)) == "er forgets 0.400 [0.390, 0.410]."
        )


def test_the_answer_leaves_references_out_of_the_contest() -> None:
    lead, *rest = answer(gather(make_groups()).streams[0])
    assert str(lead[0]).startswith("er has the highest")
    assert "Retrained on everything seen so far, joint_incremental reaches" in said(lead)
    assert all("joint_incremental" not in said(paragraph) for paragraph in rest)


def test_what_cannot_be_told_is_said() -> None:
    runs = make_groups(with_joint=False)
    from dataclasses import replace

    from recollect.runs import group

    bare = group(
        replace(run, rows=tuple(replace(row, restricted=None) for row in run.rows)) for g in runs for run in g.runs
    )
    assert "What part of the forgetting is lost knowledge cannot be told" in said(answer(gather(bare).streams[0])[-1])
