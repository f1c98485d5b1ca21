from __future__ import annotations

import contextlib
import math
import time

import pytest

from recollect.runs.importers.literals import OPAQUE, NotALiteral, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        (
            "{'a': 1, \"b\": [1.5, -2, 3e-4], 'c': (1,), 'd': ()}",
            {"a": 1, "b": [1.5, -2, 3e-4], "c": (1,), "d": ()},
        ),
        ("{'a\\'b': 'c\\nd', 'e': u'f', 'g': r'h\\i'}", {"a'b": "c\nd", "e": "f", "g": "h\\i"}),
        ("np.float64(88.5)", 88.5),
        ("tensor(0.5, device='cuda:0')", 0.5),
        ("array([1.0, 2.0])", [1.0, 2.0]),
        ("device(type='cuda', index=0)", OPAQUE),
        ("<function <lambda> at 0x7f>", OPAQUE),
        ("Namespace(a=1, b=[2])", OPAQUE),
        ("{1, 2}", OPAQUE),
        ("[1, ..., 2]", [1, OPAQUE, 2]),
        ("{(1, 2): 3, 'a': SomeEnum.VALUE}", {"a": OPAQUE}),
        ("[None, True, False]", [None, True, False]),
    ],
)
def test_values(text, value):
    assert parse(text) == value


def test_nan_and_inf():
    nan, inf, minus = parse("[nan, inf, -inf]")
    assert math.isnan(nan)
    assert (inf, minus) == (math.inf, -math.inf)


@pytest.mark.parametrize(
    "text",
    ["", "{", "{'a'", "{'a': 1", "[1 2]", "1 + 1", "a.b().c", "'open", "{'a': }", "lambda: 1", "[" * 500],
)
def test_what_is_no_literal(text):
    with pytest.raises(NotALiteral):
        parse(text)


@pytest.mark.parametrize(
    "text", ["[" + "1, " * 50_000 + "]", "'" + "\\" * 50_001, "<" * 50_000, "(" * 50_000, "-" * 50_000]
)
def test_long_texts_take_linear_time(text):
    started = time.process_time()
    with contextlib.suppress(NotALiteral):
        parse(text)
    assert time.process_time() - started < 2
