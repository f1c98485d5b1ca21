"""The schema: what is written is read back, what is newer is refused, what is broken is an error."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import UsageError
from recollect.runs import Plan, Row, Run, Source, Task, derive
from recollect.runs.codec import SCHEMA, header_from_json, header_to_json, row_from_json, row_to_json

FULL = Run(
    learner="er",
    learner_config={"memory": 200, "layers": [4, 4]},
    stream="toy",
    scenario="class-incremental",
    online=True,
    experiment="demo",
    tasks=(Task("a", 2, 10, (0, "x"), (4, 6)), Task("ü", 1), Task("held", held_out=True)),
    rows=(),
    seed=2**80,
    seeds=derive(2**80),
    metric="ROC-AUC",
    unit="percent",
    higher_is_better=False,
    plan=Plan((0, 1), "seen", 5, 100),
    learned_at={0: 3, 1: 7},
    data_hash="f00d",
    status="failed",
    error="it broke",
    joint_learner="joint",
    versions={"python": "3"},
    revision="abc",
    created="2024-01-01",
    finished="2024-01-02",
    timings={"train": 1.5},
    cost={"samples": 200, "bytes": 12800},
    source=Source("tool", "file.csv", "00", "1.2"),
    notes=("a note",),
)

# One record as version 1 wrote it, kept for ever.
VERSION_1 = """{"schema": 1, "status": "finished", "learner": "er", "stream": {"name": "toy", "tasks":
 [{"name": "a", "n_classes": 2, "n_samples": 10}]}, "seed": 0, "metric": "accuracy", "unit": "fraction",
 "higher_is_better": true, "plan": {"columns": "all"}}"""


def test_every_field_of_a_header_comes_back():
    back = header_from_json(json.loads(json.dumps(header_to_json(FULL))))
    assert vars(back) == vars(replace(FULL))


def test_that_no_task_was_learned_comes_back_and_is_not_unknown():
    for learned_at in ({}, None):
        back = header_from_json(json.loads(json.dumps(header_to_json(replace(FULL, learned_at=learned_at)))))
        assert back.learned_at == learned_at


def test_version_1_is_read_for_ever():
    run = header_from_json(json.loads(VERSION_1))
    assert (run.learner, run.seed, run.status, run.tasks[0].n_samples) == ("er", 0, "finished", 10)


def test_fields_that_a_later_version_of_this_schema_adds_are_no_harm():
    assert header_from_json({**json.loads(VERSION_1), "colour": "blue"}).learner == "er"


def test_a_newer_schema_says_what_to_do():
    with pytest.raises(UsageError, match=f"schema {SCHEMA + 1}.*pip install -U recollect"):
        header_from_json({**json.loads(VERSION_1), "schema": SCHEMA + 1})


@pytest.mark.parametrize("schema", [None, 0, "1", 1.0, True, -1])
def test_what_has_no_version_is_no_run(schema):
    with pytest.raises(UsageError, match="not a run of Recollect"):
        header_from_json({**json.loads(VERSION_1), "schema": schema})


@pytest.mark.parametrize(
    "change",
    [
        {"learner": 3},
        {"learner": None},
        {"stream": []},
        {"stream": {"name": "x"}},
        {"stream": {"name": "x", "tasks": 5}},
        {"stream": {"name": "x", "tasks": [3]}},
        {"stream": {"name": "x", "tasks": [{"name": "a", "n_samples": "9"}]}},
        {"seed": 1.5},
        {"seeds": {"class_order": 1}},
        {"plan": {"rows": "all"}},
        {"plan": {"columns": "none"}},
        {"learned_at": {"0": 1}},
        {"unit": ["percent"]},
        {"status": {}},
        {"source": {"url": "x"}},
        {"notes": [1]},
        {"timings": [1]},
        {"created": 5},
    ],
)
def test_a_header_that_is_damaged_is_a_usage_error(change):
    with pytest.raises(UsageError):
        header_from_json({**json.loads(VERSION_1), **change})


counts = st.none() | st.integers(0, 2**53)
scores = st.none() | st.floats(-(2**53), 2**53, allow_nan=False, width=32)
columns = st.lists(scores).map(tuple)


@given(
    st.builds(
        Row,
        after=st.integers(-1, 100),
        step=st.none() | st.integers(0),
        task_end=st.booleans(),
        scores=st.dictionaries(st.text(), columns),
        correct=st.none() | st.lists(counts).map(tuple),
        n=st.none() | st.lists(counts).map(tuple),
        restricted=st.none() | st.lists(st.lists(counts).map(tuple)).map(tuple),
        masked=st.none() | st.lists(counts).map(tuple),
        joint=st.none() | columns,
        errors=st.dictionaries(st.sampled_from(("older", "own", "newer")), st.lists(counts).map(tuple)),
        standard_error=st.none() | columns,
        reasons=st.dictionaries(st.text(), st.dictionaries(st.text(), st.text())),
        reason=st.none() | st.text(),
        state=st.none() | st.text(),
        notes=st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False)),
    )
)
def test_every_row_comes_back(row):
    assert row_from_json(json.loads(json.dumps(row_to_json(row), allow_nan=False)), "accuracy") == row


def test_nan_is_null_and_infinity_is_refused():
    assert row_to_json(Row(0, scores={"accuracy": (float("nan"), 0.5)}))["scores"] == {"accuracy": [None, 0.5]}
    for wrong in (Row(0, scores={"accuracy": (float("inf"),)}), Row(0, correct=(2**60,))):
        with pytest.raises(UsageError, match="finite number"):
            row_to_json(wrong)


@pytest.mark.parametrize(
    "line",
    [
        None,
        [],
        {},
        {"after": "0"},
        {"after": True},
        {"after": 0, "score": 0.5},
        {"after": 0, "score": ["0.5"]},
        {"after": 0, "correct": [0.5]},
        {"after": 0, "correct": [True]},
        {"after": 0, "restricted": [3]},
        {"after": 0, "restricted": 3},
        {"after": 0, "step": "x"},
        {"after": 0, "extra": 3},
        {"after": 0, "scores": [0.5]},
        {"after": 0, "scores": {"f1": ["0.5"]}},
        {"after": 0, "errors": {"own": [0.5]}},
        {"after": 0, "standard_error": 0.1},
        {"after": 0, "reasons": {"f1": "none"}},
        {"after": 0, "reasons": {"f1": {"a": 3}}},
        {"after": 0, "reason": 3},
        {"after": 0, "notes": []},
    ],
)
def test_a_line_that_is_no_row_is_refused(line):
    with pytest.raises((ValueError, TypeError)):
        row_from_json(line, "accuracy")


def test_names_and_standard_errors_of_rows_come_back():
    row = Row(0, scores={"accuracy": (0.5, None)}, standard_error=(0.1, None), name="step 3")
    assert row_from_json(json.loads(json.dumps(row_to_json(row))), "accuracy") == row


def test_a_row_that_is_read_is_as_one_that_is_made() -> None:
    read, made = (
        row_from_json({"after": 0, "scores": {"accuracy": [0.5]}}, "accuracy"),
        Row(0, scores={"accuracy": (0.5,)}),
    )
    assert read == made
    assert list(vars(read)) == list(vars(made))
    assert read.notes is not row_from_json({"after": 0}, "accuracy").notes, "each has its own"
