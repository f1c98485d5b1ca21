"""How a matrix, a run and a comparison show themselves in a notebook: small HTML, every name escaped."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.matrix import Array, ScoreMatrix
from recollect.report.words import Words, interval, shown, words_for
from recollect.runs import Group
from recollect.stats import estimate

if TYPE_CHECKING:
    from recollect.report.comparison import Comparison, StreamComparison
    from recollect.runs import Run

# More tasks than this are a picture, not a table.
MOST_CELLS = 20
_TASKS = Words()
_LOW, _HIGH = np.array([246, 243, 234]), np.array([18, 63, 107])


def matrix_html(matrix: ScoreMatrix, words: Words = _TASKS) -> str:
    """The mean over runs as a table shaded by score, or as a picture where it is large.

    >>> html = matrix_html(ScoreMatrix([[.8, None], [.6, .9]], names=["<a>", "b"]))
    >>> "&lt;a&gt;" in html, ".80" in html
    (True, True)
    """
    R = matrix.R.reshape(-1, matrix.S, matrix.T)
    scores = np.asarray(estimate(R).value)
    known = scores[np.isfinite(scores)]
    low, high = (0.0, 1.0) if matrix.unit != "raw" or not known.size else (float(known.min()), float(known.max()))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.clip((scores - low) / ((high - low) or 1.0), 0, 1)
    what = f"mean of {len(R)} runs" if len(R) > 1 else "one run"
    rows = f"{matrix.S} {words.rows}" if words.by_rows else f"{matrix.S} rows (time)"
    caption = f"Score matrix: {rows}, {matrix.T} {words.tasks}, {what}."
    if max(matrix.S, matrix.T) > MOST_CELLS:
        return f"<figure><figcaption>{caption}</figcaption>{_picture(shares, caption)}</figure>"
    names = matrix.names or tuple(str(j + 1) for j in range(matrix.T))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    lines = []
    for i in range(matrix.S):
        cells = "".join(_cell(scores[i, j], shares[i, j]) for j in range(matrix.T))
        lines.append(f'<tr><th scope="row">{i + 1}</th>{cells}</tr>')
    if matrix.b is not None and np.isfinite(matrix.b).any():
        b = np.asarray(estimate(matrix.b.reshape(-1, matrix.T)).value)
        cells = "".join(_cell(v, np.clip((v - low) / ((high - low) or 1.0), 0, 1)) for v in b)
        lines.insert(0, f'<tr><th scope="row">untrained</th>{cells}</tr>')
    return _table(caption, f"<th></th>{head}", lines)


def run_html(run: Run) -> str:
    """Who, where, which seed, and the matrix."""
    words = words_for(Group((run,)))
    facts = [
        run.scenario or "",
        f"{run.T} {words.tasks}",
        words.score,
        f"status {run.status}",
        f"fingerprint {run.fingerprint}",
    ]
    about = escape(" · ".join(fact for fact in facts if fact))
    return f"<p><b>{escape(run.name)}</b><br>{about}</p>{matrix_html(run.matrix, words)}"


def comparison_html(comparison: Comparison) -> str:
    """The learners of each stream and their paired differences."""
    return "".join(_stream(one, comparison.metric.card.id) for one in comparison.streams)


def _stream(one: StreamComparison, id: str) -> str:
    learners = [
        _row(label, shown(float(e.value)), interval(float(e.low), float(e.high)), str(e.n))
        for label, e in ((label, line.estimate) for label, line in zip(one.labels, one.lines, strict=True))
    ]
    pairs = [
        _row(
            f"{pair.first} − {pair.second}",
            shown(float(pair.comparison.difference.value)),
            interval(float(pair.comparison.difference.low), float(pair.comparison.difference.high)),
            shown(pair.holm_p, 3),
            shown(pair.comparison.smallest_p, 3),
        )
        for pair in one.compared.pairs
    ]
    heads = ("learner", id, "95 % interval", "n"), ("difference", id, "95 % interval", "p (Holm)", "smallest p")
    first, second = ("".join(f'<th scope="col">{escape(h)}</th>' for h in head) for head in heads)
    made = _table(f"Learners on {one.stream}", first, learners)
    return made + (_table(f"Pairs on {one.stream}", second, pairs) if pairs else "")


def _row(name: str, *cells: str) -> str:
    return f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{escape(c)}</td>" for c in cells)}</tr>'


def _table(caption: str, head: str, rows: list[str]) -> str:
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _cell(score: float, share: float) -> str:
    if np.isnan(score):
        return "<td></td>"
    red, green, blue = _shade(np.array([share]))[0]
    ink = "#fff" if share > 0.55 else "#1d1c1a"
    text = shown(float(score), 2).replace("0.", ".", 1) if abs(score) < 1 else shown(float(score), 2)
    return f'<td style="background:rgb({red},{green},{blue});color:{ink}">{text}</td>'


def _shade(shares: Array) -> NDArray[np.uint8]:
    filled = np.nan_to_num(shares)[..., None]
    shade: NDArray[np.uint8] = np.rint(_LOW + (_HIGH - _LOW) * filled).astype(np.uint8)
    return shade


def _picture(shares: Array, caption: str) -> str:
    """The matrix as a PNG inside the page, a pixel a cell, white where not evaluated."""
    pixels = np.where(np.isnan(shares)[..., None], np.uint8(255), _shade(shares))
    rows, columns = shares.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
    style = "image-rendering:pixelated;width:320px;max-width:100%"
    return f'<img src="data:image/png;base64,{png}" alt="{escape(caption)}" style="{style}">'
