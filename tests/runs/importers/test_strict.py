"""What only Python takes for a number, what comes twice, what is a record: refused, never read as something else."""

from __future__ import annotations

import json
import pickle
import time
import zipfile

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.inputs import plain_number, plain_whole
from recollect.matrix import ScoreMatrix
from recollect.metrics import identify
from recollect.runs import load
from recollect.runs.importers import begin, l2metrics, mammoth


@pytest.mark.parametrize("word", ["1_0", "0x1p3", "１", "٣", "1e", "", "--1", "1 0", "infinit", "nan(1)"])
def test_what_is_no_number(word):
    with pytest.raises(ValueError, match="not a"):
        plain_number(word)
    with pytest.raises(ValueError, match="not a"):
        plain_whole(word)


@pytest.mark.parametrize("cell", ["1_0", "１", "0.5_1", "0x1", "infinity"])
def test_csv_cells(tmp_path, cell):
    path = tmp_path / "a.csv"
    path.write_text(f"0.9,0.1\n{cell},0.8\n")
    with pytest.raises(UsageError):
        load(path)
    path.write_text(f"after,on,score\n0,0,0.9\n1,0,{cell}\n1,1,0.8\n")
    with pytest.raises(UsageError):
        load(path)
    (tmp_path / "b.txt").write_text(f"0.1 {cell}")
    path.write_text("0.9,0.1\n0.5,0.8\n")
    with pytest.raises(UsageError):
        load(path, untrained=tmp_path / "b.txt").pop().matrix  # noqa: B018


def test_a_published_value():
    with pytest.raises(UsageError, match="must be a number"):
        identify(ScoreMatrix([[0.9, 0.1], [0.5, 0.8]]), "1_5")


def test_keys_that_come_twice(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"R": [[0.9, 0.1], [0.5, 0.8]], "R": [[0.1, 0.1], [0.1, 0.1]]}')
    with pytest.raises(UsageError, match="'R' comes twice"):
        load(path)


def test_arrays_that_come_twice(tmp_path):
    np.save(tmp_path / "R.npy", np.array([[0.9, 0.1], [0.5, 0.8]]))
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tmp_path / "R.npy", "R.npy")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.write(tmp_path / "R.npy", "R.npy")
    with pytest.raises(UsageError, match="one name"):
        load(path)


@pytest.mark.parametrize("dtype", [[("a", "f8")], [("a", "f8"), ("b", "f8")]])
def test_records_are_no_scores(tmp_path, dtype):
    records = np.ones((2, 2), dtype=dtype)
    with pytest.raises(UsageError, match="numbers"):
        ScoreMatrix(records)
    np.save(tmp_path / "a.npy", records)
    with pytest.raises(UsageError, match=r"structured|dtype"):
        load(tmp_path / "a.npy")


@pytest.mark.parametrize(("increment", "future"), [("time", None), ("class", 0.0), ("task", 0.0)])
def test_zeros_of_begin_are_scores_unless_tasks_are_periods(tmp_path, same, increment, future):
    folder = tmp_path / f"benchmark_NC_arxiv_EWC_{increment}"
    folder.mkdir()
    path = folder / "result_0.pkl"
    test = np.array([[0.9, 0.0, 0.5], [0.5, 0.8, 0.6]])
    path.write_bytes(pickle.dumps({"exp_test": test, "init_test": np.array([0.1, 0.0, 0.1])}))
    (run,) = begin.read(path)
    same(run.matrix.R, [[0.9, future], [0.5, 0.8]])
    same(run.matrix.b, [0.1, future])


def test_recurring_tasks_of_l2metrics_show_the_end(tmp_path):
    blocks = [("test", "a", 0), ("train", "a", 1), ("test", "a", 50), ("train", "b", 2), ("test", "a", 60)]
    blocks += [("train", "a", 1), ("test", "a", 90)]
    header = "block_num\texp_num\tworker_id\tblock_type\ttask_name\ttask_params\texp_status\ttimestamp\tperformance\n"
    for number, (kind, task, score) in enumerate(blocks):
        place = tmp_path / "run" / "0" / f"{number}-{kind}"
        place.mkdir(parents=True)
        lines = [f"{number}\t{number}\t0\t{kind}\t{task}\t{{}}\tcomplete\t0\t{score}\n"]
        if kind == "test":
            lines.append(f"{number}\t{number}\t0\t{kind}\tb\t{{}}\tcomplete\t0\t{score + 1}\n")
        (place / "data-log.tsv").write_text(header + "".join(lines))
    (run,) = l2metrics.read(tmp_path / "run")
    assert run.matrix.R.tolist() == [[50, 51], [60, 61], [90, 91]]
    assert run.matrix.learned_at.tolist() == [0, 1]
    from recollect.metrics import score

    assert float(score(run.matrix, "acc.average")) == 90.5


