"""What is saved can be read, in the same bytes, and nothing that is read can run anything."""

from __future__ import annotations

import builtins
import contextlib
import functools
import os
import pickle
import random
import subprocess
import sys
import time
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.cluster import Birch
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from torch import nn

from recollect.errors import UsageError
from recollect.learners import Setting, wrap, wrap_sklearn
from recollect.learners.frozen import _classes, _makers, freeze, thaw
from recollect.learners.keeping import attributes_of, give_attributes
from recollect.protocol import run_protocol

from .helpers import SEEDS, same


class Thing:
    class Inner:
        pass

    def __init__(self, held=None):
        self.held = held


def again(thing):
    return thaw(freeze(thing), type(thing)())["held"]


@pytest.mark.parametrize(
    "held",
    [
        Counter("abca"),
        OrderedDict(b=1, a=2),
        defaultdict(list, {1: [2]}),
        deque([1, 2], maxlen=3),
        datetime(2026, 1, 2, tzinfo=UTC),
        [date(2026, 1, 2), timedelta(3)],
        {"b", "a", 3, None},
        frozenset({1.5, "x"}),
        (1, True, "a", None),
        ["", "\ud83d\ude00", b"", b"\xff", b"long" * 100],
        ((1, 2), (1.0, -0.0)),
        SimpleNamespace(a=1),
        torch.float64,
        torch.Size((2, 3)),
        torch.device("cpu"),
        bytearray(b"ab"),
        [np.float32(2.5), np.bool_(True), 2 + 3j],
        {(0, "a"): 1, 2: [3]},
    ],
    ids=lambda held: type(held).__name__,  # the order of a set in a text is not the same in two processes
)
def test_values_come_back(held):
    assert again(Thing(held)) == held
    assert type(again(Thing(held))) is type(held)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).reshape(2, 3),
        torch.arange(6.0).reshape(2, 3).t(),
        torch.arange(48.0).reshape(1, 3, 4, 4).to(memory_format=torch.channels_last),
        torch.tensor(3, dtype=torch.int64),
        torch.tensor([1.5, 2.5], dtype=torch.bfloat16),
        torch.tensor([True, False]),
        torch.zeros(0, 3),
        torch.ones(2, requires_grad=True),
        nn.Parameter(torch.ones(2), requires_grad=False),
    ],
    ids=lambda tensor: f"{tensor.dtype}{tuple(tensor.shape)}",
)
def test_tensors_come_back(tensor):
    back = again(Thing(tensor))
    assert type(back) is type(tensor)
    assert torch.equal(back, tensor)
    assert (back.dtype, back.stride(), back.requires_grad) == (tensor.dtype, tensor.stride(), tensor.requires_grad)


def test_generators_go_on():
    generators = [random.Random(1), np.random.default_rng(2), np.random.RandomState(3), torch.Generator()]
    kept = Thing(generators)
    kept.held[0].gauss(0, 1)
    back = again(kept)
    assert back[0].random() == kept.held[0].random()
    assert back[1].random() == kept.held[1].random()
    assert back[2].random_sample() == kept.held[2].random_sample()
    assert torch.equal(torch.rand(3, generator=back[3]), torch.rand(3, generator=kept.held[3]))


def test_a_generator_spawns_what_it_would_have_spawned():
    kept = np.random.default_rng(2)
    kept.spawn(1)
    back = again(Thing(kept))
    assert back.spawn(1)[0].random() == kept.spawn(1)[0].random()


def test_what_is_shared_stays_shared():
    thing = Thing([1])
    shared, array = {1}, np.ones(3)
    thing.held = [shared, shared, thing, array, array]
    fresh = Thing()
    back = thaw(freeze(thing), fresh)["held"]
    assert back[0] is back[1]
    assert back[2] is fresh
    assert back[3] is back[4]
    back[3][0] = 5


