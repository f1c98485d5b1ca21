"""No test touches the user's cache or data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from recollect.streams.catalogue import CATALOGUE


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
