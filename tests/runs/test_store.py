"""The run folder: created, resumed, finished, broken, fought over."""

import errno
import json
import os
import subprocess
import sys

import pytest

from recollect.errors import RecollectError, UsageError
from recollect.runs import Plan, Row, Run, RunFolder, Task
from recollect.runs.reading import read_run
from recollect.runs.store import check_row

PLANNED = Run(
    learner="er",
    stream="toy",
    seed=0,
    tasks=(Task("a", n_samples=10), Task("b", n_samples=10), Task("c", n_samples=10)),
    rows=(),
    learner_config={"memory": (1, 2)},
)
ROWS = (
    Row(-1, correct=(1, 1, 1)),
    Row(0, correct=(9, 1, 1)),
    Row(1, correct=(7, 8, 1)),
    Row(2, correct=(5, 6, 9)),
)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "er-0"


def record(folder, rows=ROWS):
    with RunFolder.open(folder, PLANNED) as run:
        for row in rows:
            run.append(row)


def test_a_run_comes_back(folder):
    with RunFolder.open(folder, PLANNED) as run:
        for row in ROWS:
            run.append(row)
        run.finish(timings={"train": 2.0}, cost={"bytes": 10})
    back = read_run(folder)
    assert back.rows == ROWS
    assert (back.status, back.timings, back.cost) == ("finished", {"train": 2.0}, {"bytes": 10})
    assert back.created is not None
    assert back.finished is not None
    assert sorted(os.listdir(folder)) == ["rows.jsonl", "run.json"]


def test_the_same_command_resumes_and_finished_is_a_no_op(folder):
    record(folder, ROWS[:2])
    with RunFolder.open(folder, PLANNED) as run:
        assert run.rows == ROWS[:2]
        for row in ROWS[2:]:
            run.append(row)
        run.finish()
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    with RunFolder.open(folder, PLANNED) as run:
        assert run.finished
        with pytest.raises(UsageError, match="is finished"):
            run.append(Row(3))
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before


def test_a_failed_run_says_why_and_can_be_resumed(folder):
    with RunFolder.open(folder, PLANNED) as run:
        run.append(ROWS[0])
        run.fail("the trace")
    assert (read_run(folder).status, read_run(folder).error) == ("failed", "the trace")
    with RunFolder.open(folder, PLANNED) as run:
        assert run.rows == ROWS[:1]
    assert (read_run(folder).status, read_run(folder).error) == ("running", None)


@pytest.mark.parametrize("cut", range(1, len('{"after":2,"correct":[5,6,9]}\n') + 1))
def test_a_line_torn_at_any_byte_is_dropped_and_redone(folder, cut):
    record(folder)
    path = folder / "rows.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    # The line end alone is no part of the row.
    kept = ROWS if cut == 1 else ROWS[:3]
    assert read_run(folder).rows == kept
    with RunFolder.open(folder, PLANNED) as run:
        assert run.rows == kept
        if cut > 1:
            run.append(ROWS[3])
    assert path.read_bytes() == whole


def test_a_tail_of_zeros_as_a_power_cut_leaves_it_is_dropped(folder):
    record(folder)
    path = folder / "rows.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0" * 50)
    record(folder, ())
    assert path.read_bytes() == whole


@pytest.mark.parametrize("damage", [b"", b"{", b'{"after": "x"}', b"x", b"[1]", b"\xff\xfe", b"[" * 100_000])
@pytest.mark.parametrize("line", [0, 2])
def test_damage_before_the_last_line_is_an_error_that_names_the_line(folder, damage, line):
    record(folder)
    path = folder / "rows.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[line] = damage
    path.write_bytes(b"\n".join(lines))
    found_at = line + (2 if damage == b"" else 1)  # an empty line is no damage, but the seal after it does not fit
    for read in (read_run, lambda place: RunFolder.open(place, PLANNED)):
        with pytest.raises(UsageError, match=f"damaged at line {found_at}"):
            read(folder)
    assert path.read_bytes() == b"\n".join(lines)


