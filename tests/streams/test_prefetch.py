"""Samples that other processes read: the same batches, the same mistakes, and no process is left."""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import NotComputable, UsageError
from recollect.experiments.file import Experiment
from recollect.learners import Setting, make_learner
from recollect.protocol import iter_run
from recollect.runs.seeds import derive
from recollect.streams import Stream, make_stream
from recollect.streams.given import stream_from

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, random = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    for label in "abcd":
        for part, count in (("train", 9), ("test", 4)):
            (folder / part / label).mkdir(parents=True)
            for k in range(count):
                pixels = random.integers(0, 256, (12, 10, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / part / label / f"{k}.jpg")
    return folder


def stream_of(folder: Path, prefetch: int, **options: Any) -> Stream:
    return make_stream(folder, **{"size": 8, "tasks": 2, "batch": 4, "prefetch": prefetch, **options})


@pytest.mark.parametrize(
    "options",
    [
        {"passes": 2},
        {"blurry": 0.4, "batch": 3},
        {"scenario": "domain-incremental", "domain": "permutations", "tasks": 2},
    ],
)
def test_the_batches_are_the_same(images: Path, options: dict[str, Any]) -> None:
    plain, ahead = stream_of(images, 0, **options), stream_of(images, 2, **options)
    for start in (0, 3, plain.n_batches):
        pairs = list(zip(plain.batches(7, start), ahead.batches(7, start), strict=True))
        assert len(pairs) == plain.n_batches - start
        for one, other in pairs:
            np.testing.assert_array_equal(one.x, other.x)
            np.testing.assert_array_equal(one.index, other.index)
            assert (one.number, one.ends, one.samples_seen, one.x.dtype) == (
                other.number,
                other.ends,
                other.samples_seen,
                other.x.dtype,
            )
            other.x[:] = 0  # an array that may be changed
    for one, other in zip(plain.test_batches(5), ahead.test_batches(5), strict=True):
        np.testing.assert_array_equal(one.x, other.x)
    assert plain.fingerprint == ahead.fingerprint
    assert plain.training_hash == ahead.training_hash


def test_a_run_goes_on_with_or_without(images: Path, tmp_path: Path) -> None:
    def run(name: str, prefetch: int, until: int | None = None) -> bytes:
        stream = stream_of(images, prefetch)
        learner = make_learner("er", {"memory": 5, "hidden": [4]}, Setting.of(stream), derive(0))
        for _ in iter_run(learner, stream, tmp_path / name, name="er", until=until):
            pass
        return (tmp_path / name / "rows.jsonl").read_bytes()

    whole = run("whole", 0)
    assert run("ahead", 2) == whole
    run("mixed", 1, until=0)
    assert run("mixed", 0) == whole
    run("other", 0, until=0)
    assert run("other", 3) == whole


def children() -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == os.getpid() and b"prefetch" in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
            except (OSError, ValueError):
                continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_no_process_is_left(images: Path) -> None:
    before = children()
    stream = stream_of(images, 2)
    batches = stream.batches(0)
    next(batches)
    assert len(children() - before) == 2
    del batches, stream
    gc.collect()
    for _ in range(50):
        if not children() - before:
            break
        time.sleep(0.1)
    assert not children() - before


def test_an_image_that_cannot_be_read_is_named(images: Path) -> None:
    stream = stream_of(images, 2)
    bad = images / "train" / "b" / "0.jpg"
    kept = bad.read_bytes()
    try:
        bad.write_bytes(kept[: len(kept) // 2])
        with pytest.raises(UsageError, match=r"Cannot read the image .*b.0\.jpg"):
            list(stream.batches(0))
        bad.write_bytes(kept)
        assert len(list(stream.batches(0))) == stream.n_batches  # and the processes still answer
    finally:
        bad.write_bytes(kept)


def test_a_process_that_dies_is_told(images: Path) -> None:
    stream = stream_of(images, 1)
    batches = stream.batches(0)
    next(batches)
    for pid in children():
        os.kill(pid, 9)
    with pytest.raises(NotComputable, match="prefetch"):
        list(batches)


class Items:
    """A data set as torch has them."""

    classes = ("a", "b")

    def __init__(self, count: int, transform: Any = None) -> None:
        self.count, self.transform, self.targets = count, transform, [k % 2 for k in range(count)]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: int) -> Any:
        print("a transform that talks")
        if self.transform == "fails" and place == 3:  # none of those that are looked at first
            raise KeyError("nothing there")
        return np.full((1, 4, 4), place, np.uint8), self.targets[place]


def test_items_of_a_data_set(capfd: pytest.CaptureFixture[str]) -> None:
    given = (Items(8), Items(4))
    plain, ahead = (stream_from(given, tasks=2, prefetch=count) for count in (0, 2))
    for one, other in zip(plain.batches(0), ahead.batches(0), strict=True):
        np.testing.assert_array_equal(one.x, other.x)


def test_what_cannot_be_sent_is_one_sentence() -> None:
    stream = stream_from((Items(8, lambda x: x), Items(4)), tasks=2, prefetch=1)
    with pytest.raises(UsageError, match=r"cannot be sent .*without lambdas"):
        next(stream.batches(0))


def test_what_a_sample_raises_is_told() -> None:
    stream = stream_from((Items(40, "fails"), Items(4)), tasks=2, prefetch=1)
    with pytest.raises(UsageError, match=r"item 3 cannot be read: it stops with KeyError: .nothing there."):
        list(stream.batches(0))


@pytest.mark.parametrize("prefetch", [-1, 65, 1.5, "two", True, None])
def test_wrong_numbers_are_one_sentence(images: Path, prefetch: Any) -> None:
    with pytest.raises(UsageError, match="prefetch"):
        stream_of(images, prefetch)


def test_arrays_need_none() -> None:
    with pytest.raises(UsageError, match="prefetch is for samples that are read from disk"):
        make_stream("digits", tasks=5, prefetch=2)


def test_an_experiment_file_takes_it(images: Path, tmp_path: Path) -> None:
    from recollect.experiments.running import run_experiment
    from recollect.runs import load

    streams = [{"name": str(images), "size": 8, "tasks": 2, "prefetch": 1, "label": "images"}]
    asked = {"name": "small", "streams": streams, "learners": ["random"], "seeds": 1}
    outcome = run_experiment(Experiment.model_validate(asked), tmp_path, workers=1)  # in a worker that is a daemon
    assert not outcome.failures
    assert load(outcome.folder)[0].status == "finished"