def test_json_that_is_right_is_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"R": [[0.9, 0.1], [0.5, 0.8]]}))
    assert load(path)[0].matrix.R.tolist() == [[0.9, 0.1], [0.5, 0.8]]


def test_percent_signs_on_some_scores_only_are_refused(tmp_path):
    for name, text in (
        ("a.csv", "a,b\n90%,\n0.5,80%\n"),
        ("wide.csv", "step,acc_task_0,acc_task_1\n1,90%,10%\n2,0.5,80%\n3,0.5,0.8\n"),
    ):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(UsageError, match="scores have a percent sign, the others have none"):
            load(path)


def test_small_scores_with_percent_signs_are_not_fractions(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("step,acc_task_0,acc_task_1\n1,0.9%,0.1%\n2,0.5%,0.8%\n3,0.5%,0.8%\n")
    (run,) = load(path)
    assert run.unit == "percent"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("step,acc_task_0,acc_task_1\n1,1_0,0.5\n2,0.5,0.5\n3,0.5,0.5\n", "1_0"),
        ("step,acc_task_0,acc_task_0,acc_task_1\n1,.1,.2,.3\n2,.1,.2,.3\n3,.1,.2,.3\n", "two columns"),
        ("step,acc_task_0,acc_task_0_total,acc_task_1\n1,.1,x,.3\n2,.1,5,.3\n3,.1,5,.3\n", "says"),
    ],
)
def test_wide_tables_are_read_by_the_letter(tmp_path, text, said):
    path = tmp_path / "wide.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        load(path, "wide-csv")


def test_wide_tables_with_semicolons_have_decimal_commas(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("step;acc_task_0;acc_task_1\n1;0,9;0,1\n2;0,5;,8\n3;0,5;0,75\n")
    (run,) = load(path)
    assert [row.scores[run.metric] for row in run.rows] == [(0.9, 0.1), (0.5, 0.8), (0.5, 0.75)]


def opencompass(tmp_path, *lines, **beside):
    path = tmp_path / "w" / "summary" / "summary_1.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["dataset,version,metric,mode,m1,m2", *lines]) + "\n")
    for task, score in beside.items():
        file = tmp_path / "w" / "results" / "m1" / f"{task}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'{{"accuracy": {score}}}')
    return path


@pytest.mark.parametrize(
    ("lines", "beside", "said"),
    [
        (("gsm,d,accuracy,gen,40.00,50.50",), {"gsm": 61.25}, "results/m1 beside it 61.25"),
        (("gsm,d,accuracy,gen,40.00,50.50", "gsm,d,accuracy,gen,41.00,51.50"), {}, "two lines"),
        (("gsm,d,accuracy,gen,40.00,50.50", "gsm,e,f1,gen,41.00,51.50"), {}, "two versions or modes"),
        (("gsm,d,accuracy,gen,4_0,50.50",), {}, "4_0"),
    ],
)
def test_a_summary_that_contradicts_itself_is_refused(tmp_path, lines, beside, said):
    with pytest.raises(UsageError, match=said):
        load(opencompass(tmp_path, *lines, **beside))


def test_the_same_line_of_mammoth_many_times_takes_no_time(tmp_path):
    cells = {f"accuracy_{j}_task{i}": 90.0 - i - j for i in range(1, 6) for j in range(1, i + 1)}
    line = str({"dataset": "d", "model": "er", "seed": 0, "forgetting": 77.7, "accmean_task5": 1.0, **cells})
    path = tmp_path / "logs.pyd"
    path.write_text((line + "\n") * 500)
    started = time.process_time()
    runs = mammoth.read(path)
    assert (len(runs), time.process_time() - started < 1) == (500, True)
