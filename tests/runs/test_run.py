"""What a run refuses to be."""

import pytest

from recollect.errors import UsageError
from recollect.runs import Plan, Run, Task


@pytest.mark.parametrize(
    "field", [{"scenario": "incremental"}, {"status": "done"}, {"unit": "%"}, {"plan": Plan(columns="some")}]
)
def test_words_with_a_fixed_meaning_are_checked(field):
    with pytest.raises(UsageError, match="is one of"):
        Run(learner="er", stream="toy", tasks=(Task("a"),), rows=(), **field)


def test_name_tells_runs_apart():
    assert Run(learner="er", stream="toy", tasks=(), rows=()).name == "er on toy"
    assert Run(learner="er", stream="toy", seed=0, tasks=(), rows=()).name == "er on toy, seed 0"


def test_everything_that_is_promised_is_there():
    import recollect.runs

    for name in recollect.runs.__all__:
        assert getattr(recollect.runs, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = recollect.runs.nothing
