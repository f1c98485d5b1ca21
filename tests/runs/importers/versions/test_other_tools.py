"""Readers of other tools that evaluate versions of a model, on files written to the letter of their formats."""

from __future__ import annotations

import io
import json
import math
import pickle
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs import Run, load
from recollect.runs.arrange import Choices
from recollect.runs.importers.versions.every_eval_ever import to_every_eval_ever


def table(run: Run) -> dict[str | None, tuple[float | None, ...]]:
    return {row.name: row.scores[run.metric] for row in run.rows}


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def inspect_log(model: str, task: str, value: float, **changes: Any) -> dict[str, Any]:
    log: dict[str, Any] = {
        "version": 2,
        "status": "success",
        "eval": {
            "task": task,
            "task_version": 0,
            "created": "2026-01-01T10:00:00+00:00",
            "model": model,
            "model_args": {},
            "dataset": {"name": task, "samples": 100},
            "config": {"limit": 10},
        },
        "results": {
            "total_samples": 10,
            "completed_samples": 10,
            "scores": [
                {
                    "name": "match",
                    "scorer": "match",
                    "scored_samples": 10,
                    "metrics": {"accuracy": {"value": value}, "stderr": {"value": 0.1}},
                }
            ],
        },
    }
    for key, change in changes.items():
        log[key] = {**log[key], **change} if isinstance(change, dict) and key in log else change
    return log


def pack(path: Path, members: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, json.dumps(data))
    return path


