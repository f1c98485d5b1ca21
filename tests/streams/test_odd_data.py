"""Data as people have them: 16 bits, transforms, lengths that lie, labels that differ, samples that come twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import make_stream, stream_from, stream_from_arrays
from recollect.streams import samples as samples_module

Image = pytest.importorskip("PIL.Image")


def folder(place: Path, first: Any = None) -> Path:
    """Two classes of five images, and one more of the first."""
    random = np.random.default_rng(0)
    for label in "ab":
        (place / label).mkdir(parents=True)
        for k in range(5):
            Image.fromarray(random.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(place / label / f"{k}.png")
    if first is not None:
        first.save(place / "a" / "first.png")
    return place


def test_sixteen_bits_are_not_clipped_to_white(tmp_path: Path) -> None:
    deep = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
    place = folder(tmp_path / "deep", Image.fromarray(deep))
    for grey in (True, False):
        stream = make_stream(place, size=8, tasks=2, grey=grey)
        files = list(stream.data.train.files) + list(stream.data.test.files)  # type: ignore[attr-defined]
        both = [stream.data.train.take(np.arange(len(stream.data.train))), stream.data.test.take(np.arange(2))]
        where = next(k for k, file in enumerate(files) if file.endswith("first.png"))
        np.testing.assert_array_equal(np.concatenate(both)[where][0], deep >> 8)


@pytest.mark.parametrize(("kind", "suffix"), [("float32", "tif"), ("int32", "tif")])
def test_numbers_of_32_bits_have_no_white(tmp_path: Path, kind: str, suffix: str) -> None:
    place = folder(tmp_path / "deep")
    Image.fromarray(np.zeros((8, 8), kind)).save(place / "a" / f"first.{suffix}")
    stream = make_stream(place, size=8, tasks=2)
    with pytest.raises(UsageError, match="32 bits"):
        [*stream.batches(0), *stream.test_batches()]


def test_samples_in_training_and_testing_are_a_note(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(20, 4)).astype(np.float32), [0, 1] * 10
    other = random.normal(size=(20, 4)).astype(np.float32)
    assert stream_from_arrays(x, y, other, y, tasks=2).notes == ()
    other[3] = x[7]
    note = ("1 of 20 test samples are training samples too, byte for byte",)
    assert stream_from_arrays(x, y, other, y, tasks=2).notes == note
    place = folder(tmp_path / "images" / "train").parent
    folder(place / "test")
    assert make_stream(place, size=8, tasks=2).notes == (
        "10 of 10 test samples are training samples too, byte for byte",
    )


def test_of_very_large_data_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros((10, 4), np.float32)
    whole = samples_module.ArraySamples(x)
    assert samples_module.in_both(whole, whole, most=400) == 10
    assert samples_module.in_both(whole, whole, most=300) is None


class Items:
    """A data set as torch has them."""

    def __init__(self, item: Callable[[int], Any], length: int = 40, targets: Any = None) -> None:
        self.item, self.length = item, length
        if targets is not None:
            self.targets = targets

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: int) -> Any:
        return self.item(place)


def plain(place: int) -> Any:
    return np.full((1, 4, 4), place, np.uint8), place % 2


def test_a_random_mirror_is_found_though_the_first_item_agrees() -> None:
    random = np.random.default_rng(0)

    def mirrored(place: int) -> Any:
        x = np.arange(16, dtype=np.uint8).reshape(1, 4, 4)
        return (x[..., ::-1].copy() if place and random.random() < 0.5 else x), place % 2

    with pytest.raises(UsageError, match="draws at random"):
        stream_from((Items(mirrored), Items(plain, 8)), tasks=2)


def test_a_length_that_lies_is_told() -> None:
    def ends(place: int) -> Any:
        if place >= 30:
            raise IndexError("no such row")
        return plain(place)

    message = r"says that it has 40 items, and item \d+ cannot be read: it stops with IndexError: no such row"
    with pytest.raises(UsageError, match=message):
        stream_from((Items(ends), Items(plain, 8)), tasks=2)
    with pytest.raises(UsageError, match=message):
        stream_from((Items(ends, targets=[k % 2 for k in range(40)]), Items(plain, 8)), tasks=2)


def test_labels_are_those_that_the_items_say() -> None:
    turned = Items(lambda place: (plain(place)[0], 1 - place % 2), targets=[k % 2 for k in range(40)])
    stream = stream_from((turned, Items(plain, 8)), tasks=2)
    np.testing.assert_array_equal(stream.data.y_train, [1 - k % 2 for k in range(40)])
    asked: list[int] = []
    told = Items(lambda place: (asked.append(place), plain(place))[1], targets=[k % 2 for k in range(40)])
    stream_from((told, Items(plain, 8)), tasks=2)
    assert len(set(asked)) == 16  # where they agree, not every item is read for its label
