"""What a notebook shows of a matrix, a run and a comparison."""

from __future__ import annotations

import base64
import re
import struct
import zlib

import numpy as np

from recollect import ScoreMatrix
from recollect.metrics import registry
from recollect.report.comparison import compare
from recollect.report.notebook import comparison_html, matrix_html, run_html
from tests.report.samples import make_groups, make_run


def test_a_small_matrix_is_a_table() -> None:
    html = matrix_html(ScoreMatrix([[[0.8, 0.1], [0.6, 0.9]], [[0.6, 0.3], [0.4, 0.7]]], b=[0.5, 0.5]))
    assert re.findall(r">(-?\d?\.\d\d)<", html) == [".50", ".50", ".70", ".20", ".50", ".80"]
    assert "mean of 2 runs" in html


def test_not_evaluated_is_empty() -> None:
    assert "<td></td>" in matrix_html(ScoreMatrix([[0.8, None], [0.6, 0.9]]))


def test_a_large_matrix_is_a_picture() -> None:
    html = matrix_html(ScoreMatrix(np.tile(np.linspace(0, 1, 30), (30, 1))))
    found = re.search(r"base64,([^\"]+)", html)
    assert found
    png = base64.b64decode(found[1])
    assert struct.unpack(">II", png[16:24]) == (30, 30)
    length = struct.unpack(">I", png[33:37])[0]
    pixels = zlib.decompress(png[41 : 41 + length])
    assert len(pixels) == 30 * (1 + 30 * 3)
    assert tuple(pixels[1:4]) == (246, 243, 234)
    assert 'alt="Score matrix: 30 rows' in html


def test_names_are_escaped() -> None:
    run = make_run("<script>alert(1)</script>", 0, 3, stream="<b>", name=lambda j: f"<i>{j}")
    html = run_html(run)
    assert "<script>" not in html
    assert "<i>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; on &lt;b&gt;, seed 0" in html


def test_a_comparison() -> None:
    html = comparison_html(compare(make_groups(), registry.get("acc.average")))
    assert html.count("<table>") == 2
    assert "er − finetune" in html or "finetune − er" in html
    assert "smallest p" in html
