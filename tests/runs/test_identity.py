"""What makes two runs seeds of one learner, and what a folder refuses."""

import json
from dataclasses import replace

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs import Row, Run, Task, group, stack
from recollect.runs.identity import Identity, plain
from recollect.runs.reading import read_run
from recollect.runs.store import RunFolder

WHO = Identity("mine:Mine", {"lr": 0.1}, {"mine": "aa"}, "t1", {"batch": 10}, "accuracy", "o1", "w1")
PLANNED = Run(learner="mine", stream="toy", seed=0, tasks=(Task("a"), Task("b")), rows=(), identity=WHO)
CHANGES = {
    "learner": ({"learner": "other:Mine"}, "the learner was mine:Mine and is other:Mine now"),
    "option": ({"options": {"lr": 0.2}}, "the option lr was 0.1 and is 0.2 now"),
    "new option": ({"options": {"lr": 0.1, "k": 1}}, "the option k is 1 and was not given then"),
    "code": ({"code": {"mine": "bb"}}, "the code of mine was changed"),
    "helper": ({"code": {"mine": "aa", "tool": "cc"}}, "the code of tool is used now"),
    "training": ({"training": "t2"}, "the training samples are others"),
    "batch": ({"feeding": {"batch": 20}}, "batch was 10 and is 20 now"),
    "target": ({"target": "f1"}, "the target was accuracy and is f1 now"),
    "order": ({"order": "o2"}, "other tasks or in another order"),
    "start": ({"start": "w2"}, "has other weights"),
}


def record(folder, run=PLANNED, finish=False, rows=1):
    with RunFolder.open(folder, run) as saved:
        for k in range(rows):
            saved.append(Row(k, scores={"accuracy": (0.5, 0.5)}))
        if finish:
            saved.finish()


@pytest.mark.parametrize("finish", [False, True])
@pytest.mark.parametrize("what", CHANGES)
def test_a_folder_refuses_another_identity_and_is_not_touched(tmp_path, what, finish):
    change, said = CHANGES[what]
    record(tmp_path / "r", finish=finish)
    before = (tmp_path / "r/run.json").read_bytes()
    with pytest.raises(UsageError, match="holds another run") as caught:
        RunFolder.open(tmp_path / "r", replace(PLANNED, identity=replace(WHO, **change)))
    assert said in str(caught.value)
    assert caught.value.exit_code == 2
    assert (tmp_path / "r/run.json").read_bytes() == before


def test_the_same_identity_goes_on(tmp_path):
    record(tmp_path / "r")
    with RunFolder.open(tmp_path / "r", replace(PLANNED, identity=Identity.from_json(WHO.to_json()))) as saved:
        assert len(saved.rows) == 1


def test_code_that_could_not_be_read_is_not_held_against_a_run(tmp_path):
    record(tmp_path / "r")
    unknown = replace(WHO, code={"mine": "unknown"})
    RunFolder.open(tmp_path / "r", replace(PLANNED, identity=unknown)).close()


def test_a_run_without_rows_takes_what_is_asked_for_now(tmp_path):
    record(tmp_path / "r", rows=0)
    changed = replace(PLANNED, identity=replace(WHO, options={"lr": 9.0}), learner_config={"lr": 9.0})
    record(tmp_path / "r", changed)
    assert read_run(tmp_path / "r").identity == changed.identity
    record(tmp_path / "empty", rows=0)
    with pytest.raises(UsageError, match="the seed was 0 and is 1 now"):
        RunFolder.open(tmp_path / "empty", replace(PLANNED, seed=1))


def test_a_record_without_identity_goes_on_where_what_it_says_agrees(tmp_path):
    old = replace(PLANNED, identity=None, learner_config={"memory": 9})
    record(tmp_path / "r", old)
    asked = replace(PLANNED, learner_config={"memory": 9, "more": 1})
    with RunFolder.open(tmp_path / "r", asked) as saved:
        assert saved.run.identity is None  # what made its rows cannot be told
    with pytest.raises(UsageError, match="the option memory was 9 and is 8 now"):
        RunFolder.open(tmp_path / "r", replace(asked, learner_config={"memory": 8}))


def test_an_identity_that_is_none_is_a_damaged_header(tmp_path):
    from recollect.runs.codec import header_from_json, header_to_json

    header = header_to_json(PLANNED)
    for wrong in ({"options": []}, {"learner": 3}, [], "x", {"code": None}):
        with pytest.raises(UsageError, match="not a run header"):
            header_from_json({**header, "identity": wrong})
    assert header_from_json(json.loads(json.dumps(header))).identity == WHO


