"""Write the fixtures of the tools that evaluate seen tasks only, robots, or versions of a model.

Typed to the letter of what the tools write, with made-up scores, as in `make_fixtures.py`. They are what
`benchmarks/fuzz_readers.py` spoils; the tests of these readers make files of their own.

    python -m tests.runs.importers.make_fixtures_versions
"""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from typing import Any

import numpy as np

from tests.runs.importers.make_fixtures import HERE, write
from tests.runs.importers.test_seen_only_tools import LIBCONTINUAL, facil
from tests.runs.importers.versions.test_other_tools import eee, inspect_log, progress
from tests.runs.importers.versions.writing import lmeval_old, lmeval_results, stage


def packed(members: dict[str, bytes]) -> bytes:
    """A zip, the same bytes every time."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def dumped(data: Any) -> bytes:
    return json.dumps(data, indent=1).encode()


def seen_only() -> None:
    for kind in ("taw", "tag"):
        facil(HERE / "facil", kind)
    write("libcontinual/ewc/run.log", LIBCONTINUAL)
    header = "after_training_task,average_accuracy,test_on_task_1,test_on_task_2\n"
    write("clarena/finetuning/results/acc.csv", header + "1,0.9,0.9\n2,0.65,0.5,0.8\n")
    matrices = [
        np.array([[90.0, 0, 0], [40, 80, 0], [20, 30, 70]]),
        np.array([[91.0, 0, 0], [42, 81, 0], [23, 33, 71]]),
    ]
    write("cglb/class-IL/te_Cora_ewc.pkl", pickle.dumps(matrices, protocol=4))


def robots() -> None:
    success = [(0.5, 0.0), (1.0, 0.0), (0.5, 0.5), (0.25, 1.0)]
    progress(HERE / "continual-world" / "run", [0, 0, 1, 1], success, cl_method="ewc")
    results = {"S_conf_mat": np.array([[0.9, 0.0], [0.5, 0.8]]), "L_conf_mat": np.ones((2, 2)), "S_fwd": np.ones(2)}
    write("libero/er/run_001/result.pt", packed({"result/data.pkl": pickle.dumps(results, protocol=2)}))
    for step, won in (("000100", [True, False]), ("000020", [True, True])):
        metrics = {"successes": won, "sum_rewards": [1.0, 0.0]}
        task = {"task_group": "libero_object", "task_id": 4, "metrics": metrics}
        write(
            f"lerobot/checkpoints/{step}/eval_info.json", dumped({"per_task": [task], "overall": {}, "per_group": {}})
        )


def language() -> None:
    evals = HERE / "lm-eval" / "evals"
    lmeval_results(evals / ".__ckpt__base" / "results_2026-01-03.json", "./ckpt/base", {"arc": 0.5, "gsm": 0.4})
    for step, arc in ((50, 0.4), (9, 0.45)):
        name = f"./ckpt/out/checkpoint-{step}"
        lmeval_results(evals / f"__ckpt__out__checkpoint-{step}" / "results_x.json", name, {"arc": arc, "gsm": 0.6})
    lmeval_old(HERE / "lm-eval" / "old" / "m_step1.json", "org/m", 1, {"arc": 0.25, "gsm": 0.5}, 200)
    outputs = HERE / "hf-trainer" / "outputs"
    stage(outputs / "1-b_task", {"b_task": 90.0, "TC": 90.0}, samples=100)
    stage(outputs / "2-a", {"b_task": 80.0, "a": 70.0, "TC": 77.0}, samples=150)
    write("inspect/a.json", dumped(inspect_log("hf/m", "gsm", 0.3)))
    write("inspect/b.eval", packed({"header.json": dumped(inspect_log("hf/n", "gsm", 0.4)), "summaries.json": b"[]"}))
    write("every-eval-ever/arc.json", dumped(eee("org/v-step1", "arc", "0.5")))
    write("every-eval-ever/wiki.json", dumped(eee("org/v-step1", "wiki", 12.0, lower_is_better=True)))
    tasks = {"leaderboard|mmlu:law|5": {"acc": 0.4, "acc_stderr": 0.03}, "all": {"acc": 0.9}}
    general = {"config_general": {"model_name": "m-step1"}, "results": tasks, "versions": {"leaderboard|mmlu:law|5": 0}}
    write("lighteval/m/results_2026-01-01T10-00-00.0.json", dumped(general))
    for row, column in ((0, 0), (1, 0), (1, 1)):
        scored = {"eval": {"accuracy": 0.5 - 0.1 * (row - column)}, "prompts": ["p"], "results": ["r"], "labels": ["l"]}
        write(f"trace/seq/results-{row}-{column}-{('C-STANCE', 'Py150')[column]}.json", dumped(scored))
    for row in (1, 2):
        for column, score in (("VQA", 60 - row), ("OCR", 30 + row)):
            write(f"mcitlib/lora/task{row}/{column}/Result.text", f"Samples: 50\nAccuracy: {score}.50%\n")
    summary = (
        "dataset,version,metric,mode,m-step2,m-step10\nmmlu,abc,accuracy,ppl,61.23,-\ngsm,d,accuracy,gen,40.00,50.50\n"
    )
    write("opencompass/work/summary/summary_1.csv", summary)
    write("opencompass/work/results/m-step2/mmlu.json", dumped({"accuracy": 61.2345, "details": {"0": {}, "1": {}}}))
    lines = ["method,global_step,task_0_success,task_0_success_total,task_1_success,task_1_success_total"]
    lines += [f"ppo,{step},{0.5 + step / 100},80,0.25,80" for step in (10, 2, 0)]
    write("wide-csv/evals.csv", "\n".join(lines) + "\n")


if __name__ == "__main__":
    seen_only()
    robots()
    language()
