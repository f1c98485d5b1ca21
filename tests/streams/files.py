"""Small data sets in the true formats."""

from __future__ import annotations

import gzip
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from recollect.streams.catalogue import IDX_NAMES


def write_idx(path: Path, array: np.ndarray) -> None:
    content = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    else:
        path.write_bytes(content)


def write_mnist(folder: Path, n_train: int = 40, n_test: int = 20, suffix: str = "") -> list[np.ndarray]:
    """The four idx files, with labels 0 to 9 in turn."""
    rng = np.random.default_rng(0)
    parts = []
    for n in (n_train, n_test):
        parts += [rng.integers(0, 256, (n, 28, 28), dtype=np.uint8), (np.arange(n) % 10).astype(np.uint8)]
    for name, array in zip(IDX_NAMES, parts, strict=True):
        write_idx(folder / (name + suffix), array)
    return parts


def write_cifar100(root: Path, n_train: int = 200, n_test: int = 100, *, text: bool = False) -> np.ndarray:
    """`cifar-100-python/`, with keys as bytes (or text); the training images are returned."""
    folder = root / "cifar-100-python"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)

    def key(name: str) -> str | bytes:
        return name if text else name.encode()

    images = {n: rng.integers(0, 256, (n, 3072), dtype=np.uint8) for n in (n_train, n_test)}
    for name, n in (("train", n_train), ("test", n_test)):
        content = {key("data"): images[n], key("fine_labels"): (np.arange(n) % 100).tolist()}
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
    names = {key("fine_label_names"): [key(f"thing {c}") for c in range(100)]}
    (folder / "meta").write_bytes(pickle.dumps(names, protocol=2))
    return images[n_train]


def write_tiny(root: Path, classes: int = 4, train: int = 3, test: int = 2) -> Path:
    """`tiny-imagenet-200/` with JPEG files of one grey each; one training image is a grey-scale JPEG."""
    image = pytest.importorskip("PIL.Image")
    folder = root / "tiny-imagenet-200"
    wnids = [f"n{100 + c}" for c in range(classes)]
    lines = []
    for c, wnid in enumerate(wnids):
        (folder / "train" / wnid / "images").mkdir(parents=True)
        for i in range(train):
            mode, colour = ("L", 10 * c) if (c, i) == (1, 0) else ("RGB", (10 * c,) * 3)
            picture = image.new(mode, (64, 64), colour)
            picture.save(folder / "train" / wnid / "images" / f"{wnid}_{i}.JPEG")
    (folder / "val" / "images").mkdir(parents=True)
    for i in range(classes * test):
        name = f"val_{i}.JPEG"
        image.new("RGB", (64, 64), (200 + i,) * 3).save(folder / "val" / "images" / name)
        lines.append(f"{name}\t{wnids[i % classes]}\t0\t0\t9\t9")
    (folder / "val" / "val_annotations.txt").write_text("\n".join(lines) + "\n")
    (folder / "wnids.txt").write_text("\n".join(reversed(wnids)) + "\n")
    return folder