def test_equal_damaged_lines_are_not_taken_for_a_torn_one(folder):
    record(folder)
    (folder / "rows.jsonl").write_bytes(b"x\nx")
    with pytest.raises(UsageError, match="damaged at line 1"):
        read_run(folder)


def test_a_finished_run_has_no_torn_line(folder):
    with RunFolder.open(folder, PLANNED) as run:
        run.append(ROWS[0])
        run.finish()
    path = folder / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(UsageError, match="damaged at line 1"):
        read_run(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": 1}', '{"schema": 99}', "NaN", "[" * 100_000])
def test_a_broken_header_is_a_usage_error_that_names_the_file(folder, text):
    record(folder)
    (folder / "run.json").write_text(text)
    with pytest.raises(UsageError, match=r"run\.json"):
        read_run(folder)
    assert len((folder / "rows.jsonl").read_bytes().splitlines()) == 4


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"learner": "gdumb"}, "learner"),
        ({"learner_config": {"memory": 3}}, "the option memory was"),
        ({"seed": 1}, "seed"),
        ({"stream": "other"}, "stream"),
        ({"tasks": (Task("a"),)}, "tasks and has 1 now"),
        ({"metric": "F1"}, "metric"),
        ({"plan": Plan(columns="seen")}, "plan"),
    ],
)
@pytest.mark.parametrize("finished", [False, True])
def test_another_run_in_the_folder_is_not_touched(folder, change, what, finished):
    with RunFolder.open(folder, PLANNED) as run:
        run.append(ROWS[0])
        if finished:
            run.finish()
    before = (folder / "run.json").read_bytes()
    other = Run(**{**{k: getattr(PLANNED, k) for k in PLANNED.__dataclass_fields__}, **change})
    with pytest.raises(UsageError, match="holds another run") as caught:
        RunFolder.open(folder, other)
    assert what in str(caught.value)
    assert (folder / "run.json").read_bytes() == before
    assert not (folder / ".lock").exists()


def test_rows_without_a_header_are_not_overwritten(folder):
    record(folder)
    (folder / "run.json").unlink()
    with pytest.raises(UsageError, match=r"has a rows\.jsonl but no run\.json"):
        RunFolder.open(folder, PLANNED)
    assert len((folder / "rows.jsonl").read_bytes().splitlines()) == 4


def full_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_in_an_append_loses_nothing(folder, monkeypatch, call):
    with RunFolder.open(folder, PLANNED) as run:
        run.append(ROWS[0])
        before = (folder / "rows.jsonl").read_bytes()
        monkeypatch.setattr(os, call, full_disk)
        with pytest.raises(RecollectError, match="No space left"):
            run.append(ROWS[1])
        monkeypatch.undo()
        assert (folder / "rows.jsonl").read_bytes() == before
        assert run.rows == ROWS[:1]
        run.append(ROWS[1])
    assert read_run(folder).rows == ROWS[:2]


def test_a_full_disk_at_the_start_leaves_no_folder(folder, monkeypatch):
    folder.parent.mkdir()
    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(RecollectError, match="No space left"):
        RunFolder.open(folder, PLANNED)
    monkeypatch.undo()
    assert os.listdir(folder.parent) == []


