"""No test touches the user's cache or data."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from recollect.errors import NotComputable
from recollect.streams import Stream, make_stream
from recollect.streams.catalogue import CATALOGUE

REAL = os.environ.get("RECOLLECT_DATA")
CACHE = os.environ.get("RECOLLECT_CACHE")


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("RECOLLECT_DATA", raising=False)


@pytest.fixture
def shrink(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the catalogue expect other counts, so that small files pass for the published ones."""

    def change(name: str, **facts: Any) -> None:
        monkeypatch.setitem(CATALOGUE, name, replace(CATALOGUE[name], **facts))

    return change


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stream]:
    """Make a stream of the real files; with the user's cache, so that they are decoded and clustered once."""
    if REAL is None:
        pytest.skip("RECOLLECT_DATA does not name a folder of real data")
    monkeypatch.setenv("RECOLLECT_DATA", REAL)
    if CACHE is None:
        monkeypatch.delenv("RECOLLECT_CACHE")
    else:
        monkeypatch.setenv("RECOLLECT_CACHE", CACHE)

    def make(name: str, **options: Any) -> Stream:
        try:
            return make_stream(name, **options)
        except NotComputable as absent:
            pytest.skip(str(absent))

    return make