def seeds(*changes):
    return [
        replace(PLANNED, seed=k, status="finished", identity=change, rows=(Row(0, scores={"accuracy": (0.5, 0.1)}),))
        for k, change in enumerate(changes)
    ]


def test_seeds_share_all_but_order_and_weights():
    runs = seeds(WHO, replace(WHO, order="o2", start="w2"))
    assert [len(one.runs) for one in group(runs)] == [2]
    assert stack(runs).seeds == (0, 1)


@pytest.mark.parametrize("what", [name for name in CHANGES if name not in ("order", "start")])
def test_runs_of_two_identities_are_never_averaged(what):
    change, said = CHANGES[what]
    runs = seeds(WHO, replace(WHO, **change), WHO)
    assert [one.seeds for one in group(runs)] == [(0, 2), (1,)]
    with pytest.raises(UsageError, match="are of one learner") as caught:
        stack(runs)
    assert said in str(caught.value)


def test_a_run_without_identity_joins_where_there_is_one_and_stands_alone_among_two():
    assert [one.seeds for one in group(seeds(None, WHO, WHO))] == [(0, 1, 2)]
    two = seeds(None, WHO, replace(WHO, training="t2"))
    assert [one.seeds for one in group(two)] == [(0,), (1,), (2,)]


def test_tables_tell_two_versions_of_a_method_apart():
    from recollect.report.summary import labels_of

    names = labels_of(group(seeds(WHO, replace(WHO, code={"mine": "bbccdd"}))))
    assert names == ["mine (code=aa)", "mine (code=bbccdd)"]


class Thing:
    def __init__(self, lr):
        self.lr, self._hidden, self.fitted_ = lr, 1, 2


def test_objects_are_told_by_what_they_were_made_with():
    from sklearn.linear_model import SGDClassifier

    assert plain(Thing(0.5)) == {f"{__name__}:Thing": {"lr": 0.5}}
    made = plain(SGDClassifier(alpha=0.3))["sklearn.linear_model._stochastic_gradient:SGDClassifier"]
    assert (made["alpha"], made["penalty"]) == (0.3, "l2")
    assert plain(np.float32(2)) == 2.0
    assert plain({1: {3, 2}}) == {"1": [2, 3]}
    assert plain(list(range(60))) != plain(list(range(1, 61)))
    assert plain(np.arange(4)) != plain(np.arange(1, 5))


def test_a_list_in_itself_ends():
    endless = []
    endless.append(endless)
    json.dumps(plain(endless))


def test_every_start_is_in_the_record_and_other_versions_are_a_note(tmp_path):
    first = replace(PLANNED, versions={"python": "3.11", "numpy": "1.0"}, revision="abc")
    record(tmp_path / "r", first)
    record(tmp_path / "r", first, rows=0)
    assert [start.rows for start in read_run(tmp_path / "r").starts] == [0, 1]
    assert read_run(tmp_path / "r").notes == ()
    with RunFolder.open(
        tmp_path / "r", replace(first, versions={"python": "3.11", "numpy": "2.0"}, revision="d")
    ) as on:
        on.append(Row(1, scores={"accuracy": (0.5, 0.5)}))
        on.finish(notes=("own",))
    run = read_run(tmp_path / "r")
    assert run.versions == {"python": "3.11", "numpy": "1.0"}
    assert [(start.versions["numpy"], start.revision) for start in run.starts] == [
        ("1.0", "abc"),
        ("1.0", "abc"),
        ("2.0", "d"),
    ]
    assert run.notes == ("after 1 rows it went on under other versions: numpy 2.0, before 1.0", "own")


def test_an_option_that_came_later_is_the_same_as_not_given_only_with_its_default() -> None:
    before, with_it = Identity("er", {"memory": 9}), Identity("er", {"memory": 9, "head": "linear"})
    asked = Identity("er", {"memory": 9}, later={"head": "linear"})
    other = Identity("er", {"memory": 9, "head": "cosine"}, later={"head": "linear"})
    assert list(before.differences(asked)) == []
    assert list(with_it.differences(asked)) == []
    assert list(before.differences(other)) == ["the option head is 'cosine' and was not given then"]
    assert list(with_it.differences(other)) == ["the option head was 'linear' and is 'cosine' now"]
    assert asked.to_json() == before.to_json()
    assert asked.shared == before.shared
