from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

_PACKED = Path("shared") / "files" / "public_files.tar.xz"


@pytest.fixture(scope="session")
def public_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Result files that others have published, unpacked; they lie beside the repository or are skipped."""
    packed = next((p / _PACKED for p in Path(__file__).resolve().parents if (p / _PACKED).is_file()), None)
    if packed is None:
        pytest.skip(f"public result files are not beside the repository ({_PACKED})")
    folder = tmp_path_factory.mktemp("public")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder
