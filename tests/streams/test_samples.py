"""What a stream is cut from: arrays, images on disk, anything that has places."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.protocol import iter_protocol
from recollect.runs.seeds import derive
from recollect.streams import Samples, Stream, build_stream, make_stream, stream_from_arrays, stream_from_images
from recollect.streams.data import Dataset
from recollect.streams.samples import ArraySamples, ImageFiles
from recollect.streams.spec import Spec

Image = pytest.importorskip("PIL.Image")
PIXELS = np.random.default_rng(0).integers(0, 256, (24, 3, 5, 4), dtype=np.uint8)
LABELS = np.repeat(["ant", "bee", "cat", "dog"], 6)


def write(folder: Path, images: Any, labels: Any) -> Path:
    for number, (pixels, label) in enumerate(zip(images, labels, strict=True)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.transpose(1, 2, 0)).save(folder / label / f"{number:02d}.png")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    train = np.arange(24) % 6 < 4
    write(tmp_path / "pets" / "train", PIXELS[train], LABELS[train])
    write(tmp_path / "pets" / "test", PIXELS[~train], LABELS[~train])
    return tmp_path / "pets"


def contents(stream: Stream) -> list[Any]:
    fed = [(b.x.tolist(), b.y.tolist(), b.ends) for b in stream.batches(seed=1)]
    return [*fed, *((t.x.tolist(), t.y.tolist(), t.task.tolist()) for t in stream.test_batches(5))]


def test_images_on_disk_and_in_an_array_are_one_stream(folder: Path) -> None:
    train = np.arange(24) % 6 < 4
    arrays = stream_from_arrays(PIXELS[train], LABELS[train], PIXELS[~train], LABELS[~train], name="pets", tasks=2)
    files = stream_from_images(folder, size=[5, 4], tasks=2)
    assert contents(files) == contents(arrays)
    assert (files.fingerprint, files.data_hash) == (arrays.fingerprint, arrays.data_hash)
    assert files.input_shape == (3, 5, 4)
    assert make_stream(str(folder), size=[5, 4], tasks=2).fingerprint == files.fingerprint
    assert make_stream("pets", data=folder.parent, size=[5, 4], tasks=2).fingerprint == files.fingerprint


def test_a_learner_on_images_from_disk(folder: Path) -> None:
    stream = stream_from_images(folder, size=[5, 4], tasks=2)
    learner = make_learner("ncm", {}, Setting.of(stream), derive(0))
    rows = list(iter_protocol(learner, stream, seed=0))
    assert [row.n for row in rows] == [(4, 4)] * 3


def test_one_folder_is_split_by_class(tmp_path: Path) -> None:
    write(tmp_path / "all", PIXELS, LABELS)
    stream = stream_from_images(tmp_path / "all", size=6, tasks=4, test_fraction=0.5, grey=True)
    assert stream.input_shape == (1, 6, 6)
    assert [(len(task.train), len(task.test)) for task in stream.tasks] == [(3, 3)] * 4
    assert len({f for s in (stream.data.train, stream.data.test) for f in s.files}) == 24  # type: ignore[attr-defined]


def test_nothing_is_decoded_before_it_is_asked_for(folder: Path) -> None:
    stream = stream_from_images(folder, size=4, tasks=2)
    for file in folder.rglob("*.png"):
        file.write_bytes(b"no image")
    with pytest.raises(UsageError, match=r"Cannot read the image .*png"):
        next(stream.batches(seed=0))
    for file in folder.rglob("*.png"):
        file.unlink()
    with pytest.raises(UsageError, match="not there any more"):
        next(stream.batches(seed=0))


def test_another_image_of_equal_size_under_the_same_name_is_other_training_data(folder: Path) -> None:
    before = stream_from_images(folder, size=4, tasks=2).training_hash
    file = next((folder / "train").rglob("*.png"))
    data = file.read_bytes()
    file.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    assert file.stat().st_size == len(data)
    assert stream_from_images(folder, size=4, tasks=2).training_hash != before
    file.write_bytes(data)
    assert stream_from_images(folder, size=4, tasks=2).training_hash == before
    stream = stream_from_images(folder, size=4, tasks=2)
    file.unlink()
    with pytest.raises(UsageError, match="Cannot read the image"):
        assert stream.training_hash


def test_a_crop_keeps_the_middle_and_stretches_nothing(tmp_path: Path) -> None:
    wide = np.zeros((3, 2, 6), np.uint8)
    wide[:, :, 2:4] = 200  # the middle square
    write(tmp_path / "x", [wide], ["a"])
    files = [str(next((tmp_path / "x").rglob("*.png")))]
    assert (ImageFiles(files, (2, 2), crop=True).take(np.array([0])) == 200).all()
    assert not (ImageFiles(files, (2, 2)).take(np.array([0])) == 200).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs size"),
        ({"size": 0}, "needs size"),
        ({"size": "large"}, "needs size"),
        ({"size": [3, 4, 5]}, "needs size"),
        ({"size": 2.5}, "needs size"),
        ({"size": 4, "partial": True}, "belongs to tiny-imagenet"),
        ({"size": 4, "taks": 2}, "taks"),
    ],
)
def test_options_that_are_wrong(folder: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_stream(str(folder), **{"tasks": 2, **options})


def test_folders_that_are_wrong(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty" / "a").mkdir(parents=True)
    with pytest.raises(UsageError, match="one folder per class"):
        make_stream(str(tmp_path / "empty"), size=4, tasks=1)
    write(folder / "val", PIXELS[:1], ["ant"])
    with pytest.raises(UsageError, match="which one is for testing"):
        make_stream(str(folder), size=4, tasks=2)
    (folder / "val").rename(tmp_path / "elsewhere")
    write(folder / "test", PIXELS[:1], ["eel"])
    with pytest.raises(UsageError, match="'eel'"):
        make_stream(str(folder), size=4, tasks=2)


class Squares:
    """Samples that exist only when they are asked for: ids and their squares."""

    shape, dtype = (2,), np.dtype(np.float32)

    def __len__(self) -> int:
        return 40

    def take(self, index: Any) -> Any:
        return np.stack([index, index**2], 1).astype(np.float32)

    def digest(self, index: Any, into: Any) -> None:
        into.update(self.take(index).tobytes())


def test_whatever_has_places_can_be_samples() -> None:
    assert isinstance(Squares(), Samples)
    assert isinstance(ArraySamples(PIXELS), Samples)
    y = np.repeat(np.arange(4), 10)
    made = Squares().take(np.arange(40))
    streams = [
        build_stream(Dataset("squares", x, y, x, y, (0, 1, 2, 3)), Spec(tasks=2, standardize=True))
        for x in (Squares(), made)
    ]
    assert contents(streams[0]) == contents(streams[1])
    assert streams[0].fingerprint == streams[1].fingerprint


def test_the_digest_of_rows_is_that_of_their_bytes_in_their_order() -> None:
    array = np.arange(40, dtype=np.int16).reshape(20, 2)
    for index in (np.arange(20), np.arange(20)[::-1].copy(), np.array([3, 1])):
        hashed, wanted = hashlib.sha256(), hashlib.sha256(array[index].tobytes())
        ArraySamples(array).digest(index, hashed)
        assert hashed.digest() == wanted.digest()


def test_what_is_taken_may_be_changed() -> None:
    array = np.arange(6.0).reshape(3, 2)
    ArraySamples(array).take(np.arange(3))[:] = 0
    assert array.any()
