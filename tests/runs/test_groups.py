"""Seeds together, learners apart, joint learners where they belong."""

import pytest
from numpy.testing import assert_array_equal

from recollect.errors import UsageError
from recollect.runs import Row, Run, Task, attach_joint, group, stack

TASKS = (Task("a"), Task("b"))


def run(learner="er", seed=0, last=0.7, **fields):
    rows = (Row(0, scores={"accuracy": (0.9, 0.1)}), Row(1, scores={"accuracy": (last, 0.8)}))
    return Run(**{"learner": learner, "stream": "toy", "seed": seed, "tasks": TASKS, "rows": rows} | fields)


def test_groups_are_learners_with_their_configuration_on_a_stream():
    runs = [
        run(seed=1, last=0.6),
        run("gdumb"),
        run(seed=0),
        run(learner_config={"memory": 5}),
        run(stream="other"),
    ]
    groups = group(runs)
    assert [(g.learner, g.stream, g.seeds) for g in groups] == [
        ("er", "toy", (0, 1)),
        ("gdumb", "toy", (0,)),
        ("er", "toy", (0,)),
        ("er", "other", (0,)),
    ]
    assert groups[2].learner_config == {"memory": 5}
    assert_array_equal(groups[0].matrix.R[:, 1, 0], [0.7, 0.6])


def test_one_stream_with_two_scores_makes_two_groups():
    assert len(group([run(), run(metric="ROC-AUC")])) == 2


def test_a_class_order_of_each_seed_is_one_group():
    def seeded(seed, first, second):
        tasks = (Task("0", 1, 5, (first,)), Task("1", 1, 5, (second,)))
        return run(seed=seed, tasks=tasks, data_hash="f00d", scenario="class-incremental")

    one, two = seeded(0, 3, 4), seeded(1, 4, 3)
    assert one.fingerprint != two.fingerprint
    assert group([one, two])[0].seeds == (0, 1)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (run("gdumb"), "learner"),
        (run(learner_config={"memory": 5}), "configuration"),
        (run(stream="other"), "stream"),
        (run(tasks=(Task("a"), Task("c"))), "classes, sizes, test set"),
        (run(metric="F1"), "metric"),
        (run(higher_is_better=False), "direction"),
    ],
)
def test_stack_refuses_mixtures_and_says_why(other, what):
    with pytest.raises(UsageError, match="must agree in the") as caught:
        stack([run(seed=1), other])
    assert what in str(caught.value)


def test_a_seed_counts_once():
    with pytest.raises(UsageError, match="a seed counts once"):
        group([run(seed=3), run(seed=3)])
    assert group([run(seed=None), run(seed=None)])[0].seeds == (None, None)


def test_nothing_makes_no_group():
    assert group([]) == ()
    with pytest.raises(UsageError, match="got none"):
        stack([])


def test_joint_runs_go_to_the_same_seed_on_the_same_stream():
    joint = [run("joint_incremental", seed, last=0.9 + seed / 100, role="joint") for seed in (0, 1)]
    er0, er1, er2, elsewhere, *_ = attach_joint([run(seed=0), run(seed=1), run(seed=2), run(stream="x"), *joint])
    assert er0.matrix.joint[1, 0] == 0.9
    assert er1.matrix.joint[1, 0] == 0.91
    assert er2.matrix.joint is None
    assert elsewhere.matrix.joint is None


def test_joint_runs_and_runs_with_their_own_joint_scores_stay():
    own = run(rows=(Row(0, scores={"accuracy": (0.5, 0.5)}, joint=(0.6, 0.6)),))
    given = [run("joint_incremental", role="joint"), own]
    assert attach_joint(given) == tuple(given)


def test_a_run_may_name_its_joint_learner():
    er, _ = attach_joint([run(joint_learner="oracle"), run("oracle", last=0.95)])
    assert er.matrix.joint[1, 0] == 0.95
