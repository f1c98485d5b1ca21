"""Pickles are read without running them: what is admitted, what is refused, and that nothing ran."""

from __future__ import annotations

import collections
import pickle
import pickletools
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs import importers
from recollect.runs.safe_pickle import MAX_DEPTH, load

PLAIN = {
    "array": np.arange(6.0).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
    "big endian": np.arange(3, dtype=">i4"),
    "bool": np.array([True, False]),
    "strings": np.array(["a", "bcd"]),
    "empty": np.zeros((0, 3)),
    "0-d": np.array(1.5),
    "scalar": np.float32(3),
    "numbers": [1, -5, 2.5, 2**70, -(2**70), 300, 70000, None, True, float("inf")],
    "texts": ["x", b"yy", "é" * 300, "y" * 70000, b"", b"z" * 300],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "nested": {"a": {"b": [{"c": 1}]}, 3: 4, None: 5, 1.5: 6},
    "sets": [{1, 2}, frozenset([3])],
    "ordered": collections.OrderedDict(a=1, b=[2]),
    "default": collections.defaultdict(list, a=[1]),
    "twice": [shared := np.ones(2), shared],
}


def assert_equal(got, expected):
    if isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray)
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)
    elif isinstance(expected, list):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            assert_equal(a, b)
    else:
        assert got == expected


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", PLAIN)
def test_plain_data_of_every_protocol(name, protocol):
    assert_equal(load(pickle.dumps(PLAIN[name], protocol=protocol)), PLAIN[name])


def test_both_paths_of_numpys_core():
    data = pickle.dumps(PLAIN["array"], protocol=2)
    old, new = b"cnumpy.core.multiarray\n", b"cnumpy._core.multiarray\n"
    assert (old in data) != (new in data)
    for path in (old, new):
        assert_equal(load(data.replace(old, path).replace(new, path)), PLAIN["array"])


def test_optimized_pickles_and_files(tmp_path):
    data = pickletools.optimize(pickle.dumps(PLAIN["nested"], protocol=4))
    path = tmp_path / "a.pkl"
    path.write_bytes(data)
    assert load(path) == load(str(path)) == PLAIN["nested"]


def test_a_string_of_python_2_keeps_its_bytes():
    assert load(b"S'caf\\xe9'\n.") == "café"
    assert load(b"U\x04caf\xe9.") == "café"


class Runs:
    """Unpickled by `pickle`, this creates a file."""

    def __init__(self, path: Path, how: str) -> None:
        self.path, self.how = path, how

    def __reduce__(self):
        text = f"open({str(self.path)!r}, 'w').close()"
        if self.how == "exec":
            return exec, (text,)
        if self.how == "touch":
            return Path.touch, (self.path,)
        return eval, (f"__import__('pathlib').Path({str(self.path)!r}).touch()",)


HOSTILE = {
    "raptormai": lambda bad: {"time": 1.0, "acc_array": bad},
    "agem": lambda bad: {"mean": bad},
    "begin": lambda bad: {"exp_test": bad},
    "vandeven": lambda bad: {"acc per context": bad, "x_context": [1]},
}


@pytest.mark.parametrize("how", ["exec", "eval", "touch"])
@pytest.mark.parametrize("tool", HOSTILE)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_pickle_that_runs_code_is_refused_and_does_not_run(tmp_path, tool, how, protocol):
    sentinel = tmp_path / "ran"
    path = tmp_path / "results.pkl"
    path.write_bytes(pickle.dumps(HOSTILE[tool](Runs(sentinel, how)), protocol=protocol))
    found = importers.detect(path)
    assert found is not None
    assert tool == found.NAME
    for given in (tool, None):
        with pytest.raises(UsageError, match="Nothing of it was run"):
            importers.read(path, given)
    assert not sentinel.exists()
    pickle.loads(path.read_bytes())
    assert sentinel.exists(), "pickle itself would have run it"


