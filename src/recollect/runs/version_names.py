"""Names of versions: the step in them, what several have in common, and which one is meant by a short name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from recollect.errors import UsageError

_STEP = re.compile(
    r"(?:^|[^a-z0-9])(?:global[-_]?step|checkpoint|ckpt|step|iter|epoch)s?[-_= ]?([0-9]{1,15})(?![0-9])", re.IGNORECASE
)
_BASE = re.compile(r"(0+[-_. ])?(base|base[-_ ]?model|pre[-_ ]?trained|untrained|initial|init)", re.IGNORECASE)
_ENDS = re.compile(r"[^A-Za-z0-9]+")


def step_of(*names: str) -> int | None:
    """The step that a revision or a path tells; the last one of the first name that has any.

    >>> step_of("", "out/checkpoint-50"), step_of("step1000", "model"), step_of("main"), step_of("70m_step8")
    (50, 1000, None, 8)
    """
    for name in names:
        found = _STEP.findall(name.replace("_", "-"))
        if found:
            return int(found[-1])
    return None


def numbers_in(names: Sequence[str]) -> list[tuple[int, ...]] | None:
    """What orders names that differ in their numbers alone (v1.9, v1.10; week-3; 2026-01-31); None where nothing does.

    A day before its month and year is not guessed at.

    >>> numbers_in(["v1.10", "v1.9"]), numbers_in(["a1", "b2"]), numbers_in(["01-02-2026", "02-01-2026"])
    ([(1, 10), (1, 9)], None, None)
    """
    shapes = {re.sub(r"[0-9]+", "#", name.lower()) for name in names}
    found = [tuple(int(digits[:18]) for digits in re.findall(r"[0-9]+", name)) for name in names]
    if len(shapes) != 1 or not found[0] or len(set(found)) != len(found):
        return None
    if any(re.search(r"(?<![0-9])[0-9]{1,2}[-_./][0-9]{1,2}[-_./](?:19|20)[0-9]{2}(?![0-9])", name) for name in names):
        return None
    return found


@lru_cache(maxsize=4096)
def is_dated(name: str) -> bool:
    """Whether a name has a date in it, year first.

    >>> is_dated("prod-2026-01-31"), is_dated("model_20260131"), is_dated("v2.1"), is_dated("seed-20261331")
    (True, True, False, False)
    """
    return (
        re.search(r"(?<![0-9])(?:19|20)[0-9]{2}([-_.]?)(0[1-9]|1[0-2])\1(0[1-9]|[12][0-9]|3[01])(?![0-9])", name)
        is not None
    )


@lru_cache(maxsize=4096)
def is_base(name: str) -> bool:
    """Whether a version is called the base.

    >>> is_base("0-base"), is_base("base@step 0"), is_base("database")
    (True, True, False)
    """
    return any(_BASE.fullmatch(piece) for piece in re.split(r"[/@]", name))


@lru_cache(maxsize=4096)
def without_step(name: str) -> str:
    """The name without its step: what the checkpoints of one training share.

    >>> without_step("out/checkpoint-50"), without_step("model@step10"), without_step("base")
    ('out', 'model', 'base')
    """
    pieces = re.split(r"([/@])", name)
    kept = "".join("" if step_of(piece) is not None else piece for piece in pieces)
    return re.sub(r"[/@]+$", "", re.sub(r"([/@])[/@]+", r"\1", kept))


def short_names(full: Sequence[str]) -> list[str]:
    """What tells names apart: without the folders, and without the revision or model, that all have in common.

    >>> short_names(["org/model@step1", "org/model@step20"]), short_names(["./ckpt/base", "./ckpt/v1"])
    (['step1', 'step20'], ['base', 'v1'])
    >>> short_names(["only/one@x"])
    ['one@x']
    """
    split = [re.split(r"[/@]", name.strip("/")) for name in full]
    if len(set(full)) == 1:
        return [full[0].rstrip("/").rsplit("/", 1)[-1]] * len(full)
    common = 0
    while all(len(parts) > common + 1 for parts in split) and len({parts[common] for parts in split}) == 1:
        common += 1
    front = f"^(?:[^/@]*[/@]){{{common}}}"
    made = [re.sub(front, "", name.strip("/")) for name in full]
    return made if len(set(made)) == len(set(full)) else list(full)


def one_named(wanted: str, names: Sequence[str], full: Sequence[str], what: str) -> int:
    """The place of the version that is meant: by its name, without regard to case, by its last part, or a part of it.

    >>> one_named("llama-3-8b", ["Llama-3-8B", "ft-1"], ["meta/Llama-3-8B", "me/ft-1"], "--base")
    0
    """
    text = wanted.strip().lower()
    lower = [(short.lower(), long.lower()) for short, long in zip(names, full, strict=True)]
    tests: Mapping[int, Sequence[bool]] = {
        0: [text in pair for pair in lower],
        1: [
            text in (re.split(r"[/@]", long.rstrip("/"))[-1], long.split("@")[0].rstrip("/").rsplit("/", 1)[-1])
            for _, long in lower
        ],
        2: [bool(text) and text in long for _, long in lower],
    }
    for test in tests.values():
        places = [place for place, is_it in enumerate(test) if is_it]
        if len(places) == 1:
            return places[0]
        if places:
            raise UsageError(f"{what} {wanted!r} may be {listed([names[p] for p in places])}: give the whole name.")
    raise UsageError(f"{what} names {wanted!r}, and there is no such version. There are: {listed(names)}.")


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names with commas, the first few if they are many.

    >>> listed(["a", "b"]), listed([str(i) for i in range(5)], most=2)
    ('a, b', '0, 1 and 3 more')
    """
    shown = [name if len(name) <= 100 else f"{name[:97]}..." for name in names[: most + 1]]
    if len(names) <= most + 1:
        return ", ".join(shown)
    return f"{', '.join(shown[:most])} and {len(names) - most} more"


def in_one_form(name: str) -> str:
    """A name as words with blanks around each, so that a task is found in a version's name between ends of words.

    >>> in_one_form("amazon") in in_one_form("2-amazon"), in_one_form("qa") in in_one_form("BoolQA")
    (True, False)
    """
    return f" {_ENDS.sub(' ', name).strip()} ".lower()
