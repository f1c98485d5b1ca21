"""One option system and one "did you mean" for learners, detectors and streams."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import UsageError
from recollect.learners import LEARNERS
from recollect.options import Rule, check, option, read


def test_difflib_suggests_names_in_one_place() -> None:
    root = Path(recollect.__file__).parent
    users = [path.relative_to(root).name for path in root.rglob("*.py") if "get_close_matches" in path.read_text()]
    assert users == ["nearest.py"]


@pytest.mark.parametrize("card", LEARNERS.values(), ids=lambda card: card.name)
def test_every_option_of_a_learner_has_a_rule_and_a_meaning(card: Any) -> None:
    assert is_dataclass(card.options)
    for one in fields(card.options):
        assert isinstance(one.metadata["rule"], Rule)
        assert one.metadata["meaning"]
    read(card.options, card.name, card.defaults)  # every default is allowed


@dataclass(frozen=True)
class Some:
    count: int = option(3, "how many", low=1, high=9)
    share: float = option(0.5, "which part", low=0, high=1, between=True)
    way: str = option("up", "where to", choices=("up", "down"))
    size: int | None = option(None, "how large", kind="int", low=1)
    loud: bool = option(False, "how loud")
    names: tuple[str, ...] | None = option(None, "who", kind="names")


@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    [
        ("count", 0, "a whole number from 1 to 9"),
        ("count", 10, "a whole number from 1 to 9"),
        ("count", 2.0, "a whole number from 1 to 9"),
        ("count", True, "a whole number from 1 to 9"),
        ("count", None, "a whole number from 1 to 9"),
        ("share", 0, "a fraction between 0 and 1"),
        ("share", 1.0, "a fraction between 0 and 1"),
        ("share", float("nan"), "a fraction between 0 and 1"),
        ("share", "much", "a fraction between 0 and 1"),
        ("way", "dwn", "one of up, down"),
        ("way", ["up"], "one of up, down"),
        ("size", 0, "a whole number of at least 1"),
        ("loud", 1, "true or false"),
        ("names", (), "a list of names, not empty"),
        ("names", "abc", "a list of names, not empty"),
    ],
)
def test_what_is_not_allowed_is_said_both_ways(name: str, wrong: Any, expected: str) -> None:
    with pytest.raises(UsageError, match=f"The option '{name}' of the thing 'it' is {expected}; got"):
        read(Some, "it", {name: wrong}, what="thing")
    with pytest.raises(UsageError, match=f"^{name} is {expected}; got"):
        check(Some(**{name: wrong}))


def test_what_is_allowed_is_taken() -> None:
    given = {"count": 9, "share": "1e-1", "way": "down", "size": None, "loud": True, "names": ("a", 3)}
    assert read(Some, "it", given) == Some(9, 0.1, "down", None, True, ("a", 3))
    check(Some(size=4))
    with pytest.raises(UsageError, match="Did you mean 'down'"):
        check(Some(way="dwn"))