class Reduced:
    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.array([[], {}], dtype=object), "dtype .?O|of objects|not a string"),
        (np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), "structured|dtype V"),
        (np.ma.array([1.0]), "numpy.ma"),
        (np.array([1 + 2j]), "dtype <?c16"),
        (np.array(["2020"], dtype="M8[Y]"), "dtype|byte order|structured"),
        (Reduced(np.dtype, ("O",)), "not data"),
        (Reduced(np.fromfile, ("secret",)), "fromfile"),
        (Reduced(np.load, ("secret",)), "load"),
        (Reduced(getattr, ([], "append")), "getattr"),
        (Reduced(__import__, ("os",)), "__import__"),
        (Reduced(bytearray, (10**9,)), "bytes of something else"),
        (Reduced(list, (range,)), "range"),
        (Reduced(dict, ([1, 2],)), "dictionary"),
        (Reduced(int, ("1",)), "calls int|long"),
        (collections.Counter("ab"), "Counter"),
        (Path("a"), "pathlib"),
        (1 + 2j, "complex"),
        (range(3), "range"),
        (Exception("x"), "Exception"),
        (int, "not data|long"),
        (np.float64, "numpy.float64"),
        ([np.dtype("f8")], "not data"),
    ],
)
def test_what_is_neither_array_nor_container_is_refused(value, reason):
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        with pytest.raises(UsageError, match=reason):
            load(pickle.dumps(value, protocol=protocol))


def array_pickle(shape: bytes, dtype: bytes, data: bytes, cls: bytes = b"cnumpy\nndarray\n") -> bytes:
    """A hand-made array: `shape` and `dtype` are instructions, `data` the raw bytes."""
    return (
        b"cnumpy.core.multiarray\n_reconstruct\n(" + cls + b"(I0\ntS'b'\ntR(I1\n(" + shape + b"t" + dtype
        + b"I00\nB" + struct.pack("<I", len(data)) + data + b"tb."
    )  # fmt: skip


F8 = b"cnumpy\ndtype\n(S'f8'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb"


def test_the_hand_made_array_is_right():
    assert_equal(load(array_pickle(b"I1\nI2\n", F8, struct.pack("<2d", 1, 2))), np.array([[1.0, 2.0]]))


@pytest.mark.parametrize(
    "data",
    [
        array_pickle(b"I1000000000\nI1000000000\n", F8, b"\0" * 8),
        array_pickle(b"I-1\n", F8, b"\0" * 8),
        array_pickle(b"I0\nI99999999999999999999\n", F8, b""),
        array_pickle(b"S'a'\n", F8, b"\0" * 8),
        array_pickle(b"I1\n" * 40, F8, b"\0" * 8),
        array_pickle(b"I1\n", F8.replace(b"'f8'", b"'O8'"), b"\0" * 8),
        array_pickle(b"I1\n", F8.replace(b"'f8'", b"'f8,f8'"), b"\0" * 16),
        array_pickle(b"I1\n", F8.replace(b"'f8'", b"'S0'"), b""),
        array_pickle(b"I1\n", b"N", b"\0" * 8),
        array_pickle(b"I1\n", F8.replace(b"'f8'", b"'U1'"), b"\xff" * 4),
        array_pickle(b"I1\n", F8, b"\0" * 8, cls=b"cnumpy\ndtype\n"),
        array_pickle(b"I1\n", F8, b"\0" * 8, cls=b"cnumpy\nmatrix\n"),
        b"cnumpy.core.multiarray\nscalar\n(" + F8.replace(b"'f8'", b"'O8'") + b"cos\nsystem\ntR.",
        b"cnumpy.core.multiarray\nscalar\n(" + F8.replace(b"'f8'", b"'O8'") + b"S'12345678'\ntR.",
        b"cnumpy.core.multiarray\nscalar\n(" + F8 + b"tR.",
        b"cnumpy.core.multiarray\nfromstring\n(S'a'\ntR.",
        b"cnumpy.core.multiarray.x\n_reconstruct\n.",
    ],
)
def test_arrays_that_are_not_what_they_declare(data):
    with pytest.raises(UsageError):
        load(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b".",
        b"\x80\x04",
        b"]" * 3,
        b"(" * 10_000 + b".",
        b"\x80\x04]r\xff\xff\xff\x7f.",
        b"X\xff\xff\xff\x7fabc.",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.",
        b"T\xff\xff\xff\xffabc.",
        b"I" + b"9" * 100_000 + b"\n.",
        b"L" + b"9" * 100_000 + b"L\n.",
        b"Fabc\n.",
        b"Sabc\n.",
        b"S'\\x'\n.",
        b"V\\u12\n.",
        b"X\x01\x00\x00\x00\xff.",
        b"h\x00.",
        b"g99999999999999\n.",
        b"\x82\x01.",
        b"P0\n.",
        b"Nb.",
        b"(I1\nd.",
        b"}(lI1\nu.",
        b"]q\x00h\x00a.",
        b"(dq\x00S'a'\nh\x00s.",
        b"ios\nsystem\n.",
        b"(cos\nsystem\no.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"cbuiltins\neval\n.",
    ],
)
def test_broken_and_hostile_instructions(data):
    started = time.process_time()
    if data == b"\x80\x04]r\xff\xff\xff\x7f.":
        # A place far out in the memo is fine: it costs one entry, not two billion.
        assert load(data) == []
    else:
        with pytest.raises(UsageError) as refusal:
            load(data)
        assert "\n" not in str(refusal.value)
    assert time.process_time() - started < 1


