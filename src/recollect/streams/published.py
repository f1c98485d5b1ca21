"""The terms in which a published data set is described."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """A published file: its name in the data set's folder (or a pattern, with *) and the MD5 hashes it may have."""

    name: str
    md5: tuple[str, ...] = ()


@dataclass(frozen=True)
class Download:
    """A file to fetch: addresses that hold the same bytes, their MD5 hash, and where it belongs.

    `folder` is the folder, below the data folder, that the file is put into or, if it is an archive
    (`unpack`), that it unpacks to.
    """

    name: str
    urls: tuple[str, ...]
    md5: str
    size: int
    folder: str
    unpack: bool = False


@dataclass(frozen=True)
class Published:
    """A data set as published: how it is found, what it must hold, where it comes from.

    Data sets of the problem "detection" have rows that are normal or not, and no images: `n_test` is 0 where they are
    not split, and `input_shape` is empty where the features depend on what is asked.
    """

    name: str
    summary: str
    classes: int
    n_train: int
    n_test: int
    input_shape: tuple[int, ...]
    folders: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    downloads: tuple[Download, ...] = ()
    home: str = ""
    elsewhere: tuple[str, ...] = ()
    equal_classes: bool = True
    problem: str = "classification"
