import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams.readers.tiny_imagenet import decode, list_files
from tests.streams.files import write_tiny


def test_files_and_labels(tmp_path):
    folder = write_tiny(tmp_path)
    listing = list_files(folder)
    assert listing.classes == ("n100", "n101", "n102", "n103")
    assert listing.y_train == (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3)
    assert listing.y_test == (0, 1, 2, 3) * 2
    assert [name.rsplit("_", 1)[1] for name in listing.train[:3]] == ["0.JPEG", "1.JPEG", "2.JPEG"]


def test_images_come_in_the_order_of_their_numbers(tmp_path):
    listing = list_files(write_tiny(tmp_path, classes=1, train=12))
    assert [name.rsplit("_", 1)[1] for name in listing.train] == [f"{i}.JPEG" for i in range(12)]


def test_pixels(tmp_path):
    listing = list_files(write_tiny(tmp_path))
    images = decode(listing.train)
    assert images.shape == (12, 3, 64, 64)
    # Image 3 is a grey-scale file of grey 10, the others of their class are colour files of the same grey.
    assert np.abs(images[3].astype(int) - images[4]).max() <= 1
    assert np.abs(images.mean((1, 2, 3)) - np.repeat([0, 10, 20, 30], 3)).max() <= 1
    assert decode(listing.test, 32).shape == (8, 3, 32, 32)


def test_channels_come_first(tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (64, 64), (250, 120, 5)).save(tmp_path / "x.JPEG", quality=100)
    (pixels,) = decode([str(tmp_path / "x.JPEG")], 8)
    assert np.abs(pixels.mean((1, 2)) - [250, 120, 5]).max() < 3


def test_wrong_folders(tmp_path):
    folder = write_tiny(tmp_path)
    annotations = folder / "val" / "val_annotations.txt"
    for line in ("val_0.JPEG\tn777\t0", "../../secret\tn100", "no tabs here"):
        annotations.write_text(line)
        with pytest.raises(UsageError, match="should be a file name and one of the 4 ids"):
            list_files(folder)


def test_wrong_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (32, 64)).save(tmp_path / "small.JPEG")
    (tmp_path / "text.JPEG").write_text("no image")
    whole = tmp_path / "whole.JPEG"
    image.effect_noise((64, 64), 50).save(whole)
    (tmp_path / "cut.JPEG").write_bytes(whole.read_bytes()[:600])
    for name, match in (
        ("small", "should be 64 x 64; it is 32 x 64"),
        ("text", "Cannot read the image"),
        ("cut", "Cannot read the image"),
        ("absent", "is listed and not there"),
    ):
        with pytest.raises(UsageError, match=match):
            decode([str(tmp_path / f"{name}.JPEG")])