class TestInspect:
    def test_rows_are_models_and_columns_tasks(self, tmp_path: Path) -> None:
        for place, (model, task, value) in enumerate(
            [("hf/m", "gsm", 0.3), ("hf/m", "arc", 0.5), ("hf/n", "gsm", 0.4), ("hf/n", "arc", 0.6)]
        ):
            created = {
                "eval": {**inspect_log(model, task, value)["eval"], "created": f"2026-01-0{place + 1}T10:00:00Z"}
            }
            log = inspect_log(model, task, value, **created)
            if place % 2:
                write(tmp_path / f"{place}.json", log)
            else:
                pack(tmp_path / f"{place}.eval", {"header.json": log, "summaries.json": []})
        (run,) = load(tmp_path)
        assert [t.name for t in run.tasks] == ["arc", "gsm"]
        assert table(run) == {"m": (0.5, 0.3), "n": (0.6, 0.4)}
        assert [t.n_samples for t in run.tasks] == [10, 10]

    def test_rows_may_differ_by_the_revision_alone(self, tmp_path: Path) -> None:
        for step in (9, 50):
            about = inspect_log("hf/m", "gsm", 0.3)["eval"] | {"model_args": {"revision": f"step{step}"}}
            write(tmp_path / f"{step}.json", inspect_log("hf/m", "gsm", step / 100, eval=about))
        (run,) = load(tmp_path)
        assert table(run) == {"step9": (0.09,), "step50": (0.5,)}

    def test_a_failed_log_is_left_out_and_said(self, tmp_path: Path) -> None:
        write(tmp_path / "a.json", inspect_log("m", "gsm", 0.3))
        failed = inspect_log("n", "gsm", 0.3, status="error")
        del failed["results"]
        write(tmp_path / "b.json", failed)
        (run,) = load(tmp_path)
        assert list(table(run)) == ["m"]
        assert "1 logs without results left out: b.json (error)" in " ".join(run.notes)
        with pytest.raises(UsageError, match="no log has results"):
            load(tmp_path / "b.json")

    def test_the_headline_is_the_score_that_is_shown(self, tmp_path: Path) -> None:
        first = {"name": "other", "metrics": {"accuracy": {"value": 0.9}}, "scored_samples": 10}
        scores = [first, *inspect_log("m", "gsm", 0.3)["results"]["scores"]]
        write(tmp_path / "a.json", inspect_log("m", "gsm", 0.3, results={"scores": scores, "headline": "match"}))
        (run,) = load(tmp_path)
        assert table(run) == {"m": (0.3,)}

    def test_zstd_needs_a_package_and_says_which(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = pack(tmp_path / "a.eval", {"header.json": inspect_log("m", "gsm", 0.3)})
        data = bytearray(path.read_bytes())
        # The same zip, with the method that newer versions write in both headers.
        for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            place = data.find(mark)
            data[place + at : place + at + 2] = struct.pack("<H", 93)
        path.write_bytes(bytes(data))
        from recollect.runs.importers.versions import zipped

        monkeypatch.setattr(zipped.importlib, "import_module", _missing)
        with pytest.raises(UsageError, match=r"zstd.*pip install zstandard"):
            load(path)
        monkeypatch.setattr(zipped, "_decompressor", lambda _: lambda packed: zlib.decompress(packed, -15))
        (run,) = load(path)
        assert table(run) == {"m": (0.3,)}

    def test_a_log_cut_in_half_is_one_paragraph(self, tmp_path: Path) -> None:
        path = pack(tmp_path / "a.eval", {"header.json": inspect_log("m", "gsm", 0.3)})
        path.write_bytes(path.read_bytes()[:-30])
        with pytest.raises(UsageError) as error:
            load(path, "inspect")
        assert "\n" not in str(error.value)

    def test_a_real_log(self, public_files: Path) -> None:
        (run,) = load(public_files / "inspect" / "log_formats.eval")
        assert (run.tasks[0].name, run.tasks[0].n_samples, table(run)) == ("popularity", 1, {"llama3.1": (0.0,)})


def _missing(name: str) -> Any:
    raise ImportError(name)


def eee(model: str, task: str, score: Any, **config: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "x",
        "retrieved_timestamp": "1770682486.6",
        "source_metadata": {"source_type": "evaluation_run"},
        "eval_library": {"name": "lm_eval", "version": "0.4"},
        "model_info": {"name": model, "id": model, "additional_details": {}},
        "evaluation_results": [
            {
                "evaluation_name": task,
                "source_data": {"dataset_name": task, "source_type": "other"},
                "metric_config": {
                    "evaluation_description": "acc",
                    "lower_is_better": False,
                    "min_score": 0,
                    "max_score": 1,
                }
                | config,
                "score_details": {
                    "score": score,
                    "uncertainty": {"standard_error": {"value": 0.01}, "num_samples": 200},
                },
            }
        ],
    }


class TestEveryEvalEver:
    def test_one_file_per_task_and_model(self, tmp_path: Path) -> None:
        for model, arc, ppl in (("org/v-step1", "0.5", 12.0), ("org/v-step2", 0.25, "Infinity")):
            write(tmp_path / model / "arc.json", eee(model, "arc", arc))
            lower = {"lower_is_better": True, "evaluation_description": "ppl", "max_score": "Infinity"}
            write(tmp_path / model / "ppl.json", eee(model, "wiki", ppl, **lower))
        shares, perplexity = load(tmp_path)
        assert table(shares) == {"v-step1": (0.5,), "v-step2": (0.25,)}
        assert (shares.tasks[0].n_samples, shares.unit) == (200, "fraction")
        assert (perplexity.higher_is_better, perplexity.unit) == (False, "raw")
        assert table(perplexity) == {"v-step1": (12.0,)}

    def test_what_is_written_is_read_back(self, tmp_path: Path) -> None:
        for model, arc in (("v1", 0.5), ("v2", 0.25)):
            write(tmp_path / "in" / f"{model}.json", eee(model, "arc", arc))
        (run,) = load(tmp_path / "in")
        for place, document in enumerate(to_every_eval_ever(run)):
            write(tmp_path / "out" / f"{place}.json", document)
        (back,) = load(tmp_path / "out")
        assert table(back) == {"v1": (0.5,), "v2": (0.25,)}
        assert (back.metric, back.unit, back.tasks) == (run.metric, run.unit, run.tasks)
        assert back.rows[0].standard_error == run.rows[0].standard_error


class TestOthers:
    def test_lighteval(self, tmp_path: Path) -> None:
        for model, value in (("m-step1", 0.4), ("m-step2", 0.3)):
            results = {
                "leaderboard|mmlu:law|5": {"acc": value, "acc_stderr": 0.03},
                "leaderboard|mmlu:_average|5": {"acc": value},
                "all": {"acc": 0.9},
            }
            data = {
                "config_general": {"model_name": model},
                "results": results,
                "versions": {"leaderboard|mmlu:law|5": 0},
            }
            write(tmp_path / model / "results_2026-01-01T10-00-00.0.json", data)
        (run,) = load(tmp_path)
        assert [t.name for t in run.tasks] == ["leaderboard|mmlu:_average"]
        assert table(run) == {"m-step1": (0.4,), "m-step2": (0.3,)}

    def test_lerobot_counts_episodes(self, tmp_path: Path) -> None:
        for step, won in (("000100", [True, False]), ("000020", [True, True])):
            tasks = [
                {"task_group": "libero_object", "task_id": 4, "metrics": {"successes": won, "sum_rewards": [1.0, 0.0]}}
            ]
            write(
                tmp_path / "checkpoints" / step / "eval_info.json", {"per_task": tasks, "overall": {}, "per_group": {}}
            )
        (run,) = load(tmp_path)
        assert [t.n_samples for t in run.tasks] == [2]
        assert list(table(run).values()) == [(1.0,), (0.5,)]
        assert any("paired by their places" in note for note in run.notes)
        (episodes,) = run.items.tables(["libero_object/4"], run.rows)
        assert episodes.right.tolist() == [[1, 1], [1, 0]]
        assert episodes.flow(0, 1).counts == {"always": 1, "forgotten": 1, "learned": 0, "never": 0}

    def test_lerobot_with_a_task_twice_is_refused(self, tmp_path: Path) -> None:
        task = {"task_group": "g", "task_id": 1, "metrics": {"successes": [True]}}
        write(tmp_path / "eval_info.json", {"per_task": [task, task], "overall": {}})
        with pytest.raises(UsageError, match="two entries for g/1"):
            load(tmp_path)

    def test_trace_has_a_score_per_task_and_rows_are_rounds(self, tmp_path: Path) -> None:
        names = ["C-STANCE", "MeetingBank", "Py150"]
        metrics = ["accuracy", "rouge-L", "accuracy"]
        for row in range(3):
            for column in range(row + 1):
                scored = {metrics[column]: 0.5 - 0.1 * (row - column)}
                data = {"eval": scored, "prompts": ["p"], "results": ["r"] * 4, "labels": ["l"]}
                write(tmp_path / "seq" / f"results-{row}-{column}-{names[column]}.json", data)
        accuracy, rouge = load(tmp_path)
        assert [t.name for t in accuracy.tasks] == ["C-STANCE", "Py150"]
        assert accuracy.learned_at == {0: 0, 1: 2}
        assert accuracy.matrix.R[:, 0].tolist() == pytest.approx([0.5, 0.4, 0.3])
        assert (rouge.metric, rouge.tasks[0].n_samples) == ("rouge-l", 4)

    def test_mcitlib(self, tmp_path: Path) -> None:
        for row in (1, 2, 10):
            for column, score in (("VQA", 60 - row), ("OCR", 30 + row)):
                write(
                    tmp_path / "lora" / f"task{row}" / column / "Result.text", f"Samples: 50\nAccuracy: {score}.50%\n"
                )
        (run,) = load(tmp_path / "lora", choices=Choices(trained=(("VQA", 1), ("OCR", 2))))
        assert [row.name for row in run.rows] == ["task1", "task2", "task10"]
        assert run.matrix.R[0].tolist() == pytest.approx([0.595, 0.315])
        write(tmp_path / "lora" / "task1" / "VQA" / "Result.text", "Samples: 50\nAcc")
        with pytest.raises(UsageError, match="Is it whole"):
            load(tmp_path / "lora", "mcitlib")

    def test_opencompass_models_are_columns(self, tmp_path: Path) -> None:
        summary = (
            "dataset,version,metric,mode,m-step2,m-step10\n"
            "mmlu,abc,accuracy,ppl,61.23,-\n"
            "gsm,d,accuracy,gen,40.00,50.50\n"
        )
        write(tmp_path / "20260101" / "summary" / "summary_1.csv", summary)
        write(
            tmp_path / "20260101" / "results" / "m-step2" / "mmlu.json",
            {"accuracy": 61.2345, "details": {"0": {}, "1": {}}},
        )
        (run,) = load(tmp_path)
        assert [t.name for t in run.tasks] == ["gsm", "mmlu"]
        assert table(run) == {"m-step2": (40.0, 61.2345), "m-step10": (50.5, None)}
        assert run.unit == "percent"

    def test_wide_table(self, tmp_path: Path) -> None:
        lines = ["method,global_step,task_0_success,task_0_success_total,task_1_success,task_1_success_total"]
        lines += [f"ppo,{step},{0.5 + step / 100},80,0.25,80" for step in (10, 2, 0)]
        (run,) = load(write(tmp_path / "evals.csv", "\n".join(lines)))
        assert [(t.name, t.n_samples) for t in run.tasks] == [("task 0", 80), ("task 1", 80)]
        assert table(run) == {"step 0": (0.5, 0.25), "step 2": (0.52, 0.25), "step 10": (0.6, 0.25)}
        write(tmp_path / "cut.csv", "\n".join([*lines, "ppo,30,0.5"]))
        with pytest.raises(UsageError, match="line 5 has 3 fields"):
            load(tmp_path / "cut.csv")

    def test_wide_tables_of_others(self, public_files: Path) -> None:
        (run,) = load(public_files / "wide_csv" / "ocl" / "cwr_subsampling_25_no_freeze.csv")
        assert (run.T, len(run.rows)) == (6, 275)
        runs = load(public_files / "wide_csv" / "vla_eval_results.csv")
        assert all(run.T == 10 for run in runs)
        assert sum(run.rows[0].name == "base@step 0" for run in runs) > 10


def progress(folder: Path, active: list[int], success: list[tuple[float, ...]], **config: Any) -> Path:
    names = [f"test/stochastic/{j}/env-{'ab'[j]}/success" for j in range(len(success[0]))]
    lines = ["\t".join([*names, "total_env_steps", "train/active_env"])]
    lines += ["\t".join(map(str, [*row, 10 * (i + 1), active[i]])) for i, row in enumerate(success)]
    kind = {} if config.pop("multi", False) or "task" in config else {"cl_method": None}
    write(folder / "config.json", {"seed": 3, "lr": 0.1} | kind | config)
    return write(folder / "progress.tsv", "\n".join(lines))


class TestRobots:
    def test_continual_world_blocks_end_tasks(self, tmp_path: Path) -> None:
        progress(tmp_path / "1", [0, 0, 1, 1], [(0.5, 0.0), (1.0, 0.0), (0.5, 0.5), (0.25, 1.0)], cl_method="ewc")
        (run,) = load(tmp_path)
        assert (run.learner, run.seed, run.learned_at) == ("ewc", 3, {0: 1, 1: 3})
        assert [t.name for t in run.tasks] == ["env-a", "env-b"]
        assert run.matrix.R.tolist()[-1] == [0.25, 1.0]
        progress(tmp_path / "2", [0, 0], [(0.5, 0.5), (1.0, 0.5)], multi=True)
        multi = load(tmp_path / "2")[0]
        assert (multi.learner, multi.role, multi.learned_at) == ("multi-task", "reference", {0: 1, 1: 1})
        progress(tmp_path / "3", [0, 0], [(0.5,), (1.0,)], task="env-a")
        assert load(tmp_path / "3")[0].learner == "single-task"

    def test_continual_world_as_published(self, public_files: Path) -> None:
        runs = load(public_files / "continual_world" / "logs")
        assert len(runs) == 8
        assert {run.learner for run in runs} >= {"finetuning", "single-task", "multi-task"}

    def test_libero(self, tmp_path: Path) -> None:
        results = {"S_conf_mat": np.array([[0.9, 0.0], [0.5, 0.8]]), "L_conf_mat": np.ones((2, 2)), "S_fwd": np.ones(2)}
        path = tmp_path / "er" / "run_001" / "result.pt"
        path.parent.mkdir(parents=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("result/data.pkl", pickle.dumps(results, protocol=2))
        (run,) = load(path)
        assert (run.learner, run.metric) == ("er", "success")
        assert str(run.matrix.R.tolist()) == "[[0.9, nan], [0.5, 0.8]]"
        (loss,) = load(tmp_path, "libero")
        assert loss.higher_is_better

    def test_libero_with_tensors(self, tmp_path: Path) -> None:
        torch = pytest.importorskip("torch")
        path = tmp_path / "er" / "run_001" / "result.pt"
        path.parent.mkdir(parents=True)
        whole = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 16
        # A view: its numbers lie in the storage of the whole, with an offset and steps.
        torch.save({"S_conf_mat": whole[1:, 1:3].t(), "L_conf_mat": torch.ones(2, 2, dtype=torch.float64)}, path)
        (run,) = load(path)
        assert [row.scores["success"] for row in run.rows] == [(5 / 16, 9 / 16), (6 / 16, 10 / 16)]
        assert run.rows[0].scores["success"] == tuple(whole[1:, 1].tolist())

    @pytest.mark.parametrize("size", [(9, 9), (2**39, 2**39), (-1, 2), ("a",), (3, 2)])
    def test_a_tensor_larger_than_its_numbers_is_refused(self, tmp_path: Path, size: tuple[Any, ...]) -> None:
        torch = pytest.importorskip("torch")

        class Pickler(pickle.Pickler):
            def persistent_id(self, obj: Any) -> Any:
                return ("storage", torch.FloatStorage, "0", "cpu", 4) if obj == "numbers" else None

            def reducer_override(self, obj: Any) -> Any:
                return (
                    (torch._utils._rebuild_tensor_v2, ("numbers", 0, size, (1,) * len(size), False, {}))
                    if obj is Pickler
                    else NotImplemented
                )

        made = io.BytesIO()
        Pickler(made, protocol=2).dump({"S_conf_mat": Pickler})
        path = tmp_path / "result.pt"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("result/data.pkl", made.getvalue())
            archive.writestr("result/data/0", np.ones(4, "<f4").tobytes())
        with pytest.raises(UsageError, match="tensor"):
            load(path)

    def test_libero_runs_nothing_that_is_in_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "result.pt"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("result/data.pkl", b"cos\nsystem\n(S'touch owned'\ntR.")
        with pytest.raises(UsageError, match=r"os\.system"):
            load(path)


class TestContradictions:
    """What comes twice, or in two units, is refused: which of the two is meant cannot be told."""

    def test_every_eval_ever(self, tmp_path: Path) -> None:
        twice = eee("m", "arc", 0.5)
        twice["evaluation_results"] += eee("m", "arc", 0.25)["evaluation_results"]
        with pytest.raises(UsageError, match="two results"):
            load(write(tmp_path / "a.json", twice))
        units = eee("m", "arc", 0.5)
        units["evaluation_results"] += eee("m", "gsm", 25.0, max_score=100)["evaluation_results"]
        with pytest.raises(UsageError, match="units fraction and percent"):
            load(write(tmp_path / "b.json", units))

    def test_inspect(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no scores"):
            load(write(tmp_path / "a.json", inspect_log("m", "gsm", 0.3, results={"scores": {"a": 1}})))
        path = tmp_path / "b.eval"
        header = json.dumps(inspect_log("m", "gsm", 0.3))
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", header[:-1] + ', "status": "success"}')
        with pytest.raises(UsageError, match="comes twice"):
            load(path, "inspect")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("header.json", header)
            with pytest.warns(UserWarning, match="Duplicate"):
                archive.writestr("header.json", header.replace("0.3", "0.4"))
        with pytest.raises(UsageError, match="two members"):
            load(path, "inspect")

    def test_mcitlib(self, tmp_path: Path) -> None:
        for text in ("Samples: 5\nAccuracy: 1.5.2%\n", f"Samples: {'9' * 5000}\nAccuracy: 5%\n"):
            with pytest.raises(UsageError, match="Is it whole"):
                load(write(tmp_path / "task1" / "VQA" / "Result.text", text).parents[1], "mcitlib")

    def test_lighteval(self, tmp_path: Path) -> None:
        results = {"mmlu|0": {"acc": 0.4}, "mmlu|5": {"acc": 0.5}}
        data = {"config_general": {"model_name": "m"}, "results": results, "versions": {}}
        with pytest.raises(UsageError, match="comes twice"):
            load(write(tmp_path / "results_2026-01-01T10-00-00.0.json", data))
        data["results"] = {"mmlu|0": {"a" * 5000: 0.4}}
        with pytest.raises(UsageError, match="not known whether more is better") as error:
            load(write(tmp_path / "results_2026-01-01T10-00-00.0.json", data))
        assert len(str(error.value)) < 1000

    def test_a_standard_error_too_large_for_a_number_is_none(self, tmp_path: Path) -> None:
        made = eee("m", "arc", 0.5)
        made["evaluation_results"][0]["score_details"]["uncertainty"]["standard_error"]["value"] = 10**400
        (run,) = load(write(tmp_path / "a.json", made))
        assert run.rows[0].standard_error == pytest.approx((math.sqrt(0.25 / 199),)), "that of 100 in 200"

    def test_an_infinite_success_is_one_paragraph(self, tmp_path: Path) -> None:
        path = tmp_path / "result.pt"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("result/data.pkl", pickle.dumps({"S_conf_mat": np.full((2, 2), np.inf)}, protocol=2))
        with pytest.raises(UsageError, match="infinite"):
            load(path)