def test_what_is_not_plain_is_read_where_it_is_signed():
    inner = Thing.Inner()
    with torch.random.fork_rng():
        inner.network = nn.Linear(2, 2)
    held = [inner, np.dtype([("a", "<f4")]), range(3), sparse.eye_array(2, format="csr")]
    with pytest.raises(UsageError, match="cannot be saved"):
        freeze(Thing(held))
    back = thaw(freeze(Thing(held), is_signed=True), Thing(), is_signed=True)["held"]
    assert type(back[0]) is Thing.Inner
    assert torch.equal(back[0].network.weight, inner.network.weight)
    assert back[1:3] == held[1:3]
    assert (back[3] != held[3]).nnz == 0
    with pytest.raises(UsageError, match="no part of the learner's state"):
        thaw(freeze(Thing(held), is_signed=True), Thing())


@pytest.mark.parametrize("is_signed", [False, True])
def test_arrays_that_share_their_numbers_are_refused(is_signed):
    """A copy of each would be saved, and what is written to one would no longer be seen in the other."""
    whole = np.arange(6.0)
    for held in ([whole, whole[2:4]], [whole[::-1], whole[:1]], [torch.from_numpy(whole), whole]):
        with pytest.raises(UsageError, match="share their numbers"):
            freeze(Thing(held), is_signed)
    assert freeze(Thing([whole[:3], whole[3:], whole[:0]]), is_signed)


@pytest.mark.parametrize(
    "loss", ["hinge", "log_loss", "modified_huber", "squared_hinge", "huber", "epsilon_insensitive"]
)
def test_incremental_learners_of_sklearn_are_values(loss):
    x, y = np.random.default_rng(0).random((40, 3)), np.arange(40) % 2
    one = SGDClassifier(loss=loss, random_state=np.random.RandomState(1)).partial_fit(x, y, classes=[0, 1])
    two = SGDClassifier()
    state = attributes_of(one)
    assert list(state) == ["pickled"]
    give_attributes(two, state)
    assert attributes_of(two) == state
    assert np.array_equal(one.partial_fit(x, y).coef_, two.partial_fit(x, y).coef_)


def test_birch_keeps_views_and_cannot_be_resumed():
    """Its tree would be another one after it was read, without a word."""
    with pytest.raises(UsageError, match="share their numbers"):
        attributes_of(Birch().partial_fit(np.random.default_rng(0).random((60, 5))))


class Trainer:
    """A network, its optimiser and a few counts: the learner that one writes first."""

    def __init__(self):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.network = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 10))
        self.optimiser = torch.optim.SGD(self.network.parameters(), lr=0.1, momentum=0.9)
        self.seen = Counter()
        self.random = random.Random(0)

    def learn(self, batch):
        self.seen.update(batch.y.tolist())
        self.random.random()
        self.optimiser.zero_grad()
        x, y = torch.from_numpy(batch.x / 255).float(), torch.from_numpy(batch.y)
        nn.functional.cross_entropy(self.network.train()(x), y).backward()
        self.optimiser.step()

    def score(self, x):
        return self.network.eval()(torch.from_numpy(x / 255).float())


class Killed(BaseException):
    """Stands for kill -9."""


@pytest.mark.parametrize(
    "make",
    [
        GaussianNB,
        lambda: MLPClassifier((20,), solver="adam"),
        lambda: MLPClassifier((20,), solver="sgd"),
        SGDClassifier,
        Trainer,
    ],
    ids=["nb", "adam", "sgd", "linear", "own"],
)
def test_a_resumed_run_has_the_bytes_of_an_undisturbed_one(make, digits, tmp_path):
    def run(folder, dies_after=None):
        learner = wrap(make(), Setting.of(digits), SEEDS)
        ended = []

        def end_task():
            ended.append(1)
            if len(ended) == dies_after:
                raise Killed

        learner.end_task = end_task
        run_protocol(learner, digits, folder, name="one")
        return (folder / "rows.jsonl").read_bytes()

    whole = run(tmp_path / "whole")
    with pytest.raises(Killed):
        run(tmp_path / "killed", dies_after=3)
    assert run(tmp_path / "killed") == whole


