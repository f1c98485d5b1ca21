"""Data that people have: other key names, torch and Hugging Face data sets, functions; classes in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset as TorchDataset
from torch.utils.data import Subset, TensorDataset

from recollect.errors import UsageError
from recollect.experiments.file import parse
from recollect.experiments.grid import grid
from recollect.experiments.worker import run_job
from recollect.runs.reading import read_run
from recollect.streams import make_stream, stream_from, stream_from_arrays

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (24, 3, 5, 5), dtype=np.uint8)
LABELS = np.repeat(np.arange(4), 6)
PLAIN = stream_from_arrays(IMAGES, LABELS, IMAGES, LABELS, tasks=2)


class Pictures(TorchDataset[Any]):
    """As torchvision has it: PIL images, a transform, targets and classes."""

    classes = ("ant", "bee", "cat", "dog")

    def __init__(self, transform: Any = None) -> None:
        self.transform = transform or (lambda picture: picture)
        self.targets = LABELS.tolist()
        self.read = 0

    def __len__(self) -> int:
        return 24

    def __getitem__(self, place: int) -> tuple[Any, int]:
        self.read += 1
        return self.transform(Image.fromarray(IMAGES[place].transpose(1, 2, 0))), self.targets[place]


class Table:
    """As Hugging Face has it: rows by number, columns by name."""

    def __init__(self, columns: dict[str, Any], names: Any = None) -> None:
        self._columns = columns
        self.features = {name: type("Value", (), {}) for name in columns}
        if names is not None:
            self.features["label"] = type("ClassLabel", (), {"names": names})

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._columns[key]
        return {name: values[key] for name, values in self._columns.items()}


def pictures() -> list[Any]:
    return [Image.fromarray(image.transpose(1, 2, 0)) for image in IMAGES]


def same(stream: Any) -> bool:
    """The samples, labels and tasks of the plain stream; names of classes may differ."""
    mine, plain = (list(one.batches(0)) for one in (stream, PLAIN))
    return all(np.array_equal(a.x, b.x) and np.array_equal(a.y, b.y) for a, b in zip(mine, plain, strict=True))


def test_torch_data_sets() -> None:
    tensors = TensorDataset(torch.from_numpy(IMAGES), torch.from_numpy(LABELS))
    for given in ((tensors, tensors), (Pictures(), Pictures()), (Subset(tensors, range(24)), tensors)):
        assert same(stream_from(given, tasks=2))
    named = stream_from((Pictures(), Pictures()), tasks=2)
    assert {name for task in named.tasks for name in task.original} == {"ant", "bee", "cat", "dog"}
    assert stream_from((tensors, tensors), tasks=2).fingerprint == PLAIN.fingerprint


def test_items_are_read_when_they_are_needed() -> None:
    pictures = Pictures()
    stream = stream_from((pictures, Pictures()), tasks=2, batch=3)
    before = pictures.read
    next(iter(stream.batches(0)))
    assert before <= 65  # sixteen of them, a few times
    assert pictures.read == before + 3


def test_one_torch_data_set_is_split() -> None:
    stream = stream_from(Pictures(), tasks=2, test_fraction=0.5)
    assert stream.n_samples == 12


def test_hugging_face_data_sets() -> None:
    table = Table({"img": pictures(), "label": LABELS.tolist()}, ["ant", "bee", "cat", "dog"])
    for given in ({"train": table, "test": table}, {"train": table, "validation": table}):
        stream = stream_from(given, tasks=2)
        assert same(stream)
        assert stream.tasks[0].original[0] in ("ant", "bee", "cat", "dog")
    odd = Table({"scan": pictures(), "kind": LABELS.tolist()})
    assert same(stream_from({"train": odd, "test": odd}, tasks=2, keys={"x": "scan", "y": "kind"}))
    assert stream_from(table, tasks=2).n_samples == 20


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (42, {}, "gives a int; expected arrays"),
        ({"train": Table({"a": [1], "b": [2]})}, {}, "Which column of mine is x?"),
        ({"train": Table({"image": [1], "b": [2]})}, {"keys": {"y": "c"}}, "there is no column 'c'"),
        ({"a": Table({"image": [1], "label": [2]})}, {}, "which one is for training"),
        ((Pictures(lambda p: np.ravel(p) + RNG.random()), Pictures()), {}, "its transform draws at random"),
        ((Pictures(lambda p: np.full(3, np.nan)), Pictures()), {}, "not finite"),
        ((Pictures(lambda p: "text"), Pictures()), {}, "is an array of numbers, an image or a tensor; got a str"),
        ((Pictures(lambda p: np.zeros((5, 5, 3), np.uint8)), Pictures()), {}, "channels last"),
        ((Pictures(lambda p: np.zeros(3)), Pictures()), {}, "one shape and one type"),
        (PLAIN, {"passes": 2}, "is a stream already"),
        ({"X": IMAGES, "Z": LABELS}, {}, "has X, Z; expected"),
        (([1, 2], [3]), {}, "has one row per sample and y one label"),
    ],
)
def test_what_is_no_data_set_is_one_paragraph(given: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        stream_from(given, name="mine", **{"tasks": 2, **options} if given is not PLAIN else options)
    assert message in str(raised.value)


def test_items_of_several_sizes_are_named() -> None:
    class Uneven(Pictures):
        def __getitem__(self, place: int) -> tuple[Any, int]:
            return np.zeros((3, 5 + (place == 7), 5), np.uint8), self.targets[place]

    with pytest.raises(UsageError, match="item 7 has"):
        list(stream_from((Uneven(), Pictures()), tasks=2).batches(0))


# -- files


def test_keys_of_an_npz_file(tmp_path: Path) -> None:
    path = tmp_path / "odd.npz"
    np.savez(path, a=IMAGES, b=LABELS, c=IMAGES, d=LABELS)
    keys = {"x_train": "a", "y_train": "b", "x_test": "c", "y_test": "d"}
    assert same(make_stream(path, keys=keys, tasks=2))
    with pytest.raises(UsageError, match=r"has a, b, c, d; expected x_train.*said by keys"):
        make_stream(path, tasks=2)
    with pytest.raises(UsageError, match="has no array 'e', which keys names"):
        make_stream(path, keys={**keys, "y_test": "e"}, tasks=2)
    with pytest.raises(UsageError, match="keys has no option 'x_tran'; did you mean 'x_train'"):
        make_stream(path, keys={"x_tran": "a"}, tasks=2)
    with pytest.raises(UsageError, match="keys says which array is which"):
        make_stream(path, keys=["a"], tasks=2)


def test_medmnist_is_known(tmp_path: Path) -> None:
    path = tmp_path / "pathmnist.npz"
    last = IMAGES.transpose(0, 2, 3, 1)
    parts = {f"{part}_images": last for part in ("train", "val", "test")}
    parts |= {f"{part}_labels": LABELS[:, None] for part in ("train", "val", "test")}
    np.savez(path, **parts)
    stream = make_stream(path, tasks=2)
    assert same(stream)
    assert "the validation images are left out" in stream.notes
    np.savez(path, **{**parts, **{f"{part}_images": last[..., 0] for part in ("train", "val", "test")}})
    assert make_stream(path, tasks=2).input_shape == (1, 5, 5)


def test_channels_last_is_said(tmp_path: Path) -> None:
    path = tmp_path / "last.npz"
    last = IMAGES.transpose(0, 2, 3, 1)
    np.savez(path, x_train=last, y_train=LABELS, x_test=last, y_test=LABELS)
    with pytest.raises(UsageError, match="say channels_last: true"):
        make_stream(path, tasks=2)
    assert same(make_stream(path, tasks=2, channels_last=True))


MODULE = """
import numpy as np
from recollect.streams import stream_from_arrays
rng = np.random.default_rng(0)
x, y = rng.normal(size=(40, 5)).astype("float32"), np.repeat(np.arange(4), 10)

