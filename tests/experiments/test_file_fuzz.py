"""An experiment file with a wrong value at any key is one sentence, never a traceback."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from recollect.errors import RecollectError
from recollect.experiments.file import parse
from recollect.experiments.running import checked

VALID: dict[str, Any] = {
    "name": "e",
    "streams": [{"name": "digits", "label": "d", "tasks": 5, "batch": 10, "subset": {"train": 20, "test": 10}}],
    "learners": [{"er": {"memory": 20, "lr": 0.1}, "label": "er", "plan": {"rows": 2}}, "random"],
    "seeds": [0, 1],
    "plan": {"columns": "seen", "every": 50, "subsample": 5},
    "target": "accuracy",
    "device": "cpu",
}
WRONG: list[Any] = [
    None,
    True,
    -1,
    0,
    2.5,
    float("nan"),
    "",
    "no such thing",
    [],
    {},
    [[1]],
    {"a": {"b": 1}},
    2**70,
    datetime.date(2020, 1, 1),
    b"bytes",
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a nested value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(VALID)
    at: Any = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


def refusal(text: str, out: Path) -> RecollectError | None:
    try:
        checked(parse(text), out)
    except RecollectError as error:
        return error
    return None


@pytest.mark.parametrize("path", list(places(VALID)), ids=lambda path: ".".join(map(str, path)))
def test_a_wrong_value_is_refused_or_runs(path: tuple[Any, ...], tmp_path: Path) -> None:
    refused = [error for value in WRONG if (error := refusal(yaml.safe_dump(changed(path, value)), tmp_path))]
    assert {error.exit_code for error in refused} == {2}
    assert max(len(str(error)) for error in refused) < 2000
    assert len(refused) >= len(WRONG) // 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "seeds: " + "9" * 6000,
        "{seeds: [" + "9" * 6000 + "]}",
        "[" * 5000,
        "a: &a [*a]",
        "{? [1, 2] : 3}",
        "{1: 2, true: 3}",
        "!!python/object/apply:os.system [true]",
        "\0",
        "name: \udcff",
        "- just\n- a list",
        "2020-99-99",
        "a: 1:99:99e",
        "x: !!binary '***'",
        "x: !!timestamp nonsense",
    ],
)
def test_what_is_no_experiment_is_one_sentence(text: str) -> None:
    with pytest.raises(RecollectError) as caught:
        parse(text)
    assert caught.value.exit_code == 2
    assert len(str(caught.value)) < 2000