def test_bytes_do_not_depend_on_which_equal_values_are_one_object():
    def text():
        return "".join(["a", "b", "c"])

    def pair():
        return tuple(range(2))

    shared = text(), pair()
    one = Thing([text(), text(), pair(), pair(), np.zeros(300), np.zeros(300, np.dtype("<f8", copy=True))])
    one.extra = 1
    two = Thing()
    vars(two).clear()
    vars(two).update(extra=1, held=[*shared[:1] * 2, *shared[1:] * 2, np.zeros(300), np.zeros(300)])
    assert freeze(one) == freeze(two)


def test_bytes_do_not_depend_on_the_process():
    """The order of a set of strings does."""
    code = (
        "import sys; from recollect.learners.frozen import freeze; from argparse import Namespace;"
        "sys.stdout.buffer.write(freeze(Namespace(names={'a', 'b', 'c', 'd', 'e'})))"
    )
    made = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("held", "named"),
    [
        (functools.partial(print), "functools.partial"),
        (os.system, "system"),
        (subprocess.Popen, "subprocess.Popen"),
        (builtins.eval, "builtins.eval"),
        (np.load, "numpy.load"),
        (np.memmap, "numpy.memmap"),
        (torch.load, "load"),
        (torch.hub.load, "torch.hub.load"),
        (Thing().__init__, "getattr"),
        (pytest.approx(1), "pytest"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_could_not_be_read_is_refused_when_it_is_saved(held, named):
    with pytest.raises(UsageError, match=rf"holds .*{named}.*Give it state\(\) and restore"):
        freeze(Thing(held))


def named(module, name, *args):
    """A pickle that calls this with the arguments."""
    call = pickle.dumps(args, protocol=4)[2:-1]  # without its header and end
    return b"\x80\x04" + pickle.dumps(module, 4)[2:-1] + pickle.dumps(name, 4)[2:-1] + b"\x93" + call + b"R."


EVIL = [
    ("os", "system", "true"),
    ("posix", "system", "true"),
    ("builtins", "eval", "1"),
    ("builtins", "exec", "1"),
    ("builtins", "getattr", 1, "real"),
    ("builtins", "__import__", "os"),
    ("subprocess", "Popen", "true"),
    ("functools", "partial", 1),
    ("importlib", "import_module", "os"),
    ("numpy.testing._private.utils", "runstring", "1", {}),
    ("numpy", "load", "x"),
    ("numpy", "memmap", "x"),
    ("numpy.lib.npyio", "DataSource", "x"),
    ("numpy.testing._private.utils", "os.system", "true"),
    ("torch", "load", "x"),
    ("torch.storage", "_load_from_bytes", b"x"),
    ("torch.hub", "load", "x"),
    ("torch", "os.system", "true"),
    (__name__, "subprocess.Popen", "true"),
    (__name__, "os.system", "true"),
    ("recollect.learners.frozen", "thaw", b"x"),
    ("scipy.stats", "rv_continuous"),
    ("scipy.stats._distn_infrastructure", "rv_discrete"),
    ("scipy.optimize", "OptimizeResult"),
    ("scipy.interpolate", "interp1d", [1], [2]),
    ("scipy.sparse", "csr_matrix"),
    ("scipy.sparse._csr", "csr_array", (2, 2)),
    ("sklearn.linear_model", "SGDClassifier"),
    ("sklearn.pipeline", "Pipeline", []),
    ("torch.nn.modules.linear", "Linear", 2, 2),
    ("torch.optim.sgd", "SGD", []),
    ("torch.fx.graph_module", "GraphModule", {}, ""),
    ("numpy.random.mtrand", "RandomState"),
    ("numpy", "dtype", "O"),
    ("copyreg", "_reconstructor", object, object, None),
    ("fractions", "Fraction", "1e999999999"),
    ("types", "SimpleNamespace"),
    (__name__, "Thing"),
    (__name__, "Thing.Inner"),
]


@pytest.mark.parametrize("call", EVIL, ids=lambda call: ".".join(call[:2]))
@pytest.mark.parametrize("where", ["around", "inside"])
def test_nothing_of_a_checkpoint_is_run(call, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil = named(*call)
    frozen = evil if where == "around" else pickle.dumps(([], evil), protocol=4)
    with pytest.raises(UsageError, match=r"no part of the learner's state|cannot be read"):
        thaw(frozen, Thing())
    assert not list(tmp_path.iterdir())


def made_of(call, state=b""):
    """A state of an object that holds what this pickle makes."""
    body = b"\x80\x04}" + pickle.dumps("held", 4)[2:-1] + call[2:-1] + state + b"s."
    return pickle.dumps(([], body), protocol=4)


ADMITTED = sorted({*_makers(), *_classes()})


@pytest.mark.parametrize("name", ADMITTED, ids=".".join)
def test_no_admitted_name_runs_code_of_its_arguments_or_of_its_state(name, tmp_path):
    """Each is called with code, with far too large a number, with a class; its state is set to all of these."""
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w').close()"
    hostile = [(), (code,), (code, code), ({"__reduce__": code, "__class__": code},), (2**62,), ([code],) * 7]
    state = pickle.dumps({"__setstate__": code, "__class__": code, "_parse_arg_template": code}, 4)[2:-1] + b"b"
    slots = pickle.dumps((None, {"__class__": code, "update_params": code}), 4)[2:-1] + b"b"
    for arguments in hostile:
        for after in (b"", state, slots):
            with contextlib.suppress(UsageError):
                thaw(made_of(named(*name, *arguments), after), Thing())
    new = b"\x80\x04" + b"".join(pickle.dumps(part, 4)[2:-1] for part in name) + b"\x93)\x81."
    for after in (b"", state, slots):
        with contextlib.suppress(UsageError):
            thaw(made_of(new, after), Thing())
    assert not ran.exists()
    assert {*_makers(), *_classes()} == {*ADMITTED}


def test_the_state_of_an_admitted_class_changes_no_class(tmp_path):
    from sklearn.preprocessing import LabelBinarizer

    before = dict(vars(LabelBinarizer))
    cls = b"\x80\x04" + pickle.dumps("sklearn.preprocessing._label", 4)[2:-1] + pickle.dumps("LabelBinarizer", 4)[2:-1]
    for state in ({"fit": 1}, (None, {"fit": 1})):
        with pytest.raises(UsageError):
            thaw(made_of(cls + b"\x93.", pickle.dumps(state, 4)[2:-1] + b"b"), Thing())
    assert dict(vars(LabelBinarizer)) == before


@pytest.mark.parametrize(
    "arguments",
    [
        (bytes(4), "float32", (2**40,), (1,), "cpu", False, False),
        (bytes(4), "float32", (1,), (2**40,), "cpu", False, False),
        (b"", "float32", (-1,), (1,), "cpu", False, False),
        (bytes(4), "load", (1,), (1,), "cpu", False, False),
    ],
)
def test_a_tensor_that_is_not_what_it_declares(arguments):
    with pytest.raises(UsageError):
        thaw(made_of(named("recollect.learners.frozen", "tensor", *arguments)), Thing())


@pytest.mark.parametrize(
    "body", [b"}" + b")" + b"\x85" * 100_000 + b"Ns.", b"]r\xff\xff\xff\x7f0}.", b"]" * 90 + b"a" * 89 + b"."]
)
def test_bombs(body):
    started = time.process_time()
    with contextlib.suppress(UsageError):
        assert thaw(pickle.dumps(([], body), protocol=4), Thing()) == {}
    assert time.process_time() - started < 1


def test_a_table_names_no_function():
    body = b"\x80\x04K\x00Q."
    with pytest.raises(UsageError, match=r"torch\.load.*no part"):
        thaw(pickle.dumps((["oload"], body), protocol=4), Thing())


@pytest.mark.parametrize("damage", [b"", b"nonsense", pickle.dumps(3), pickle.dumps((["t("], b""))])
def test_a_damaged_checkpoint_says_what_to_do(damage):
    with pytest.raises(UsageError, match="Remove the run's folder"):
        thaw(damage, Thing())


def test_restoring_leaves_nothing_of_what_was_there(digits):
    learner = wrap_sklearn(GaussianNB(), Setting.of(digits))
    state = learner.state()
    learner.learn(next(digits.batches(0)))
    learner.restore(state)
    assert same(learner.state(), state)
    assert not hasattr(learner.estimator, "theta_")