def test_depth_and_sharing_bombs():
    deep = b"]" * 200 + b"a" * 199 + b"."
    with pytest.raises(UsageError, match=f"more than {MAX_DEPTH} deep"):
        load(deep)
    tuple_key = b"}" + b")" + b"\x85" * 100_000 + b"Ns."
    with pytest.raises(UsageError, match="key"):
        load(tuple_key)
    laughs = b"]" + b"\x94"
    for level in range(40):
        laughs += b"]\x94" + b"h" + bytes([level]) + b"a" + b"h" + bytes([level]) + b"a"
    assert len(load(laughs + b".")) == 2


def test_a_shared_string_of_python_2_cannot_unfold_without_end():
    block = b"\x80\x02T" + struct.pack("<i", 2**20) + b"\0" * 2**20 + b"q\x00"
    scalar = b"cnumpy.core.multiarray\nscalar\n(" + F8.replace(b"'f8'", b"'S1048'") + b"h\x00tR0"
    with pytest.raises(UsageError):
        load(block + scalar * 3 + b".")


def test_the_instructions_are_counted():
    with pytest.raises(UsageError, match="more than 1,000,000 instructions"):
        load(b"N0" * 500_001 + b".")


@pytest.mark.parametrize("size", [2**40, 2**63, 10**6])
def test_a_length_that_the_file_does_not_have_is_not_made_room_for(size):
    with pytest.raises(UsageError):
        load(b"\x80\x05\x96" + struct.pack("<Q", size) + b"abc.")


@pytest.mark.parametrize(
    "data",
    [
        # The state of a name, of a list, of an array that has one already.
        b"cnumpy\ndtype\n}S'a'\nI1\nsb.",
        b"ccollections\nOrderedDict\n(N}S'__call__'\nI1\nstb.",
        b"]}b.",
        array_pickle(b"I1\n", F8, b"\0" * 8)[:-1] + b"(I1\n(I1\nt" + F8 + b"I00\nB\x08\0\0\0" + b"\0" * 8 + b"tb.",
        # An extension of this process, a class that is made, a buffer beside the file, an object outside of it.
        b"\x83\x01\x00.",
        b"cbuiltins\ndict\n)\x81.",
        b"cbuiltins\ndict\n)}\x92.",
        b"\x97.",
        b"I1\nQ.",
        # What is appended to, set or added to is what it says.
        b"}I1\na.",
        b"](I1\nI2\nu.",
        b"](I1\n\x90.",
        b"cbuiltins\nset\n(I1\nI1\nu.",
        b"\x8f(](\x90.",
    ],
)
def test_instructions_that_change_something_are_kept_to_data(data):
    with pytest.raises(UsageError):
        load(data)


def test_an_array_without_data_is_none():
    with pytest.raises(UsageError, match="without shape and data"):
        load(b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR.")


def test_a_row_of_objects_is_a_list_where_that_is_asked_for():
    made = np.empty(2, dtype=object)
    made[:] = [{"a": 1}, [twice := {"b": 1}, twice]]
    back = load(pickle.dumps([made, made]), objects=True)
    assert back[0] is back[1]
    assert back[0][1] == [{"b": 1}, {"b": 1}]
    with pytest.raises(UsageError, match="objects"):
        load(pickle.dumps(made))


CODES = [code for name in dir(pickle) if isinstance(code := getattr(pickle, name), bytes) and len(code) == 1]


@pytest.mark.parametrize("code", CODES)
def test_every_instruction_alone_or_cut_off_is_refused(code):
    for data in (code, code + b".", code + b"\x01", b"N" + code + b".", b"(" + code + b"."):
        try:
            value = load(data)
        except UsageError:
            continue
        assert value in (None, True, False, 0, [], {}, (), set(), frozenset(), (None,), (None, None)) or value == b""
