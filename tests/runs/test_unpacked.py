"""Packed results: read as what they hold, whatever the names in them; damage is one paragraph."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from recollect.errors import UsageError
from recollect.runs import load
from recollect.runs.unpacked import unpack
from tests.runs.importers.versions.writing import lmeval_results


@pytest.fixture
def evals(tmp_path: Path) -> Path:
    for step, score in ((1, 0.5), (2, 0.4)):
        lmeval_results(tmp_path / "evals" / f"step{step}" / "results.json", f"m/step{step}", {"a": score})
    return tmp_path / "evals"


@pytest.mark.parametrize("kind", ["zip", "tar", "gztar"])
def test_an_archive_is_its_folder(evals: Path, kind: str) -> None:
    packed = shutil.make_archive(str(evals.parent / "evals"), kind, evals.parent, "evals")
    (run,), (plain,) = load(packed), load(evals)
    assert run.matrix.R.tolist() == plain.matrix.R.tolist()
    assert any("unpacked; evals: read as a file of lm-eval" in note for note in run.notes)


def test_a_folder_of_gzip_files_is_a_folder_of_files(evals: Path) -> None:
    before = load(evals)[0].matrix.R.tolist()
    for file in list(evals.rglob("*.json")):
        file.with_suffix(".json.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    names = sorted(evals.rglob("*"))
    assert load(evals)[0].matrix.R.tolist() == before
    assert sorted(evals.rglob("*")) == names


def test_a_matrix_may_be_packed(tmp_path: Path) -> None:
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(b"0.9,\n0.5,0.8\n"))
    (run,) = load(tmp_path / "m.csv.gz")
    assert run.matrix.R[1].tolist() == [0.5, 0.8]


def test_names_that_lead_elsewhere_stay_inside(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("../../evil.txt", "x")
        archive.writestr("/abs/evil2.txt", "x")
    with tarfile.open(tmp_path / "y.tar", "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    folder = unpack(tmp_path / "x.zip")
    assert sorted(file.name for file in folder.rglob("*.txt")) == ["evil.txt", "evil2.txt"]
    assert not list(unpack(tmp_path / "y.tar").iterdir())


def test_what_is_cut_or_unknown_is_one_paragraph(evals: Path, tmp_path: Path) -> None:
    packed = Path(shutil.make_archive(str(tmp_path / "cut"), "zip", evals))
    packed.write_bytes(packed.read_bytes()[:200])
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b"x" * 5000)[:30])
    for file in (packed, tmp_path / "cut.json.gz"):
        with pytest.raises(UsageError, match="cannot be unpacked") as said:
            load(file)
        assert "\n" not in str(said.value)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.md", "x")
    with pytest.raises(UsageError, match="holds no runs"):
        load(tmp_path / "other.zip")
