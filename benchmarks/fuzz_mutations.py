"""Ways to spoil a file: bytes, lines, numbers, structures (JSON values, pickled objects, arrays, archives).

Every function takes a `random.Random` and the bytes of a good file, and gives the bytes of a bad one. Used by
`fuzz_readers.py`.
"""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import re
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from recollect.errors import UsageError
from recollect.runs.safe_pickle import load

Mutation = Callable[[Random, bytes], bytes]

NUMBERS = (
    b"nan", b"inf", b"-inf", b"1e308", b"-1e308", b"1e-320", b"0", b"-0.0", b"-1", b"2", b"101", b"9" * 30,
    b"9" * 5000, b"1_000", b"0x10", b"1e999", b"", b"None", b"true", b"1.5.2", b"\xd9\xa3",
    b"1" + b"0" * 400,
)  # fmt: skip
WORDS = (
    b"\0", b"\n", b"\r\n", b"'", b'"', b"{", b"}", b"[", b"]", b"(", b")", b",", b";", b"\t", b"|", b":",
    b"\\", b"%", b"<", b">", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"=> CNN: {",
    b"task 0", b"after", b"None", b"__import__('os')", b"np.float64(", b"device(type='cuda')", b"-", b".",
    b"1e", b"{{{{", b"[[[[", b"((((",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2, 1e308, float("nan"), float("inf"), 10**30, 10**400, "", "x", "0.5",
    "<not serializable>", [], {}, [[]], [0.5], [[0.5]], {"a": 0.5}, [None], ["x"], [[0.1, 0.2], [0.3]],
    "\n", "\ud800", -0.0, 101.5,
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def flip_bytes(rng: Random, data: bytes) -> bytes:
    spoiled = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if spoiled:
            spoiled[rng.randrange(len(spoiled))] = rng.randrange(256)
    return bytes(spoiled)


def truncate(rng: Random, data: bytes) -> bytes:
    cut = rng.randrange(len(data) + 1)
    return data[:cut] if rng.random() < 0.7 else data[cut:]


def insert_word(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(WORDS) * rng.choice((1, 1, 1, 3, 2000)) + data[at:]


def splice(rng: Random, data: bytes) -> bytes:
    a, b, c = (rng.randrange(len(data) + 1) for _ in range(3))
    a, b = min(a, b), max(a, b)
    return data[:c] + data[a:b] + data[c:] if rng.random() < 0.5 else data[:a] + data[b:]


def change_lines(rng: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        lines.insert(j, lines[i])
    elif how == 1:
        del lines[i]
    elif how == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[i:i] = [lines[i]] * rng.choice((2, 50, 500))
    return b"\n".join(lines)


def change_numbers(rng: Random, data: bytes) -> bytes:
    places = list(_NUMBER.finditer(data))
    for _ in range(rng.choice((1, 1, 2, 5))):
        if not places:
            break
        place = places.pop(rng.randrange(len(places)))
        # Positions may have moved by then: that spoils the file just as well.
        data = data[: place.start()] + rng.choice(NUMBERS) + data[place.end() :]
    return data


def change_fields(rng: Random, data: bytes) -> bytes:
    mark = rng.choice((b",", b"\t", b" ", b";"))
    fields = data.split(mark)
    i, j = rng.randrange(len(fields)), rng.randrange(len(fields))
    how = rng.randrange(3)
    if how == 0:
        fields[i], fields[j] = fields[j], fields[i]
    elif how == 1:
        del fields[i]
    else:
        fields.insert(i, rng.choice(NUMBERS))
    return mark.join(fields)


def nest(rng: Random, data: bytes) -> bytes:
    """A depth bomb in front of, inside or instead of the content."""
    opening, closing = rng.choice(
        ((b"[", b"]"), (b"{'a':", b"}"), (b'{"a":', b"}"), (b"(", b")"), (b"]", b"a"), (b"(", b"t"))
    )
    depth = rng.choice((10, 60, 1000, 20_000))
    inner = rng.choice((b"", b"1", data[:200]))
    bomb = opening * depth + inner + closing * (depth if rng.random() < 0.7 else 0)
    at = rng.randrange(len(data) + 1)
    return bomb if rng.random() < 0.5 else data[:at] + bomb + data[at:]


def recode(rng: Random, data: bytes) -> bytes:
    text = data.decode("latin-1")
    return text.encode(rng.choice(("utf-16", "utf-16-le", "utf-8-sig", "utf-32", "latin-1", "cp500")))


def _spoil_value(rng: Random, value: Any, chance: float) -> Any:
    if rng.random() < chance:
        return rng.choice(VALUES)
    if isinstance(value, dict):
        made = {key: _spoil_value(rng, item, chance) for key, item in value.items()}
        if made and rng.random() < 0.2:
            del made[rng.choice(list(made))]
        return made
    if isinstance(value, list):
        made_list = [_spoil_value(rng, item, chance) for item in value]
        if made_list and rng.random() < 0.1:
            made_list.insert(rng.randrange(len(made_list)), rng.choice(VALUES))
        if made_list and rng.random() < 0.1:
            made_list.pop(rng.randrange(len(made_list)))
        return made_list
    return value


def spoil_json(rng: Random, data: bytes) -> bytes:
    try:
        value = json.loads(data)
    except ValueError:
        return flip_bytes(rng, data)
    return json.dumps(_spoil_value(rng, value, rng.choice((0.005, 0.05, 0.3)))).encode()


def _spoil_array(rng: Random, array: np.ndarray[Any, Any]) -> Any:
    how = rng.randrange(9)
    if how == 0:
        return array.astype(rng.choice(["f2", "f4", "i4", "u1", "U5", "S3", "c16", "O", ">f8", "?"]))
    if how == 1:
        return array[..., None]
    if how == 2 and array.ndim:
        return array[0]
    if how == 3:
        return array.reshape(-1)
    if how == 4 and array.size and array.dtype.kind == "f":
        spoiled = array.copy()
        spoiled.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf, -1, 2, 1e4])
        return spoiled
    if how == 5 and array.ndim:
        return array[: rng.randrange(array.shape[0] + 1)]
    if how == 6:
        return array.tolist()
    if how == 7:
        return np.asfortranarray(array)
    return np.broadcast_to(array, (rng.choice((1, 3)), *array.shape)).copy()


def _spoil_object(rng: Random, value: Any, chance: float) -> Any:
    if isinstance(value, np.ndarray) and rng.random() < max(chance, 0.4):
        return _spoil_array(rng, value)
    if rng.random() < chance:
        return rng.choice((*VALUES, b"x", (1, 2), {1, 2}, np.float32(2), np.zeros((0, 2)), np.array(["a"])))
    if isinstance(value, dict):
        return {key: _spoil_object(rng, item, chance) for key, item in value.items() if rng.random() > 0.05}
    if isinstance(value, list):
        return [_spoil_object(rng, item, chance) for item in value]
    return value


def spoil_pickle(rng: Random, data: bytes) -> bytes:
    """The same results with wrong types, shapes and keys, pickled again; loaded by the safe reader only."""
    try:
        value = load(data)
    except UsageError:
        return flip_bytes(rng, data)
    try:
        return pickle.dumps(_spoil_object(rng, value, rng.choice((0.0, 0.02, 0.2))), protocol=rng.randrange(6))
    except (ValueError, UnicodeError):
        return flip_bytes(rng, data)


def spoil_opcodes(rng: Random, data: bytes) -> bytes:
    """Instructions of a pickle left out, doubled, swapped, or put in from a list of bad ones."""
    try:
        starts = [at for _, _, at in pickletools.genops(data) if at is not None]
    except (ValueError, UnicodeError):
        starts = list(range(0, len(data), 7))
    pieces = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
    bad = (
        b"cos\nsystem\n", b"cbuiltins\neval\n", b"(", b"t", b"R", b"b", b"0", b"2", b"]", b"}", b"u", b"e",
        b"s", b"a", b"N", b"\x94", b"h\x00", b"h\x05", b"\x93", b"\x81", b"I9999999999\n", b"F1e400\n",
        b"\x85", b"\x86", b".", b"Q", b"r\xff\xff\xff\xff", b"\x8a\xff" + b"\xff" * 255, b"\x8e" + b"\xff" *
        8, b"X\xff\xff\xff\xff", b"cnumpy\nndarray\n", b"cnumpy\ndtype\n",
        b"cnumpy.core.multiarray\n_reconstruct\n", b"cnumpy.core.multiarray\nscalar\n",
        b"ccollections\nOrderedDict\n", b"\x8f", b"\x90",
    )  # fmt: skip
    for _ in range(rng.choice((1, 1, 2, 4))):
        i, j = rng.randrange(len(pieces)), rng.randrange(len(pieces))
        how = rng.randrange(4)
        if how == 0 and len(pieces) > 1:
            del pieces[i]
        elif how == 1:
            pieces.insert(j, pieces[i])
        elif how == 2:
            pieces[i], pieces[j] = pieces[j], pieces[i]
        else:
            pieces.insert(i, rng.choice(bad))
    return b"".join(pieces)


def spoil_npy(rng: Random, data: bytes) -> bytes:
    size = int.from_bytes(data[8:10], "little")
    header = data[10 : 10 + size]
    swaps = (
        (
            rb"'<f8'",
            rng.choice((b"'|O'", b"'<f4'", b"'V8'", b"'<U9'", b"[('a', '<f8')]", b"'<f99'", b"8", b"'<M8[s]'")),
        ),
        (
            rb"\([^)]*\)",
            rng.choice((b"(10000000000, 10)", b"(-1,)", b"()", b"(2, 2)", b"(0,)", b"(1e9,)", b"(2L, 2L)")),
        ),
        (rb"False", rng.choice((b"True", b"None", b"0"))),
        (rb"'shape'", rng.choice((b"'shap'", b"b'shape'", b"shape"))),
        (rb"\}", rng.choice((b"", b"}}", b", 'x': " + b"(" * 300 + b"}", b"}" * 9000))),
    )
    pattern, new = rng.choice(swaps)
    header = re.sub(pattern, lambda _: new, header, count=1)
    version = rng.choice((b"\x01", b"\x01", b"\x02", b"\x03", b"\x09"))
    length = len(header).to_bytes(2 if version == b"\x01" else 4, "little") if len(header) < 65536 else b"\xff\xff"
    return data[:6] + version + b"\0" + length + header + data[10 + size :]


def spoil_zip(rng: Random, data: bytes) -> bytes:
    """The archive with a member spoiled (by its own kind), renamed, doubled or left out."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    i = rng.randrange(len(members))
    name, content = members[i]
    suffix = name[name.rfind(".") :]
    how = rng.randrange(8)
    if how < 4:
        members[i] = (name, rng.choice(OF_SUFFIX[suffix])(rng, content))
    elif how == 4:
        members[i] = (rng.choice(("R", "matrix", "../x", "/etc/x", "b", "é\n", "data", "header")) + suffix, content)
    elif how == 5:
        del members[i]
    elif how == 6:
        members[i] = (name, flip_bytes(rng, content))
    else:
        members.append((rng.choice(("x", "J", "seed", "data")) + suffix, members[rng.randrange(len(members))][1]))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for number, (name, content) in enumerate(members):
            archive.writestr(name if name not in archive.namelist() else f"{number}{name}", content)
    return made.getvalue()


TEXT: tuple[Mutation, ...] = (
    flip_bytes, truncate, insert_word, splice, change_lines, change_lines, change_numbers, change_numbers,
    change_fields, nest, recode,
)  # fmt: skip
BINARY: tuple[Mutation, ...] = (flip_bytes, flip_bytes, truncate, splice, insert_word)
OF_KIND: dict[str, tuple[Mutation, ...]] = {
    "text": TEXT,
    "json": (*TEXT, spoil_json, spoil_json, spoil_json, spoil_json),
    "pickle": (*BINARY, nest, *(spoil_pickle,) * 5, *(spoil_opcodes,) * 5),
    "npy": (*BINARY, *(spoil_npy,) * 5),
    "zip": (*BINARY, *(spoil_zip,) * 8),
}
OF_SUFFIX = {".npy": (spoil_npy,), ".json": (spoil_json,), ".pkl": (spoil_pickle, spoil_opcodes)}
