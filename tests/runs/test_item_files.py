"""Items in a run's folder: what is written is read, damage is found, a killed run goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.problems.base import Moment
from recollect.protocol import run_protocol
from recollect.protocol.loop import exam_of, refuse_items
from recollect.report.item_flows import flows_of, items_of
from recollect.runs import Plan, Row, Run, RunFolder, Task
from recollect.runs.item_files import FOLDER, read_items
from recollect.runs.reading import read_run
from recollect.runs.seeds import derive
from recollect.streams import Stream, make_stream, stream_from_arrays

PLAN = Plan(items=True)


@pytest.fixture
def stream() -> Stream:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 13)
    x = (rng.normal(size=(52, 3)) + y[:, None]).astype(np.float32)
    return stream_from_arrays(x, y, x, y, name="toy", tasks=2)


def run_of(stream: Stream, folder: Path, plan: Plan = PLAN) -> Run:
    learner = make_learner("random", {}, Setting.of(stream), derive(0))
    return run_protocol(learner, stream, folder, name="random", plan=plan)


def test_items_are_the_counts_one_by_one_in_the_order_of_the_data_set(stream: Stream, tmp_path: Path) -> None:
    run = run_of(stream, tmp_path / "run")
    assert len(list((tmp_path / "run" / FOLDER).iterdir())) == len(run.rows) == 3
    for row in run.rows:
        right = read_items(tmp_path / "run", row)
        assert [int(of.sum()) for of in right if of is not None] == list(row.correct or ())


def test_the_order_is_that_of_the_data_set(stream: Stream) -> None:
    class Knows:
        """Right on every third sample of the data set."""

        def score(self, x: np.ndarray, task: object = None) -> np.ndarray:
            made = np.zeros((len(x), 4))
            for place, sample in enumerate(x):
                k = int(np.flatnonzero((stream.data.test.take(np.arange(52)) == sample).all(1))[0])
                label = stream._y_test[k]
                made[place, label if k % 3 == 0 else (label + 1) % 4] = 1
            return made

    row = exam_of(stream).examiner.row(Knows(), Moment(1, 1, 0, True), PLAN, 5)
    assert row.marks is not None
    for task in range(2):
        places = np.sort(stream.tasks[task].test)
        assert np.array_equal(row.marks[task], places % 3 == 0)  # type: ignore[arg-type]


def test_without_items_nothing_is_written_and_the_record_is_as_before(stream: Stream, tmp_path: Path) -> None:
    run = run_of(stream, tmp_path / "run", Plan())
    assert not (tmp_path / "run" / FOLDER).exists()
    assert '"items"' not in (tmp_path / "run" / "run.json").read_text()
    assert all(row.items is None for row in run.rows)


def test_a_changed_bit_and_a_missing_file_are_found(stream: Stream, tmp_path: Path) -> None:
    run = run_of(stream, tmp_path / "run")
    file = sorted((tmp_path / "run" / FOLDER).iterdir())[-1]
    data = bytearray(file.read_bytes())
    data[-1] ^= 128
    file.write_bytes(data)
    with pytest.raises(UsageError, match="damaged"):
        items_of(run, run.rows)
    file.unlink()
    with pytest.raises(UsageError, match="restore the file"):
        flows_of([run])


def test_a_row_without_its_line_is_written_again(tmp_path: Path) -> None:
    planned = Run(learner="er", stream="toy", seed=0, tasks=(Task("a", n_samples=9),), rows=(), plan=PLAN)
    marks = (np.arange(9) % 2 == 0,)
    with RunFolder.open(tmp_path / "run", planned) as folder:
        folder.append(Row(-1, step=0, correct=(5,), marks=marks))
        folder.append(Row(0, step=3, correct=(5,), marks=marks))
        folder.keep_rows(1)
        folder.append(Row(0, step=3, correct=(4,), marks=(~marks[0],)))
    run = read_run(tmp_path / "run")
    (table,) = items_of(run, run.rows)
    assert table.right.tolist() == [marks[0].astype(int).tolist(), (~marks[0]).astype(int).tolist()]
    assert table.flow(0, 1).counts == {"always": 0, "forgotten": 5, "learned": 4, "never": 0}


def test_what_is_not_right_or_wrong_has_no_items() -> None:
    stream = make_stream("diabetes", tasks=2)
    with pytest.raises(UsageError, match="not marked right or wrong"):
        refuse_items(PLAN, exam_of(stream))
    refuse_items(Plan(), exam_of(stream))
