"""The sentences of a report, on cases made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recollect.report.gather import gather
from recollect.report.results import UNKNOWN, StreamResult
from recollect.report.sentences import (
    answers,
    at_the_end,
    forgotten,
    how_sure,
    other_rows,
    reference_level,
    warnings,
    what_was_forgotten,
    who_is_ahead,
    who_is_learning,
)
from recollect.report.words import Name, Sentence, Words
from recollect.runs import Plan, Run, group
from recollect.stats import Estimate, Plateau
from tests.report.samples import make_groups, make_run

NAN = float("nan")
WORDS = Words()


def said(sentences: tuple[Sentence, ...]) -> str:
    return " ".join(map(str, sentences))


def number(value: float, half: float | None = 0.01, n: int = 8) -> Estimate:
    ends = (NAN, NAN) if half is None else (value - half, value + half)
    return Estimate(value, *ends, n, "t", NAN if half is None else half)


def scored(learner: str, levels: list[float], role: str = "contestant", **changed: Any) -> list[Run]:
    """Runs of six tasks whose last row, and so the headline, has these levels, one per seed."""
    made = []
    for seed, level in enumerate(levels):
        run = make_run(learner, seed)
        rows = tuple(
            replace(
                row, scores={"accuracy": (level,) * 6}, correct=None, n=None, restricted=None, masked=None, errors={}
            )
            for row in run.rows
        )
        made.append(replace(run, rows=rows, role=role, **changed))
    return made


def stream_of(*runs: list[Run]) -> StreamResult:
    return gather(group(run for of in runs for run in of)).streams[0]


class TestWhoIsAhead:
    def test_a_lead_over_one(self) -> None:
        text = said(who_is_ahead(stream_of(scored("er", [0.61, 0.62, 0.6]), scored("ft", [0.2, 0.22, 0.21]))))
        assert text.startswith("er has the highest average accuracy over all tasks, 0.610, and is ahead of ft by 0.4")
        assert text.count("[") == 1, "one interval per sentence"

    def test_a_lead_over_all(self) -> None:
        made = stream_of(
            scored("er", [0.61, 0.62, 0.6]), scored("a", [0.2, 0.22, 0.21]), scored("b", [0.3, 0.32, 0.31])
        )
        assert "is ahead of both others, of the nearest, b, by 0.300 [" in said(who_is_ahead(made))

    def test_seeds_that_cannot_tell_say_how_many_would(self) -> None:
        made = stream_of(scored("er", [0.61, 0.65, 0.6, 0.66, 0.62]), scored("gd", [0.6, 0.61, 0.62, 0.6, 0.63]))
        lead = made.headline and made.headline.lead
        assert lead
        text = said(who_is_ahead(made))
        assert text == (
            "er has the highest average accuracy over all tasks, 0.628, gd 0.612: these 5 seeds are too few"
            f" to tell (about {lead.rivals[0].seeds_needed} would settle it, if the difference stays)."
        )

    def test_equal_means_have_no_best(self) -> None:
        made = stream_of(scored("a", [0.5, 0.6, 0.7]), scored("b", [0.5, 0.6, 0.7]))
        assert said(who_is_ahead(made)) == "a has the highest average accuracy over all tasks, 0.600, and so has b."

    def test_ahead_of_some(self) -> None:
        made = stream_of(scored("a", [0.6, 0.62, 0.61]), scored("b", [0.2, 0.21, 0.21]), scored("c", [0.6, 0.6, 0.62]))
        assert ", and is ahead of b; cannot be told from c: these 3 seeds are too few to tell (" in said(
            who_is_ahead(made)
        )

    def test_one_seed_says_so(self) -> None:
        text = said(who_is_ahead(stream_of(scored("a", [0.6]), scored("b", [0.5]))))
        assert text.endswith("0.600, b 0.500: one seed cannot tell them apart; run three or more.")

    def test_runs_without_chance(self) -> None:
        text = said(who_is_ahead(stream_of(scored("a", [0.6] * 3), scored("b", [0.5] * 3))))
        assert "every seed gives the same difference, 0.100, so that seeds say nothing of it" in text

    def test_lower_is_better(self) -> None:
        runs = [scored(name, [v, v + 0.01, v - 0.01], higher_is_better=False) for name, v in (("a", 0.6), ("b", 0.1))]
        text = said(who_is_ahead(stream_of(*runs)))
        assert text.startswith("b has the lowest average accuracy over all tasks, 0.100")

    def test_references_and_floors_are_no_contestants_whatever_their_names(self) -> None:
        made = stream_of(
            scored("cumulative_ours", [0.5, 0.52]),
            scored("b", [0.4, 0.42]),
            scored("all data", [0.9, 0.91], role="joint"),
            scored("guess", [0.1, 0.11], role="floor"),
        )
        assert said(who_is_ahead(made)).startswith("Of the 2 contestants cumulative_ours has the highest")
        level = said(reference_level(made))
        assert "With all the data all data reaches 0.905 [" in level
        assert "Without learning guess reaches 0.105 [" in level

    def test_one_learner_and_none(self) -> None:
        assert "no other learner is here" in said(who_is_ahead(stream_of(scored("a", [0.6, 0.7]))))
        run = make_run("a", 0)
        bare = replace(run, rows=run.rows[:3])
        assert "No learner has an average accuracy over all tasks: " in said(who_is_ahead(stream_of([bare])))

    def test_names_are_marked(self) -> None:
        (first, *_) = who_is_ahead(stream_of(scored("<b>", [0.6])))
        assert isinstance(first.parts[0], Name)


def plateau(kind: str, at: int | None = None, low: int | None = None, high: int | None = None, n: int = 5) -> Plateau:
    slope = number(0.031)
    return Plateau(at is not None, kind, at, low, high, slope, slope, number(0.002), n, None)


class TestWhoIsLearning:
    def test_a_plateau_with_its_interval_counts_tasks_from_one(self) -> None:
        text = said(who_is_learning({"gdumb": plateau("plateau", 6, 5, 8)}, WORDS, 20)[0])
        assert text == ("gdumb's RAA levels off at task 7 [6, 9] of 20, to less than a sixth of its rise before.")

    def test_every_kind_is_said(self) -> None:
        short = replace(plateau("undecided"), slope=UNKNOWN)
        plateaus = {
            "p": plateau("peak", 3, 3, 4),
            "r": plateau("rising"),
            "s": plateau("slowing"),
            "f": plateau("flat"),
            "d": plateau("falling"),
            "u": plateau("undecided"),
            "o": plateau("undecided", n=1),
            "t": short,
            "none": None,
        }
        text = said(who_is_learning(plateaus, Words("concept", "concepts", "ROC-AUC"), 10)[0])
        assert "p's RAA rises up to concept 4 [4, 5] of 10 and falls after it." in text
        assert "RAA still rises for r and s, by 0.031 per concept at the end." in text
        assert "Of f no rise in RAA is shown (0.002 [−0.008, 0.012] per concept)." in text
        assert "RAA falls for d from the first concept to the last." in text
        assert "Whether u is still learning is open: its RAA rises, and the seeds do not show whether it goes" in text
        assert "Whether o is still learning is open: one curve" in text
        assert "Whether t is still learning is open: that takes five concepts or more." in text
        assert "none" not in text
        assert "never" not in text

    def test_nothing_to_say_without_curves(self) -> None:
        assert who_is_learning({"a": None}, WORDS, 5) == ((), ())

    def test_many_that_stopped_are_one_sentence_and_one_each_behind(self) -> None:
        stopped = {
            name: plateau("plateau", at, at - 1, at + 1) for name, at in zip("abcde", (6, 3, 9, 4, 5), strict=True)
        }
        lead, behind = who_is_learning(stopped, WORDS, 20)
        assert said(lead) == "The RAA of 5 learners levels off or falls, from task 4 [3, 5] (b) to task 10 [9, 11] (c)."
        assert len(behind) == 5


class TestOtherRows:
    def test_learners_evaluated_less_often_are_named(self) -> None:
        ends = {"er": (1, 2, 3, 4), "er-64": (None, 2, None, 4), "gdumb": (None, 2, None, 4)}
        text = said(other_rows(ends, WORDS, 4))
        assert text.startswith("er-64 and gdumb were evaluated after 2 of 4 tasks, others after 4: their own")

    def test_the_same_rows_need_no_word(self) -> None:
        assert other_rows({"a": (None, 2), "b": (None, 2)}, WORDS, 2) == ()
        assert other_rows({}, WORDS, 2) == ()

    def test_as_many_but_other_rows_are_said_too(self) -> None:
        text = said(other_rows({"a": (1, None, 3), "b": (None, 2, 3)}, WORDS, 3))
        assert text.startswith("Learners were evaluated after 2 tasks each, not the same ones: their own")


class TestWhatWasForgotten:
    def learner(self, af: Estimate, *parts: Estimate, probe: Estimate | None = None) -> Any:
        one = gather(make_groups()).streams[0].learners[0]
        names = dict(zip(("split.within", "split.older", "split.newer"), parts or [UNKNOWN] * 3, strict=True))
        extra = {} if probe is None else {"probe.forgetting": probe}
        return replace(one, label="er", numbers={**one.numbers, "forgetting.chaudhry2018": af, **names, **extra})

    def test_the_parts(self) -> None:
        one = self.learner(number(0.4), number(0.015), number(0.005), number(0.38), probe=number(0.016))
        assert str(forgotten(one, WORDS)) == (
            "er's accuracy on earlier tasks has fallen by 0.400 [0.390, 0.410] from its best: 0.015 within the task"
            " and 0.380 by confusion with newer tasks; 0.005 by confusion with older tasks cannot be told from none."
            " The representation lost some of it: the accuracy of linear probes of its features, refitted at every row,"
            " has fallen by 0.016 [0.006, 0.026]."
        )

    @pytest.mark.parametrize("value", [0.005, -0.1])
    def test_a_representation_that_is_not_shown_to_lose(self, value: float) -> None:
        text = str(forgotten(self.learner(number(0.4), probe=number(value)), WORDS))
        assert "No loss of the representation is shown: the accuracy of linear probes" in text

    def test_no_forgetting_and_gain(self) -> None:
        none, gain = (str(forgotten(self.learner(af), WORDS)) for af in (number(0.005), number(-0.1)))
        assert none == "er is not shown by the seeds to forget: AF 0.005 [−0.005, 0.015]."
        assert gain.startswith("er gains on earlier tasks: AF −0.100")

    def test_an_error_rises(self) -> None:
        text = str(forgotten(self.learner(number(0.4)), WORDS, higher_is_better=False))
        assert text == "er's accuracy on earlier tasks has risen by 0.400 [0.390, 0.410] from its best."

    def test_without_the_split(self) -> None:
        text = str(forgotten(self.learner(number(0.4)), WORDS))
        assert text == "er's accuracy on earlier tasks has fallen by 0.400 [0.390, 0.410] from its best."

    def test_the_best_and_the_one_that_forgot_most(self) -> None:
        sentences, _ = what_was_forgotten(gather(make_groups()).streams[0])
        assert [str(one).partition("'")[0] for one in sentences[:2]] == ["er", "finetune"]

    def test_no_word_of_knowledge(self) -> None:
        text = " ".join(said((*one.said, *one.more)) for one in answers(gather(make_groups()).streams[0]))
        assert "knowledge" not in text


def test_the_four_questions_leave_references_out() -> None:
    four = answers(gather(make_groups()).streams[0])
    assert [one.key for one in four] == ["ahead", "learning", "forgotten", "sure"]
    assert "er has the highest" in str(four[0].said[0])
    assert all("joint_incremental" not in said(one.said) for one in four)


def test_what_cannot_be_told_is_said() -> None:
    runs = make_groups(with_joint=False)
    bare = group(
        replace(run, rows=tuple(replace(row, restricted=None, masked=None) for row in run.rows))
        for g in runs
        for run in g.runs
    )
    assert "How it comes about cannot be told: " in said(answers(gather(bare).streams[0])[2].said)


def test_how_sure() -> None:
    made = gather(make_groups()).streams[0]
    assert said(how_sure(made)) == (
        "5 seeds per learner. Intervals are of 95 % and hold one by one; those of the lead hold for all pairs of"
        " learners at once. All were evaluated after the same 6 tasks."
    )
    assert warnings(made) == ()
    same = stream_of(scored("a", [0.6] * 3), scored("b", [0.5, 0.51, 0.52]))
    assert "Every seed gave the same scores with a: nothing in them is random" in said(warnings(same))
    assert "One run each: intervals of 95 % and tests are over the test items" in said(
        how_sure(stream_of(scored("a", [0.6])))
    )


def test_one_observation_has_no_interval() -> None:
    same = stream_of(scored("a", [0.6] * 3), scored("b", [0.5, 0.51, 0.52]))
    number = same.learner("a").numbers["acc.average"]
    assert (number.value, number.n) == (0.6, 3)
    assert np.isnan(number.low)
    assert at_the_end(same) == ()


class TestNoiseOfTheItems:
    """A learner whose tasks keep their true accuracy: whatever AF it shows is the best of noisy scores."""

    def runs(self, n: int, seeds: int, now: float = 0.8) -> list[Run]:
        made = []
        for seed in range(seeds):
            run, rng = make_run("er", seed), np.random.default_rng([n, seed])
            rows = [
                replace(
                    row,
                    correct=tuple(int(k) for k in rng.binomial(n, 0.8 if row.after < 5 else now, 6)),
                    n=(n,) * 6,
                    restricted=None,
                    masked=None,
                    errors={},
                )
                for row in run.rows
            ]
            tasks = tuple(replace(task, n_samples=n, class_counts=None) for task in run.tasks)
            made.append(replace(run, rows=tuple(rows), tasks=tasks))
        return made

    def test_what_noise_shows_is_not_called_forgetting(self) -> None:
        learner = stream_of(self.runs(40, 5)).learners[0]
        assert learner.numbers["forgetting.chaudhry2018"].low > 0, "by its interval alone it forgets"
        text = str(forgotten(learner, WORDS))
        assert text.startswith("er is not shown to forget: AF 0.0")
        assert ", where noise of the test items alone shows 0.0" in text

    def test_what_is_more_than_noise_is(self) -> None:
        text = str(forgotten(stream_of(self.runs(40, 5, now=0.5)).learners[0], WORDS))
        assert text.startswith("er's accuracy on earlier tasks has fallen by 0.3")


def test_evaluations_that_end_after_different_tasks_have_no_best() -> None:
    early = [
        replace(run, rows=run.rows[:-1], plan=Plan(rows=(0, 1, 2, 3, 4))) for run in scored("a", [0.9, 0.91, 0.92])
    ]
    late = [replace(run, rows=run.rows[-1:], plan=Plan(rows=(5,))) for run in scored("b", [0.5, 0.51, 0.52])]
    text = said(who_is_ahead(stream_of(early, late)))
    assert text == "Nobody can be said to be ahead: no task is one after which all learners were evaluated."


def test_one_observation_says_so_and_a_part_that_is_exactly_nothing_is_none() -> None:
    runs = [make_run("er", seed) for seed in range(3)]
    same = [replace(run, rows=runs[0].rows) for run in runs]
    text = str(forgotten(stream_of(same).learners[0], WORDS))
    assert " from its best in every run alike: " in text
    alone = str(forgotten(stream_of(runs[:1]).learners[0], WORDS))
    assert "in every run" not in alone
    one = gather(make_groups()).streams[0].learners[0]
    parts = dict(zip(("split.within", "split.older", "split.newer"), (0.0, 0.1, 0.3), strict=True))
    numbers = {**one.numbers, "forgetting.chaudhry2018": number(0.4)}
    numbers |= {
        id: Estimate(v, NAN if v == 0 else v - 0.01, NAN if v == 0 else v + 0.01, 5, "t", v) for id, v in parts.items()
    }
    exact = str(forgotten(replace(one, label="er", numbers=numbers, null=None), WORDS))
    assert exact.endswith(
        "0.100 by confusion with older tasks and 0.300 by confusion with newer tasks; none within the task."
    )