def test_a_real_limit_on_file_size(folder):
    """The kernel refuses the write in the middle of a line; a process of its own, for limits stay."""
    code = f"""
import resource, signal
from recollect.errors import RecollectError
from recollect.runs import Row, Run, RunFolder, Task
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
tasks = tuple(Task(str(j), n_samples=10) for j in range(500))
run = RunFolder.open({str(folder)!r}, Run(learner="er", stream="toy", tasks=tasks, rows=()))
run.append(Row(0, correct=(1,)))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    run.append(Row(1, correct=(1,) * 500))
except RecollectError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    lines = (folder / "rows.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 1
    assert lines[0].startswith(b'{"after":0,"correct":[1],"seal":')
    assert lines[0].endswith(b"\n")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_folder_without_permission(folder):
    folder.parent.mkdir()
    folder.parent.chmod(0o500)
    with pytest.raises(RecollectError, match="Permission denied"):
        RunFolder.open(folder, PLANNED)


def test_one_process_writes_a_run(folder):
    with RunFolder.open(folder, PLANNED):
        with pytest.raises(RecollectError, match=rf"Another process \(id {os.getpid()} on "):
            RunFolder.open(folder, PLANNED)
        read_run(folder)  # reading is always possible
    RunFolder.open(folder, PLANNED).close()


def test_checkpoints_are_replaced_whole_and_removed_at_the_end(folder, monkeypatch):
    with RunFolder.open(folder, PLANNED) as run:
        assert run.read_checkpoint("pt") is None
        run.write_checkpoint(b"one", "pt")
        monkeypatch.setattr(os, "fsync", full_disk)
        with pytest.raises(RecollectError, match="No space left"):
            run.write_checkpoint(b"two", "pt")
        monkeypatch.undo()
        assert run.read_checkpoint("pt") == b"one"
        with pytest.raises(UsageError, match="suffix"):
            run.write_checkpoint(b"", "../x")
        for row in ROWS:
            run.append(row)
        run.finish()
    assert sorted(os.listdir(folder)) == ["rows.jsonl", "run.json"]


def test_rows_that_the_checkpoint_does_not_know_are_dropped(folder):
    record(folder)
    whole = (folder / "rows.jsonl").read_bytes()
    with RunFolder.open(folder, PLANNED) as run:
        run.keep_rows(4)
        run.keep_rows(2)
        assert run.rows == ROWS[:2]
        run.append(ROWS[2])
        run.append(ROWS[3])
        with pytest.raises(UsageError, match="keep_rows takes 0 to 4"):
            run.keep_rows(5)
    assert (folder / "rows.jsonl").read_bytes() == whole


def test_the_header_can_be_updated(folder):
    with RunFolder.open(folder, PLANNED) as run:
        run.update(cost={"bytes": 5}, notes=("x",))
        with pytest.raises(UsageError, match="cannot be written as JSON"):
            run.update(cost={"bytes": float("nan")})
    back = read_run(folder)
    assert (back.cost, back.notes) == ({"bytes": 5}, ("x",))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Row(0, correct=(1,)), "order of time"),
        (Row(-1), "order of time"),
        (Row(0, step=3, task_end=False), "order of time"),
        (Row(3), "tasks 0 to 2"),
        (Row(2, scores={"accuracy": (0.1,) * 4}), "at most one value of accuracy per task"),
        (Row(2, correct=(11,)), "between 0 and n; n is 10"),
        (Row(2, correct=(5,), n=(4,)), "n is 4"),
        (Row(2, masked=(-1,)), "masked = -1"),
    ],
)
def test_a_row_that_does_not_fit_never_reaches_the_disk(row, words):
    with pytest.raises(UsageError, match=r"Row|row|Task") as caught:
        check_row(PLANNED, row, Row(1, correct=(1,)))
    assert words in str(caught.value)


def test_unicode_and_nan(folder):
    run = Run(learner="Ünï ✓ \u2028", stream="数字", tasks=(Task("α"),), rows=(), seed=10**40)
    with RunFolder.open(folder, run) as opened:
        opened.append(Row(0, scores={"accuracy": (float("nan"),)}))
        opened.finish()
    back = read_run(folder)
    assert (back.learner, back.stream, back.seed, back.tasks[0].name) == (run.learner, "数字", 10**40, "α")
    assert back.rows[0].scores["accuracy"] == (None,)
    assert "NaN" not in (folder / "rows.jsonl").read_text()
    assert json.loads((folder / "run.json").read_text())["schema"] == 2
