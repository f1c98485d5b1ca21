import numpy as np
import pytest
from scipy import ndimage

from recollect.streams.transforms import Permutation, Rotation


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (6, 3, 9, 9), dtype=np.uint8)


def test_a_permutation_moves_every_input_and_loses_none(images):
    moved = Permutation(seed=3, number=2)(images)
    assert moved.shape == images.shape
    assert moved.dtype == np.uint8
    flat, was = moved.reshape(6, -1), images.reshape(6, -1)
    assert np.array_equal(np.sort(flat), np.sort(was))
    # One order for all samples.
    marks = np.arange(243, dtype=np.float32).reshape(1, 3, 9, 9)
    order = Permutation(seed=3, number=2)(marks).ravel().astype(int)
    assert np.array_equal(flat, was[:, order])
    assert not np.array_equal(flat, Permutation(seed=3, number=1)(images).reshape(6, -1))


@pytest.mark.parametrize("angle", [1, 30, 45, 90.5, 133, 270.25, -20])
@pytest.mark.parametrize("shape", [(2, 1, 9, 9), (2, 3, 8, 8), (1, 1, 7, 10)])
def test_rotations_are_those_of_scipy(angle, shape):
    x = np.random.default_rng(1).random(shape, dtype=np.float32)
    theirs = ndimage.rotate(x, angle, axes=(3, 2), reshape=False, order=1)
    ours = Rotation(angle)(x)
    # Within rounding of the rim: a pixel that falls exactly on it may count as in or out.
    assert (np.abs(ours - theirs) > 1e-5).mean() < 0.02


@pytest.mark.parametrize("angle", [0, 90, 180, 270, 450])
def test_quarter_turns_are_exact(images, angle):
    assert np.array_equal(Rotation(angle)(images), np.rot90(images, angle // 90, axes=(2, 3)))


def test_uint8_is_rounded_and_stays(images):
    turned = Rotation(30)(images)
    assert turned.dtype == np.uint8
    exact = Rotation(30)(images.astype(np.float32))
    assert np.abs(turned - exact).max() <= 0.5


def test_four_quarter_turns_are_none(images):
    turned = images
    for _ in range(4):
        turned = Rotation(90)(turned)
    assert np.array_equal(turned, images)
