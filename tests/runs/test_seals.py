"""Seals: what was changed on disk is found when it is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import RecollectError, UsageError
from recollect.runs import Row, Run, RunFolder, Task, load, save
from recollect.runs.codec import header_to_json, row_to_json
from recollect.runs.reading import read_run
from recollect.runs.seals import open_checkpoint, seal_checkpoint

PLANNED = Run(learner="er", stream="toy", seed=0, tasks=(Task("a", n_samples=9), Task("b", n_samples=9)), rows=())
ROWS = (Row(0, step=5, correct=(8, 1)), Row(1, step=9, correct=(4, 7)))


def record(folder: Path, finish: bool = True) -> None:
    with RunFolder.open(folder, PLANNED) as run:
        for row in ROWS:
            run.append(row)
        if finish:
            run.finish()


def numbers(run: Run) -> Any:
    return run.status, run.learner, run.seed, [row.correct for row in run.rows], run.matrix.R.tolist()


def flips(data: bytes) -> Any:
    for place in range(8 * len(data)):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        yield bytes(changed)


@pytest.mark.parametrize("name", ["rows.jsonl", "run.json"])
def test_no_flipped_bit_of_a_finished_run_is_accepted(tmp_path: Path, name: str) -> None:
    record(tmp_path / "r")
    whole = (tmp_path / "r" / name).read_bytes()
    accepted = 0
    for changed in flips(whole):
        (tmp_path / "r" / name).write_bytes(changed)
        try:
            read_run(tmp_path / "r")
            accepted += 1
        except UsageError:
            pass
    assert accepted == 0


def test_a_flipped_bit_of_a_run_that_goes_on_changes_no_number(tmp_path: Path) -> None:
    """A line end that is gone looks as if a kill had torn the line: the row is dropped, and no other one read."""
    record(tmp_path / "r", finish=False)
    place = tmp_path / "r" / "rows.jsonl"
    whole = place.read_bytes()
    for changed in flips(whole):
        place.write_bytes(changed)
        try:
            rows = read_run(tmp_path / "r").rows
        except UsageError:
            continue
        assert [row.correct for row in rows] in ([(8, 1)], [(8, 1), (4, 7)])


def test_lines_that_are_gone_moved_or_repeated_are_found(tmp_path: Path) -> None:
    record(tmp_path / "r", finish=False)
    place = tmp_path / "r" / "rows.jsonl"
    first, second = place.read_bytes().splitlines(keepends=True)
    for lines in ([second], [second, first], [first, first], [first, second, second]):
        place.write_bytes(b"".join(lines))
        with pytest.raises(UsageError, match=r"seal|order"):
            read_run(tmp_path / "r")


@pytest.mark.parametrize("remains", [0, 1, None])
def test_a_finished_run_whose_rows_are_gone_is_not_read(tmp_path: Path, remains: int | None) -> None:
    record(tmp_path / "r")
    place = tmp_path / "r" / "rows.jsonl"
    if remains is None:
        place.unlink()
    else:
        place.write_bytes(b"".join(place.read_bytes().splitlines(keepends=True)[:remains]))
    with pytest.raises(UsageError, match="says that its run is complete, but"):
        read_run(tmp_path / "r")
    with pytest.raises(UsageError, match="says that its run is complete, but"):
        RunFolder.open(tmp_path / "r", PLANNED)


def test_rows_after_a_dropped_one_have_the_seals_of_a_run_without_interruption(tmp_path: Path) -> None:
    record(tmp_path / "whole")
    with RunFolder.open(tmp_path / "r", PLANNED) as run:
        run.append(ROWS[0])
        run.append(Row(1, step=9, correct=(0, 0)))
        run.keep_rows(1)
        run.append(ROWS[1])
        run.finish()
    assert (tmp_path / "r/rows.jsonl").read_bytes() == (tmp_path / "whole/rows.jsonl").read_bytes()
    assert numbers(read_run(tmp_path / "r")) == numbers(read_run(tmp_path / "whole"))


def test_imported_runs_are_sealed_too(tmp_path: Path) -> None:
    record(tmp_path / "r")
    (folder,) = save(load(tmp_path / "r"), tmp_path / "saved")
    assert numbers(read_run(folder)) == numbers(read_run(tmp_path / "r"))
    (folder / "rows.jsonl").write_bytes(b"")
    with pytest.raises(UsageError, match="says that its run is complete, but"):
        read_run(folder)


def old_record(folder: Path, status: str) -> None:
    """A folder as schema 1 wrote it: no seal, no problem, no role."""
    folder.mkdir()
    header = {**header_to_json(PLANNED), "schema": 1, "status": status}
    del header["problem"], header["role"]
    (folder / "run.json").write_text(json.dumps(header, indent=1) + "\n")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row_to_json(row)) + "\n" for row in ROWS[:1]))


def test_records_of_schema_1_are_read_and_go_on(tmp_path: Path) -> None:
    old_record(tmp_path / "r", "running")
    assert len(read_run(tmp_path / "r").rows) == 1
    with RunFolder.open(tmp_path / "r", PLANNED) as run:
        run.append(ROWS[1])
        run.finish()
    record(tmp_path / "whole")
    assert (tmp_path / "r/rows.jsonl").read_bytes() == (tmp_path / "whole/rows.jsonl").read_bytes()
    assert numbers(read_run(tmp_path / "r")) == numbers(read_run(tmp_path / "whole"))


def test_a_kill_between_sealing_old_rows_and_the_header(tmp_path: Path) -> None:
    old_record(tmp_path / "r", "running")
    header = (tmp_path / "r/run.json").read_bytes()
    RunFolder.open(tmp_path / "r", PLANNED).close()
    (tmp_path / "r/run.json").write_bytes(header)
    assert [row.correct for row in read_run(tmp_path / "r").rows] == [(8, 1)]


def test_every_flipped_bit_of_a_checkpoint_is_found() -> None:
    sealed = seal_checkpoint(b"weights of a learner")
    assert open_checkpoint(sealed) == b"weights of a learner"
    for changed in flips(sealed):
        with pytest.raises(ValueError, match="seal"):
            open_checkpoint(changed)


def test_a_checkpoint_of_schema_1_is_read() -> None:
    assert open_checkpoint(b"\x80\x05old") == b"\x80\x05old"


@pytest.mark.parametrize("name", ["rows.jsonl", "run.json", "checkpoint.bin"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_links_and_pipes_in_a_run_folder_are_not_followed(tmp_path: Path, name: str, kind: str) -> None:
    record(tmp_path / "r", finish=False)
    elsewhere, place = tmp_path / "elsewhere", tmp_path / "r" / name
    content = place.read_bytes() if place.exists() else seal_checkpoint(b"x")
    elsewhere.write_bytes(content)
    place.unlink(missing_ok=True)
    if kind == "link":
        place.symlink_to(elsewhere)
    else:
        os.mkfifo(place)

    def go_on() -> None:
        with RunFolder.open(tmp_path / "r", PLANNED) as run:
            run.read_checkpoint()
            run.append(Row(1, step=99, correct=(1, 1)))

    with pytest.raises(RecollectError):
        go_on()
    assert elsewhere.read_bytes() == content
