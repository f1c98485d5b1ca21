"""Who is ahead: the sentences on cases made by hand."""

from __future__ import annotations

from recollect.report.contents import Number, Pair, PairTable
from recollect.report.lead import who_is_ahead
from recollect.report.prose import Name
from recollect.report.words import Words
from tests.report.test_sentences import NAN, WORDS, number, said


def pair(first: str, second: str, difference: Number, p: float, holm: float, smallest: float = 2 / 256) -> Pair:
    return Pair(first, second, difference, p, holm, smallest, p, number(1.0, None))


class TestWhoIsAhead:
    def test_a_lead_that_the_test_supports(self) -> None:
        values = {"er": number(0.6), "finetune": number(0.2)}
        table = PairTable("acc.average", "higher", (pair("er", "finetune", number(0.4), 0.008, 0.008),))
        assert said(who_is_ahead(values, table, WORDS)) == (
            "er has the highest average accuracy over all tasks, 0.600 [0.590, 0.610]. It is ahead of finetune"
            " (by 0.400 [0.390, 0.410]), and the seeds can tell: Holm-corrected p at most 0.008."
        )

    def test_the_pair_may_stand_the_other_way_round(self) -> None:
        values = {"finetune": number(0.2), "er": number(0.6)}
        table = PairTable("acc.average", "higher", (pair("finetune", "er", number(-0.4), 0.008, 0.008),))
        assert "It is ahead of finetune (by 0.400 [0.390, 0.410])" in said(who_is_ahead(values, table, WORDS))

    def test_too_few_seeds_for_any_test(self) -> None:
        values = {"er": number(0.6, n=5), "finetune": number(0.2, n=5)}
        made = pair("er", "finetune", number(0.4, n=5), 0.0625, 0.0625, 0.0625)
        text = said(who_is_ahead(values, PairTable("acc.average", "higher", (made,)), WORDS))
        assert "the interval over 5 paired seeds excludes zero" in text
        assert "5 seeds give no p below 0.062, whatever the scores." in text
        assert "the seeds can tell" not in text

    def test_the_seeds_cannot_tell(self) -> None:
        values = {"er": number(0.61), "gdumb": number(0.6)}
        table = PairTable("acc.average", "higher", (pair("er", "gdumb", number(0.01, 0.02), 0.4, 0.4),))
        text = said(who_is_ahead(values, table, WORDS))
        assert "The seeds cannot tell it from gdumb (by 0.010 [−0.010, 0.030]; Holm-corrected p at least 0.4)" in text

    def test_rivals_of_three_kinds_get_a_sentence_each(self) -> None:
        values = {"a": number(0.6), "b": number(0.5), "c": number(0.59)}
        pairs = (pair("a", "b", number(0.1), 0.01, 0.02), pair("a", "c", number(0.01, 0.05), 0.5, 0.5))
        sentences = who_is_ahead(values, PairTable("acc.average", "higher", pairs), WORDS)
        assert [str(s)[:25] for s in sentences[1:]] == ["It is ahead of b (by 0.10", "The seeds cannot tell it "]

    def test_one_seed_says_so(self) -> None:
        values = {"a": number(0.6, None, 1), "b": number(0.5, None, 1)}
        table = PairTable("acc.average", "higher", (pair("a", "b", number(0.1, None, 1), NAN, NAN, 1.0),))
        assert said(who_is_ahead(values, table, WORDS)) == (
            "a has the highest average accuracy over all tasks, 0.600 (one seed, no interval)."
            " One seed cannot tell it from b."
        )

    def test_lower_is_better(self) -> None:
        values = {"a": number(0.6), "b": number(0.5)}
        table = PairTable("acc.average", "lower", (pair("b", "a", number(-0.1), 0.01, 0.01),))
        text = said(who_is_ahead(values, table, Words(score="RMSE"), higher=False))
        assert text.startswith("b has the lowest average RMSE")
        assert "It is ahead of a (by −0.100" in text

    def test_one_learner(self) -> None:
        assert "no other learner" in said(who_is_ahead({"a": number(0.6)}, None, WORDS))

    def test_no_value_at_all(self) -> None:
        assert "not evaluated" in said(who_is_ahead({"a": Number()}, None, WORDS))

    def test_names_are_marked(self) -> None:
        (first, *_) = who_is_ahead({"<b>": number(0.6)}, None, WORDS)
        assert isinstance(first.parts[0], Name)