def arrays(shift=0.0):
    return x + shift, y, x, y

def stream(class_order_seed=None):
    assert class_order_seed is not None
    return stream_from_arrays(x, y, x, y, tasks=2, name="made", class_order_seed=class_order_seed)

def fails():
    raise KeyError("no such column")

nothing = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "given_module.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "given_module"


def test_a_function_in_an_experiment_file(module: str, tmp_path: Path) -> None:
    text = f"""
name: own
streams:
  - {{name: "{module}:arrays", tasks: 2, arguments: {{shift: 1.0}}, label: mine}}
  - {{name: "{module}:stream", label: ready}}
learners: [ncm]
seeds: 1
"""
    for job in grid(parse(text), tmp_path / "runs"):
        run_job(job, lambda *given: None)
        assert read_run(job.folder).status == "finished"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("given_module:fails", {}, "its function stops with KeyError: 'no such column'"),
        ("given_module:nothing", {}, "is of the type int; a class or a function"),
        ("given_module:absent", {}, "Cannot import the stream"),
        ("given_module:arrays", {"arguments": {"shiftt": 1}}, "is called with"),
        ("nowhere:arrays", {}, "Cannot import the stream"),
        ("digits", {"arguments": {"a": 1}}, "belongs to a function"),
        ("digits", {"keys": {"x": "a"}}, "belongs to an .npz file or a function"),
    ],
)
def test_functions_that_do_not_work_are_one_paragraph(module: str, name: str, options: Any, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        make_stream(name, tasks=2, **options)
    assert message in str(raised.value)


def test_the_order_the_tasks_and_the_names_of_classes_come_from_files(tmp_path: Path) -> None:
    order = tmp_path / "order.txt"
    order.write_text("3\n1\n\n\n0\n2\n4\n5\n6\n7\n8\n9\n\n")
    split = make_stream("digits", class_order=str(order))
    assert [task.original for task in split.tasks] == [(3, 1), (0, 2, 4, 5, 6, 7, 8, 9)]
    names = tmp_path / "names.txt"
    names.write_text("\n".join("zero one two three four five six seven eight nine".split()))  # noqa: SIM905
    named = make_stream("digits", tasks=5, class_order="natural", label_names=str(names))
    assert named.tasks[1].original == ("two", "three")
    nested = tmp_path / "tasks.json"
    nested.write_text(json.dumps([["nine", "one"], ["zero", "two", "three", "four", "five", "six", "seven", "eight"]]))
    both = make_stream("digits", class_order=str(nested), label_names=str(names))
    assert both.tasks[0].original == ("nine", "one")
    mapping = tmp_path / "names.json"
    mapping.write_text(json.dumps({str(k): f"class {k}" for k in range(10)}))
    assert make_stream("digits", tasks=5, label_names=str(mapping)).tasks[0].original[0].startswith("class ")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (None, {}, "Cannot read the classes in"),
        ("", {}, "names no classes"),
        ("0\n1\n", {}, "names each of the 10 classes of digits once; got 2 of them"),
        ("0\n\n1\n2\n3\n4\n5\n6\n7\n8\n9", {"tasks": 5}, "tasks or classes_per_task say something else"),
        ("\n".join("012345678x"), {"tasks": 5}, "'x' is not one of them"),
    ],
)
def test_a_file_of_classes_that_does_not_fit(tmp_path: Path, content: Any, options: Any, message: str) -> None:
    path = tmp_path / "order.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError) as raised:
        make_stream("digits", class_order=str(path), **options)
    assert message in str(raised.value)


def test_names_of_classes_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    for content, message in (("a\nb", "has no name for the class 2"), ("a\n" * 10, "calls two classes")):
        path.write_text(content)
        with pytest.raises(UsageError, match=message):
            make_stream("digits", tasks=5, label_names=str(path))
    path = tmp_path / "names.json"
    path.write_text("{broken")
    with pytest.raises(UsageError, match="Cannot read the classes"):
        make_stream("digits", tasks=5, label_names=str(path))
