"""What is published: files, hashes, counts and addresses of the data sets that Recollect reads."""

from __future__ import annotations

from recollect.errors import UsageError
from recollect.nearest import nearest
from recollect.streams.catalogue_anomaly import ANOMALY_SETS
from recollect.streams.published import Download, File, Published

__all__ = ["CATALOGUE", "IDX_NAMES", "Download", "File", "Published", "published"]


def _idx_files(hashes: tuple[tuple[str, str], ...]) -> tuple[File, ...]:
    return tuple(File(name, md5) for name, md5 in zip(IDX_NAMES, hashes, strict=True))


def _idx_downloads(
    bases: tuple[str, ...], hashes: tuple[tuple[str, str], ...], sizes: tuple[int, ...], folder: str
) -> tuple[Download, ...]:
    return tuple(
        Download(f"{name}.gz", tuple(f"{base}/{name}.gz" for base in bases), packed, size, folder)
        for name, (_, packed), size in zip(IDX_NAMES, hashes, sizes, strict=True)
    )


IDX_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
# The hash of the plain file, then of the published .gz.
_MNIST_HASHES = (
    ("6bbc9ace898e44ae57da46a324031adb", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    ("a25bea736e30d166cdddb491f175f624", "d53e105ee54ea40749a09fcbcd1e9432"),
    ("2646ac647ad5339dbf082846283269ea", "9fb629c4189551a2d022fa330f9573f3"),
    ("27ae3e4e09519cfbb04c329615203637", "ec29112dd5afa0611ce80d1b7f02629c"),
)
_FASHION_HASHES = (
    ("f4a8712d7a061bf5bd6d2ca38dc4d50a", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
    ("9018921c3c673c538a1fc5bad174d6f9", "25c81989df183df01b3e8a0aad5dffbe"),
    ("8181f5470baa50b63fa0f6fddb340f0a", "bef4ecab320f06d8554ea6380940ec79"),
    ("15d484375f8d13e6eb1aabb0c3f46965", "bb300cfdad3c16e7a12a480ee83cd310"),
)
_TORONTO = "https://www.cs.toronto.edu/~kriz"

CATALOGUE: dict[str, Published] = {
    entry.name: entry
    for entry in (
        Published(
            "digits",
            "handwritten digits, 8 x 8, inside scikit-learn (no download)",
            classes=10,
            n_train=1438,
            n_test=359,
            input_shape=(1, 8, 8),
            home="https://scikit-learn.org/stable/datasets/toy_dataset.html",
            equal_classes=False,
        ),
        Published(
            "mnist",
            "handwritten digits, 28 x 28, grey",
            classes=10,
            n_train=60_000,
            n_test=10_000,
            input_shape=(1, 28, 28),
            folders=("MNIST/raw", "mnist/raw", "MNIST", "mnist"),
            files=_idx_files(_MNIST_HASHES),
            downloads=_idx_downloads(
                (
                    "https://ossci-datasets.s3.amazonaws.com/mnist",
                    "https://storage.googleapis.com/cvdf-datasets/mnist",
                ),
                _MNIST_HASHES,
                (9_912_422, 28_881, 1_648_877, 4_542),
                "MNIST/raw",
            ),
            home="http://yann.lecun.com/exdb/mnist/",
            equal_classes=False,
        ),
        Published(
            "fashion-mnist",
            "articles of clothing, 28 x 28, grey",
            classes=10,
            n_train=60_000,
            n_test=10_000,
            input_shape=(1, 28, 28),
            folders=("FashionMNIST/raw", "fashion-mnist", "FashionMNIST", "fashion_mnist", "data/fashion"),
            files=_idx_files(_FASHION_HASHES),
            downloads=_idx_downloads(
                (
                    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
                    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
                ),
                _FASHION_HASHES,
                (26_421_880, 29_515, 4_422_102, 5_148),
                "FashionMNIST/raw",
            ),
            home="https://github.com/zalandoresearch/fashion-mnist",
            elsewhere=("/usr/share/datasets/fashion-mnist",),  # Debian's package dataset-fashion-mnist
        ),
        Published(
            "cifar10",
            "photographs of 10 kinds of things, 32 x 32, colour",
            classes=10,
            n_train=50_000,
            n_test=10_000,
            input_shape=(3, 32, 32),
            folders=("cifar-10-batches-py", "CIFAR10/cifar-10-batches-py", "cifar10/cifar-10-batches-py"),
            files=(
                File("data_batch_1", ("c99cafc152244af753f735de768cd75f",)),
                File("data_batch_2", ("d4bba439e000b95fd0a9bffe97cbabec",)),
                File("data_batch_3", ("54ebc095f3ab1f0389bbae665268c751",)),
                File("data_batch_4", ("634d18415352ddfa80567beed471001a",)),
                File("data_batch_5", ("482c414d41f54cd18b22e5b47cb7c3cb",)),
                File("test_batch", ("40351d587109b95175f43aff81a1287e",)),
                File("batches.meta", ("5ff9c542aee3614f3951f8cda6e48888",)),
            ),
            downloads=(
                Download(
                    "cifar-10-python.tar.gz",
                    (f"{_TORONTO}/cifar-10-python.tar.gz",),
                    "c58f30108f718f92721af3b95e74349a",
                    170_498_071,
                    "cifar-10-batches-py",
                    unpack=True,
                ),
            ),
            home="https://www.cs.toronto.edu/~kriz/cifar.html",
        ),
        Published(
            "cifar100",
            "photographs of 100 kinds of things, 32 x 32, colour",
            classes=100,
            n_train=50_000,
            n_test=10_000,
            input_shape=(3, 32, 32),
            folders=("cifar-100-python", "CIFAR100/cifar-100-python", "cifar100/cifar-100-python"),
            files=(
                File("train", ("16019d7e3df5f24257cddd939b257f8d",)),
                File("test", ("f0ef6b0ae62326f3e7ffdfab6717acfc",)),
                File("meta", ("7973b15100ade9c7d40fb424638fde48",)),
            ),
            downloads=(
                Download(
                    "cifar-100-python.tar.gz",
                    (f"{_TORONTO}/cifar-100-python.tar.gz",),
                    "eb9058c3a382ffc7106e4002c42a8d85",
                    169_001_437,
                    "cifar-100-python",
                    unpack=True,
                ),
            ),
            home="https://www.cs.toronto.edu/~kriz/cifar.html",
        ),
        Published(
            "tiny-imagenet",
            "photographs of 200 kinds of things, 64 x 64, colour; the validation images are the test set",
            classes=200,
            n_train=100_000,
            n_test=10_000,
            input_shape=(3, 64, 64),
            folders=(
                "tiny-imagenet-200",
                "TinyImageNet/tiny-imagenet-200",
                "tiny-imagenet/tiny-imagenet-200",
            ),
            files=(File("wnids.txt"), File("train"), File("val/images"), File("val/val_annotations.txt")),
            downloads=(
                Download(
                    "tiny-imagenet-200.zip",
                    ("http://cs231n.stanford.edu/tiny-imagenet-200.zip",),
                    "90528d7ca1a48142e341f4ef8d21d0de",
                    248_100_043,
                    "tiny-imagenet-200",
                    unpack=True,
                ),
            ),
            home="http://cs231n.stanford.edu/tiny-imagenet-200.zip",
        ),
        *ANOMALY_SETS,
    )
}


def published(name: str) -> Published:
    """The catalogue's entry.

    >>> published("cifar100").n_train
    50000
    >>> published("cifar-100")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: There is no data set 'cifar-100'; did you mean 'cifar100'? There are digits, mnist, ...
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = nearest(name, CATALOGUE, cutoff=0.6)
    hint = "there are" if near is None else f"did you mean {near!r}? There are"
    raise UsageError(f"There is no data set {name!r}; {hint} {', '.join(CATALOGUE)}.")
