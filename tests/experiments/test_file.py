"""The experiment file: what is read, and what each mistake is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.experiments.file import parse, read

GOOD = """
name: digits-demo
streams: [{name: digits, tasks: 5}]
learners: [finetune, {er: {memory: 200}}, {gdumb: {memory: 200}}, joint_incremental, random]
seeds: 5
"""


def test_the_file_of_the_documentation() -> None:
    experiment = parse(GOOD)
    assert experiment.seeds == (0, 1, 2, 3, 4)
    assert [entry.label for entry in experiment.learners] == [
        "finetune",
        "er",
        "gdumb",
        "joint_incremental",
        "random",
    ]
    assert experiment.learners[1].options == {"memory": 200}
    assert experiment.streams[0].options == {"tasks": 5}
    assert experiment.plan.columns == "all"


def test_seeds_may_be_listed_and_learners_labelled() -> None:
    text = """
name: x
streams: [digits]
learners: [{er: {memory: 100}}, {er: {memory: 200}, label: er-200}]
seeds: [41, 42]
plan: {rows: [0, 4], columns: seen, every: 100, subsample: 50}
"""
    experiment = parse(text)
    assert experiment.seeds == (41, 42)
    assert [(e.name, e.label) for e in experiment.learners] == [("er", "er"), ("er", "er-200")]
    assert experiment.plan.rows == [0, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seeds: 5", "sedes: 5"), r"unknown key 'sedes'; did you mean 'seeds'\?"),
        (("seeds: 5", ""), "seeds is missing"),
        (("seeds: 5", "seeds: 0"), "at least 1"),
        (("seeds: 5", "seeds: true"), "seeds is how many"),
        (("seeds: 5", "seeds: [1, 1]"), "a seed counts once"),
        (("seeds: 5", "seeds: [a]"), r"seeds\[0\]"),
        (("seeds: 5", "seeds: 5\nplan: {row: 3}"), r"unknown key 'row' in plan; did you mean 'rows'\?"),
        (("seeds: 5", "seeds: 5\nplan: {every: 0}"), r"plan\.every: .* greater than or equal to 1; got 0"),
        (("seeds: 5", "seeds: 5\nseeds: 6"), "the key 'seeds' comes twice"),
        (("tasks: 5", "taks: 5"), r"streams\[0\].*unknown key 'taks'.*did you mean 'tasks'"),
        (("tasks: 5", "data: /x"), r"unknown key 'data'"),
        (("tasks: 5", "epochs: 5"), r"unknown key 'epochs'.*did you mean 'passes'"),
        (("memory: 200}}, {g", "memmory: 200}}, {g"), r"learners\[1\].*'memmory'; the nearest is 'memory'"),
        (("memory: 200}}, {g", "memory: 0}}, {g"), r"learners\[1\].*at least 1; got 0"),
        (("memory: 200}}, {g", "network: resnet19}}, {g"), r"learners\[1\].*the nearest is 'resnet18'; got 'resnet19'"),
        (("seeds: 5", "seeds: 100000000"), r"seeds is how many \(at least 1, at most 10,000\).*got 100000000"),
        (("seeds: 5", "seeds: [0, -1]"), r"seeds is how many.*from 0 on; got \[0, -1\]"),
        (("seeds: 5", "seeds: 5\nplan: all"), r"plan: a mapping, such as .*; got 'all'"),
        (("seeds: 5", "seeds: 5\nplan: {rows: 0}"), r"plan.rows: how many evaluations \(at least 1\).*got 0"),
        (("seeds: 5", "seeds: 5\nplan: {rows: []}"), r"plan.rows: .*a list of tasks from 0.*got \[\]"),
        (("seeds: 5", "seeds: 5\nplan: {rows: [0, -1]}"), r"plan.rows: .*got \[0, -1\]"),
        (("seeds: 5", "seeds: 5\ndevice: gpu"), "device: one of auto, cpu, cuda, cuda:N, mps; got 'gpu'"),
        (("streams: [{name: digits, tasks: 5}]", "streams: digits"), r"streams: a list, such as \[digits\]"),
        (("finetune", "'no_such_module:Mine'"), r"learners\[0\].*there is no module 'no_such_module'"),
        (("memory: 200}}, {g", "network: 'nope:make'}}, {g"), r"learners\[1\].*network 'nope:make'.*no module 'nope'"),
        (("finetune", "finetun"), r"learners\[0\].*no learner named 'finetun'; the nearest is 'finetune'"),
        (("finetune", "random"), "two learners are called 'random'"),
        (("finetune", "{er: 3}"), "the options of er are a mapping"),
        (("finetune", "{er: {}, gdumb: {}}"), "one name with its options"),
        (("name: digits-demo", "name: 3"), "name: .* valid string; got 3"),
        (("streams: [{name: digits, tasks: 5}]", "streams: []"), "streams"),
        (("streams: [{name: digits, tasks: 5}]", "streams: [{tasks: 5}]"), r"streams\[0\]: a stream is a name"),
        (("streams: [{", "streams: [{{"), "not YAML at line 3"),
    ],
)
def test_a_mistake_is_named(change: tuple[str, str], message: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(UsageError, match=f"(?s){message}") as caught:
        parse(GOOD.replace(change[0], change[1], 1), "demo.yaml")
    assert str(caught.value).startswith("demo.yaml")


@pytest.mark.parametrize("text", ["", "- a", "3", "!!python/object/apply:os.system [ls]"])
def test_what_is_no_experiment_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        read(tmp_path / "bytes.yaml")


def test_the_examples_are_read() -> None:
    for file in sorted((Path(__file__).parents[2] / "examples").glob("*.yaml")):
        assert read(file).learners
