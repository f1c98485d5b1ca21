"""The real files, where this machine has them: RECOLLECT_DATA names their folder."""

import tarfile
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams import make_stream

PACKED_MNIST = Path(__file__).parents[3] / "shared" / "data" / "mnist.tar.xz"


def sizes(stream):
    return [(len(task.classes), len(task.train), len(task.test)) for task in stream.tasks]


def test_split_cifar100(real):
    stream = real("split-cifar100")
    assert sizes(stream) == [(10, 5000, 1000)] * 10
    assert stream.n_batches == 5000
    means = stream.data.x_train.mean(axis=(0, 2, 3)) / 255
    assert np.abs(means - [0.50707, 0.48655, 0.44092]).max() < 2e-5


def test_split_tiny_imagenet(real):
    try:
        stream = real("split-tiny-imagenet")
    except UsageError:
        stream = real("split-tiny-imagenet", partial=True)
        assert "partial" in stream.name
    assert [(c, test) for c, _, test in sizes(stream)] == [(2, 100)] * 100
    assert stream.n_train == 100_000 or "(partial)" in stream.name


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_the_mnists(real, name):
    stream = real(f"split-{name}")
    assert (stream.n_train, sum(len(task.test) for task in stream.tasks)) == (60_000, 10_000)
    assert stream.notes == ()


def test_mnist_unpacked_here(tmp_path):
    if not PACKED_MNIST.exists():
        pytest.skip(f"there is no {PACKED_MNIST.name} beside the project")
    with tarfile.open(PACKED_MNIST) as tar:
        tar.extractall(tmp_path, filter="data")
    stream = make_stream("split-mnist", data=tmp_path, class_order="natural")
    # Byte for byte as published: no note; 5,923 zeros and 6,742 ones come first.
    assert stream.notes == ()
    assert len(stream.tasks[0].train) == 5923 + 6742
