"""The index beside an experiment: the same numbers as without it, whatever happens to it and to the records."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import RecollectWarning, UsageError
from recollect.matrix import _COMPANIONS
from recollect.report.gather import gather
from recollect.report.watch import looking
from recollect.report.watch.looking import Watcher
from recollect.runs import Plan, Row, Run, Task, attach_joint, group, load
from recollect.runs import index as index_module
from recollect.runs import indexed as indexed_module
from recollect.runs.identity import Identity
from recollect.runs.index import FILE
from recollect.runs.indexed import IndexedRun
from recollect.runs.packed import _decoded, _encoded
from recollect.runs.run import Online, Start
from recollect.runs.seeds import derive
from recollect.runs.store import sealed_header, sealed_rows

OLDER = Path(__file__).parent / "older_records"


@pytest.fixture(autouse=True)
def _small_folders_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "LEAST", 1)
    monkeypatch.setattr(index_module, "_SETTLED", -(10**12))  # files that a test has just written are settled
    monkeypatch.delenv("RECOLLECT_INDEX", raising=False)


def write(run: Run, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines, seal = sealed_rows(run.rows)
    (folder / "rows.jsonl").write_bytes(lines)
    (folder / "run.json").write_bytes(sealed_header(run, seal))
    return folder


def made(seed: int, learner: str = "er", T: int = 3, **changes: Any) -> Run:
    draw = random.Random(f"{seed} {learner}")
    order = list(range(2 * T))
    random.Random(seed).shuffle(order)  # of the stream, which the learners of a seed share
    tasks = tuple(Task(f"t{j}", 2, 10, tuple(order[2 * j : 2 * j + 2]), (5, 5)) for j in range(T))

    def row(after: int) -> Row:
        masked = tuple(draw.randint(5, 10) for _ in range(T))
        right = tuple(draw.randint(0, count) for count in masked)
        side = tuple(draw.randint(0, 10 - count) for count in right)
        triangle = tuple(
            tuple(right[j] if m >= after else masked[j] for m in range(T)) if j <= after else (None,) * T
            for j in range(T)
        )
        return Row(
            after,
            step=(after + 1) * 100,
            correct=right,
            n=(10,) * T,
            masked=masked,
            restricted=triangle if after >= 0 else None,
            errors={"older": side, "own": (0,) * T, "newer": (0,) * T},
            state=f"{seed:x}{after}",
        )

    given: dict[str, Any] = {
        "learner": learner,
        "learner_config": {"memory": 20},
        "identity": Identity("m:C", {"memory": 20}, {}, "aa", {"batch": 10}, "accuracy", f"order {seed}", "w"),
        "stream": "toy",
        "scenario": "class-incremental",
        "data_hash": "f00d",
        "tasks": tasks,
        "rows": tuple(row(after) for after in range(-1, T)),
        "seed": seed,
        "seeds": derive(seed),
        "status": "finished",
        "created": f"2024-01-01T00:00:{seed:02d}+00:00",
        "timings": {"train": 0.1 + seed},
        "cost": {"stored_samples": 20.0},
        "row_costs": tuple({"train_seconds": 0.5, "memory_bytes": 1e6} for _ in range(T + 1)),
        "starts": (Start("2024-01-01T00:00:00+00:00", 0, {"python": "3"}),),
        "versions": {"python": "3"},
    }
    return Run(**{**given, **changes})


def scored(seed: int, learner: str, **changes: Any) -> Run:
    """A run with scores and no counts, of which some are absent."""
    draw = random.Random(seed)
    rows = tuple(
        Row(
            after, scores={"accuracy": tuple(draw.random() if j <= after else None for j in range(3)), "f1": (0.5,) * 3}
        )
        for after in range(3)
    )
    return made(seed, learner, rows=rows, row_costs=(), plan=Plan(columns="seen"), **changes)


def experiment(folder: Path) -> Path:
    """Runs of every kind that there is."""
    runs = [made(seed, name) for name in ("er", "ncm") for seed in range(3)]
    runs += [made(seed, "all", role="joint") for seed in range(3)]
    runs += [scored(seed, "scored") for seed in range(3)]
    probes = [
        Row(row.after, row.step, scores={"probe": (0.5,) * (row.after + 1)} if row.after >= 0 else {})
        for row in made(0).rows
    ]
    for seed in range(2):
        one = made(seed, "probed")
        runs.append(
            replace(one, rows=tuple(replace(row, scores=p.scores) for row, p in zip(one.rows, probes, strict=True)))
        )
        one = made(seed, "reasons")
        why = {"accuracy": {"t1": "one class only"}}
        runs.append(replace(one, rows=(*one.rows[:-1], replace(one.rows[-1], reasons=why))))
        runs.append(replace(made(seed, "online"), rows=tuple(replace(r, online=Online(5)) for r in made(seed).rows)))
        runs.append(replace(made(seed, "items"), rows=tuple(replace(r, items="ab" * 8) for r in made(seed).rows)))
        runs.append(made(seed, "planned", plan=Plan(rows=(0, 2)), rows=(made(seed).rows[1], made(seed).rows[3])))
        runs.append(made(seed, "failed", status="failed", error="out of memory", rows=made(seed).rows[:2]))
        runs.append(made(seed, "running", status="running", rows=made(seed).rows[:3]))
        runs.append(made(seed, "noted", notes=(f"seed {seed}",), rows=made(seed).rows[1:]))
    runs.append(
        made(7, "percent", unit="percent", rows=tuple(Row(a, scores={"accuracy": (50.0,) * 3}) for a in range(3)))
    )
    runs.append(
        made(8, "huge", rows=tuple(Row(a, scores={"accuracy": (2**52 + 1, 70000, -0.0)}) for a in range(3)), unit="raw")
    )
    for run in runs:
        write(run, folder / f"{run.learner}-{run.seed}")
    for name in ("classes-whole", "classes-begun"):
        shutil.copytree(OLDER / name, folder / name)
    return folder


NAMES = [one.name for one in fields(Run) if one.name not in ("joint_run",)]


def same_runs(one: list[Run], other: list[Run]) -> None:
    assert [run.path for run in one] == [run.path for run in other]
    for a, b in zip(one, other, strict=True):
        for name in NAMES:
            assert getattr(a, name) == getattr(b, name), (a.path, name)
        assert (a.fingerprint, a.family, a.ended) == (b.fingerprint, b.family, b.ended)
        if a.identity is not None and b.identity is not None:
            assert a.identity.shared == b.identity.shared
        same_matrix(a.matrix, b.matrix)


def same_matrix(one: Any, other: Any) -> None:
    for name in ("R", *_COMPANIONS, "correct", "n_classes", "n_samples", "class_counts", "steps", "learned_at"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None and b is None) or np.array_equal(a, b, equal_nan=name != "class_counts"), name
    assert one.names == other.names
    assert one.notes == other.notes


def indexed(folder: Path) -> list[Run]:
    """What an index gives that is up to date: nothing is read but unfinished runs and unusual ones."""
    load(folder)
    return load(folder)


def test_every_kind_of_run_is_the_same_with_and_without(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "runs")
    plain = load(folder, index=False)
    first, again = load(folder), load(folder)
    kinds = {run.learner: type(run) for run in again}
    assert {name for name, kind in kinds.items() if kind is IndexedRun} == {
        "er",
        "ncm",
        "all",
        "scored",
        "probed",
        "items",
        "noted",
    }
    same_runs(first, plain)
    same_runs(again, plain)


def test_numbers_of_every_size_come_back() -> None:
    values = np.array([[0.0, 1.0, np.nan], [65534.0, 0.0, 2.0]])
    for cells in (values, values + 1, values * 2**16, values / 3, -values, values * 2.0**40, np.full((1, 1), -0.0)):
        kind, data = _encoded(cells)
        back = _decoded(data, kind).reshape(cells.shape)
        assert np.array_equal(back, cells, equal_nan=True)
        assert np.array_equal(np.signbit(back), np.signbit(cells))
    assert [_encoded(values + k)[0] for k in (0, 1, 2**32)] == ["<u2", "<u4", "<f8"]


def test_groups_and_reports_are_the_same(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "runs")
    shutil.rmtree(folder / "classes-begun")  # a twin of the whole one
    load(folder)
    both = [group(attach_joint(load(folder, index=index))) for index in (True, False)]
    for one, other in zip(*both, strict=True):
        assert one.seeds == other.seeds
        assert one.told_by == other.told_by
        same_matrix(one.matrix, other.matrix)
    classes = [[one for one in groups if one.learner in ("er", "ncm", "all", "noted")] for groups in both]
    assert repr(gather(classes[0])) == repr(gather(classes[1]))


def test_groups_from_an_index_read_few_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("er", "all"):
        for seed in range(3):
            write(made(seed, name, role="joint" if name == "all" else "contestant"), tmp_path / f"{name}{seed}")
    runs = indexed(tmp_path)
    read: list[Any] = []
    real = indexed_module.read_rows
    monkeypatch.setattr(indexed_module, "read_rows", lambda *one, **how: (read.append(one), real(*one, **how))[1])
    groups = group(attach_joint(runs))
    assert [one.matrix.joint is not None for one in groups] == [False, True]
    assert not read
    gather(groups)
    assert len(read) <= len(groups)


def edit(path: Path, old: bytes, new: bytes, *, keep_times: bool = True) -> None:
    before = path.stat()
    data = path.read_bytes()
    assert old in data
    assert len(old) == len(new)
    path.write_bytes(data.replace(old, new, 1))
    if keep_times:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("name", ["rows.jsonl", "run.json"])
def test_an_edit_of_the_same_size_and_time_is_seen(tmp_path: Path, name: str) -> None:
    place = write(made(0), tmp_path / "runs" / "a")
    write(made(1), tmp_path / "runs" / "b")
    indexed(tmp_path / "runs")
    edit(place / name, *((b'"n":[10', b'"n":[11') if name == "rows.jsonl" else (b'"er"', b'"re"')))
    with pytest.raises(UsageError, match="seal"):
        load(tmp_path / "runs")


def test_a_record_that_is_replaced_copied_or_taken_away(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for seed in range(3):
        write(made(seed), folder / f"r{seed}")
    indexed(folder)
    (folder / "r0").rename(tmp_path / "aside")
    (folder / "r1").rename(folder / "r0")  # another run under a known name
    (tmp_path / "aside").rename(folder / "r1")
    assert [run.seed for run in load(folder)] == [1, 0, 2]
    shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copy2)
    write(made(5), tmp_path / "copy" / "r0")
    assert [run.seed for run in load(tmp_path / "copy")] == [5, 0, 2]
    shutil.rmtree(folder / "r1")
    assert [run.seed for run in load(folder)] == [1, 2]
    folder.rename(tmp_path / "renamed")
    found = load(tmp_path / "renamed")
    assert [run.path for run in found] == [tmp_path / "renamed/r0", tmp_path / "renamed/r2"]
    same_runs(found, load(tmp_path / "renamed", index=False))


def test_rows_that_change_after_the_index_was_read_are_refused(tmp_path: Path) -> None:
    place = write(made(0), tmp_path / "runs" / "a")
    (run,) = indexed(tmp_path / "runs")
    write(made(0, rows=made(1).rows), place)
    with pytest.raises(UsageError, match="changed while it was being read"):
        _ = run.rows


def test_adding_one_run_reads_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(5):
        write(made(seed), tmp_path / f"r{seed}")
    load(tmp_path)
    write(made(5), tmp_path / "r5")
    read = []
    real = index_module.read_with_header
    monkeypatch.setattr(index_module, "read_with_header", lambda place: (read.append(place), real(place))[1])
    assert len(load(tmp_path)) == 6
    assert [Path(place).name for place in read] == ["r5"]
    assert len(load(tmp_path)) == 6
    assert len(read) == 1


def test_every_damaged_byte_is_found_or_harmless(tmp_path: Path) -> None:
    """Whatever is changed in the index, the numbers are those of the records."""
    for seed in range(3):
        write(made(seed), tmp_path / f"r{seed}")
    plain = load(tmp_path, index=False)
    load(tmp_path)
    index = tmp_path / FILE
    whole = index.read_bytes()
    draw = random.Random(0)
    said = 0
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 1, 8))):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        index.write_bytes(data)
        said += same_whatever_is_said(tmp_path, plain)
    for end in (0, 1, 99, 4096, len(whole) // 2, len(whole) - 1):
        index.write_bytes(whole[:end])
        said += same_whatever_is_said(tmp_path, plain)
    index.write_bytes(b"no database, but long enough to be taken for one" * 100)
    assert same_whatever_is_said(tmp_path, plain)
    assert said > 20
    assert isinstance(load(tmp_path)[0], IndexedRun)


def same_whatever_is_said(folder: Path, plain: list[Run]) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        said: list[Any] = []
        patch.setattr(index_module.warnings, "warn", lambda *given, **_: said.append(given))
        found = load(folder)
    for one, other in zip(found, plain, strict=True):
        assert (one.seed, one.learner, one.rows) == (other.seed, other.learner, other.rows)
        assert (one.timings, one.identity) == (other.timings, other.identity)
        same_matrix(group([one])[0].matrix, group([other])[0].matrix)
    return bool(said)


def test_damage_is_said_and_mended(tmp_path: Path) -> None:
    write(made(0), tmp_path / "a")
    load(tmp_path)
    (tmp_path / FILE).write_bytes(b"x" * 5000)
    with pytest.warns(RecollectWarning, match="is damaged .* and is made again"):
        load(tmp_path)
    assert isinstance(load(tmp_path)[0], IndexedRun)


@pytest.mark.parametrize(
    "change", ["PRAGMA user_version = 0", "UPDATE told SET value = '0.0' WHERE name = 'recollect'"]
)
def test_an_index_of_an_earlier_version_is_made_again(tmp_path: Path, change: str) -> None:
    write(made(0), tmp_path / "a")
    load(tmp_path)
    sql(tmp_path, change, "UPDATE runs SET own = x'00'")
    assert load(tmp_path)[0].seed == 0
    assert isinstance(load(tmp_path)[0], IndexedRun)


def test_an_index_of_a_later_version_stays_as_it_is(tmp_path: Path) -> None:
    write(made(0), tmp_path / "a")
    load(tmp_path)
    sql(tmp_path, "PRAGMA user_version = 99")
    before = (tmp_path / FILE).read_bytes()
    assert load(tmp_path)[0].seed == 0
    assert (tmp_path / FILE).read_bytes() == before


def test_after_the_clock_went_back_nothing_is_taken_from_it(tmp_path: Path) -> None:
    write(made(0), tmp_path / "a")
    load(tmp_path)
    sql(tmp_path, "UPDATE told SET value = value + 3600 WHERE name = 'written'")
    read: list[str] = []
    real = index_module.read_with_header
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "read_with_header", lambda place: (read.append(place), real(place))[1])
        load(tmp_path)
        load(tmp_path)
    assert len(read) == 1


def sql(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / FILE)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_watching_tells_the_same_of_runs_that_an_index_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = experiment(tmp_path / "runs")
    plain = Watcher([folder])
    plain.look(whole=True)
    load(folder)
    (folder / "er-1" / "rows.jsonl").touch()  # no longer what is entered
    read: list[str] = []
    real = looking.read_run
    monkeypatch.setattr(looking, "read_run", lambda place: (read.append(Path(place).name), real(place))[1])
    quick = Watcher([folder])
    quick.look(whole=True)
    told = [{one.path: replace(one, id=0, version=0, changed=0) for one in watcher.runs} for watcher in (plain, quick)]
    assert told[0] == told[1]
    assert "er-1" in read
    assert not {"er-0", "er-2", "ncm-0", "scored-1"} & set(read)


def test_files_of_this_moment_are_not_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_SETTLED", 2 * 10**9)
    write(made(0), tmp_path / "a")
    for _ in range(2):
        load(tmp_path)
    assert not (tmp_path / FILE).exists()


def test_where_a_program_sets_the_time_of_change_there_is_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(made(0), tmp_path / "a")
    real = os.lstat

    def as_sshfs(path: Any) -> Any:
        status = real(path)
        if not str(path).endswith(".tmp"):
            return status
        return type("Status", (), {"st_mtime_ns": status.st_mtime_ns, "st_ctime_ns": status.st_mtime_ns})

    monkeypatch.setattr(index_module.os, "lstat", as_sshfs)
    load(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    write(made(0), tmp_path / "a")
    load(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    yield tmp_path
    connection.close()


def test_a_lock_of_another_process_stops_nobody(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_WAIT", 0.05)
    assert [type(run) for run in load(locked)] == [IndexedRun]  # read anew, as it cannot be looked up
    write(made(1), locked / "b")
    assert [run.seed for run in load(locked)] == [0, 1]


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    write(made(0), tmp_path / "runs" / "a")
    target = tmp_path / "elsewhere"
    target.write_bytes(b"mine")
    (tmp_path / "runs" / FILE).symlink_to(target)
    assert load(tmp_path / "runs")[0].seed == 0
    assert target.read_bytes() == b"mine"


def test_it_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(made(0), tmp_path / "a")
    load(tmp_path, index=False)
    monkeypatch.setenv("RECOLLECT_INDEX", "0")
    load(tmp_path)
    assert not (tmp_path / FILE).exists()


def test_small_folders_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "LEAST", 3)
    for seed in range(2):
        write(made(seed), tmp_path / f"r{seed}")
    load(tmp_path)
    assert not (tmp_path / FILE).exists()


def test_a_run_that_cannot_be_read_is_said_and_the_others_are_entered(tmp_path: Path) -> None:
    for seed in range(3):
        write(made(seed), tmp_path / f"r{seed}")
    edit(tmp_path / "r2" / "rows.jsonl", b'"n":[10', b'"n":[11')
    for _ in range(2):
        with pytest.raises(UsageError, match="r2"):
            load(tmp_path)
    write(made(2), tmp_path / "r2")
    assert [type(run) for run in load(tmp_path)] == [IndexedRun] * 3


def test_what_was_read_before_a_kill_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_AT_ONCE", 2)
    for seed in range(5):
        write(made(seed), tmp_path / f"r{seed}")
    read: list[str] = []

    def killed(place: str) -> Any:
        read.append(Path(place).name)
        if len(read) == 4:
            os._exit(9)
        return real(place)

    real = index_module.read_with_header
    monkeypatch.setattr(index_module, "read_with_header", killed)
    if (child := os.fork()) == 0:
        load(tmp_path)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.setattr(index_module, "read_with_header", lambda place: (read.append(Path(place).name), real(place))[1])
    assert [run.seed for run in load(tmp_path)] == list(range(5))
    assert read == ["r2", "r3", "r4"]


def test_readers_and_writers_at_once(tmp_path: Path) -> None:
    for seed in range(20):
        write(made(seed), tmp_path / f"r{seed:02d}")
    wrong: list[Any] = []

    def look() -> None:
        for _ in range(6):
            seeds = [run.seed for run in load(tmp_path)]
            if seeds[:20] != list(range(20)):
                wrong.append(seeds)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for seed in range(20, 30):
        write(made(seed), tmp_path / f".new{seed}")
        (tmp_path / f".new{seed}").rename(tmp_path / f"r{seed}")
    for thread in threads:
        thread.join()
    assert not wrong
    same_runs(load(tmp_path), load(tmp_path, index=False))
