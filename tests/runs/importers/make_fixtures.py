"""Write the fixtures of tools that cannot be installed here, to the letter of what their sources write.

Pickles and numpy files are made by this script; logs and tables are typed below. The scores are made up, with
every hazard of the format in them: the expected matrices are typed again, by hand, in the tests. The fixtures
of Avalanche and pyCLAD are not made here, those tools wrote them themselves; but for Avalanche's online stream,
whose JSON lines are the work of a logger that does not come with the tool.

    python tests/runs/importers/make_fixtures.py
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

HERE = Path(__file__).parents[1] / "fixtures"


def write(path: str, content: bytes | str) -> None:
    target = HERE / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.encode() if isinstance(content, str) else content)


def avalanche_training(experiences: Iterable[int], inside: str = "") -> str:
    """A training phase of Avalanche's text log; `inside` comes after each experience."""
    lines = "-- >> Start of training phase << --\n"
    for experience in experiences:
        lines += f"-- Starting training on experience {experience} (Task 0) from train stream --\n"
        lines += "Epoch 0 ended.\n\tLoss_Epoch/train_phase/train_stream/Task000 = 1.5000\n" + inside
    return lines + "-- >> End of training phase << --\n"


def avalanche_evaluation(scores: Mapping[int, float], stream: str = "test") -> str:
    """An evaluation phase of Avalanche's text log."""
    lines = "-- >> Start of eval phase << --\n"
    for experience, score in scores.items():
        lines += f"-- Starting eval on experience {experience} (Task 0) from {stream} stream --\n"
        lines += f"> Eval on experience {experience} (Task 0) from {stream} stream ended.\n"
        lines += f"\tLoss_Exp/eval_phase/{stream}_stream/Task000/Exp{experience:03d} = 0.5000\n"
        lines += f"\tTop1_Acc_Exp/eval_phase/{stream}_stream/Task000/Exp{experience:03d} = {score:.4f}\n"
    mean = sum(scores.values()) / len(scores)
    return lines + f"-- >> End of eval phase << --\n\tTop1_Acc_Stream/eval_phase/{stream}_stream/Task000 = {mean:.4f}\n"


def avalanche_json_line(step: int, scores: Mapping[int, float], stream: str = "test") -> str:
    """What was logged at a step, as a JSON line: a loss in training and, where there are scores, an evaluation."""
    record: dict[str, float] = {"step": step, "Loss_Epoch/train_phase/train_stream/Task000": 1.5}
    for experience, score in scores.items():
        record[f"Top1_Acc_Exp/eval_phase/{stream}_stream/Task000/Exp{experience:03d}"] = score
    return json.dumps(record) + "\n"


def avalanche_online() -> None:
    """Three experiences, each cut into four that are numbered anew, evaluated on those learned so far."""
    evaluations = ({0: 2 / 3}, {0: 1 / 3, 1: 5 / 7}, {0: 1 / 7, 1: 2 / 7, 2: 6 / 7})
    log = lines = ""
    for phase, scores in enumerate(evaluations):
        log += avalanche_training(range(4)) + avalanche_evaluation(scores)
        lines += "".join(avalanche_json_line(4 * phase + i + 1, scores if i == 3 else {}) for i in range(4))
    write("avalanche/online/logs.txt", log)
    write("avalanche/online/logs.json", lines)


def gem() -> None:
    write(
        "gem/gem_mnist_permutations.pt_2018_02_10_12_30_45_0f3a.txt",
        "0.1012 0.0900 0.1101\n|\n0.8012 0.1500 0.1203\n0.7001 0.8500 0.2000\n0.6500 0.7999 0.9000\n"
        "\nFinal Accuracy: 0.7833\nBackward: -0.0671\nForward:  0.0750\n",
    )


def _python2_array(shape: tuple[int, ...], values: list[float]) -> bytes:
    """A float64 array as Python 2's cPickle wrote it in protocol 0: raw bytes in an escaped string."""
    raw = np.array(values, dtype="<f8").tobytes()
    escaped = "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in "'\\" else f"\\x{byte:02x}" for byte in raw)
    dims = "".join(f"I{n}\n" for n in shape)
    return (
        "cnumpy.core.multiarray\n_reconstruct\np3\n(cnumpy\nndarray\np4\n(I0\ntS'b'\ntRp5\n"
        f"(I1\n({dims}tcnumpy\ndtype\np6\n(S'f8'\nI0\nI1\ntRp7\n(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb"
        f"I00\nS'{escaped}'\ntb"
    ).encode("ascii")


def agem() -> None:
    """Two runs of two tasks, three evaluations per task, in a pickle of Python 2; a plain one of Python 3."""
    inside = [
        [[[0.5, 0.0], [0.6, 0.0], [0.75, 0.0]], [[0.7, 0.4], [0.65, 0.5], [0.5, 0.25]]],
        [[[0.4, 0.0], [0.5, 0.0], [1.0, 0.0]], [[0.9, 0.6], [0.8, 0.7], [0.25, 0.75]]],
    ]
    flat = [x for run in inside for task in run for row in task for x in row]
    head = b"(dp1\nS'mean'\np2\n"
    write(
        "agem/PERMUTE_MNIST_HERDING_FC-S_True_VAN_0_01_10_1-18-12-01-10-30.pickle",
        head + _python2_array((2, 2, 3, 2), flat) + b"s.",
    )
    ends = np.array([[[0.75, 0.0, 0.0], [0.5, 0.25, 0.0], [0.5, 0.0, 1.0]]])
    write(
        "agem/SPLIT_CIFAR_HERDING_RESNET-S_True_A-GEM_0_03_10_65-19-01-02-10-30.pickle",
        pickle.dumps({"mean": ends}, protocol=2),
    )


def raptormai() -> None:
    """Two runs, all tasks evaluated each time: here a 0 above the diagonal is a measurement."""
    runs = np.array(
        [
            [[0.5, 0.0, 0.0], [0.25, 0.5, 0.0], [0.0, 0.25, 0.75]],
            [[0.6, 0, 0], [0.2, 0.7, 0], [0.1, 0.3, 0.8]],
        ]
    )
    write("raptormai/er_cifar100.pkl", pickle.dumps({"time": 12.5, "acc_array": runs}, protocol=4))
    write("raptormai/offline_cifar100.pkl", pickle.dumps({"time": 3.0, "acc_array": runs[:, -1]}, protocol=4))


def begin() -> None:
    """Time-incremental (future cells are 0) and, in full mode, class-incremental with the joint learner."""
    f32 = np.float32
    time = {
        "init_val": np.zeros(4, f32),
        "init_test": np.array([0.125, 0, 0, 0.125], f32),
        "exp_val": np.ones((3, 4), f32),
        "exp_test": np.array([[0.75, 0, 0, 0.75], [0.5, 0.625, 0, 0.5625], [0, 0.5, 0.875, 0.4375]], f32),
    }
    write(
        "begin/benchmark_NC_ogbn-arxiv_EWC_time/result_0.001_0.0_0.0_10000_2000.pkl",
        pickle.dumps(time, protocol=4),
    )
    full = {
        "init_val": np.zeros(3, f32),
        "init_test": np.array([0.25, 0.125, 0.1875], f32),
        "exp_val": np.ones((2, 3), f32),
        "exp_test": np.array([[0.75, 0.125, 0.4375], [0.25, 0.5, 0.375]], f32),
        "base_val": np.ones((2, 3), f32),
        "base_test": np.array([[0.75, 0.125, 0.4375], [0, 0.75, 0.375]], f32),
        "accum_val": np.ones((2, 3), f32),
        "accum_test": np.array([[0.75, 0.125, 0.4375], [0.625, 0.75, 0.6875]], f32),
    }
    write("begin/full.pkl", pickle.dumps(full, protocol=4))


def vandeven() -> None:
    """Eleven contexts ('context 10' sorts before 'context 2'), two evaluations in the first."""
    T = 11
    columns = {f"context {j + 1}": [] for j in range(T)}
    contexts = [1, *range(1, T + 1)]
    for row, context in enumerate(contexts):
        for j in range(T):
            columns[f"context {j + 1}"].append((row + 10 * j) / 200 if j < context else 0)
    results = {
        "acc per context": columns,
        "average": [0.5] * len(contexts),
        "x_iteration": [500 * (row + 1) for row in range(len(contexts))],
        "x_context": contexts,
    }
    write("vandeven/dict-splitMNIST11-class--F-784x400x400--i2000--nAll.pkl", pickle.dumps(results, protocol=5))


def mammoth() -> None:
    arguments = (
        "{'dataset': 'seq-cifar10', 'model': 'er', 'seed': %d, 'lr': 0.1, 'buffer_size': 500,"
        " 'device': device(type='cuda'),"
        " 'conf_host': 'a\\'b\"c', 'transform': <function f at 0x7f3a>, 'joint': 0,"
        " 'alpha': nan, 'beta': -inf, 'x': None,"
    )
    end = " 'cpu_memory_usage': [1.5, 2], 'gpu_memory_usage': {}, 'forward_transfer': nan}\n"
    first = (
        " 'accmean_task1': 97.5, 'accmean_task2': 84.05, 'accmean_task3': 60.0, 'accuracy_1_task1': 97.5,"
        " 'accuracy_1_task2': 80.1, 'accuracy_2_task2': np.float64(88.0), 'accuracy_1_task3': 0.0,"
        " 'accuracy_2_task3': 85.0, 'accuracy_3_task3': 95.0,"
    )
    second = (
        " 'accmean_task1': 96.0, 'accuracy_1_task1': 96.0, 'accuracy_1_task2': 70.0,"
        " 'accuracy_2_task2': 90.0,"
        " 'accuracy_1_task3': nan, 'accuracy_2_task3': 50.0, 'accuracy_3_task3': 99.5,"
    )
    lines = arguments % 0 + first + end + arguments % 1 + second + end
    write("mammoth/results/class-il/seq-cifar10/er/logs.pyd", lines)
    write(
        "mammoth/results/task-il/seq-cifar10/er/logs.pyd",
        lines.replace("'accuracy_1_task3': 0.0", "'accuracy_1_task3': 91.5"),
    )
    write(
        "mammoth/domain_means_only/logs.pyd",
        "{'dataset': 'perm-mnist', 'model': 'sgd', 'seed': 3, 'accmean_task1': 90.0}\n",
    )
    write(
        "mammoth/domain_il_stderr.txt",
        "Task 1 - Epoch 1: 100%|####| 10/10 [00:00<00:00]\n"
        "Accuracy (epoch 0) for 1 task(s): [Domain-IL]: 80.0 %\n\tRaw accuracy values: Domain-IL [80.0]\n\n\n"
        "Accuracy for 1 task(s): [Domain-IL]: 90.5 %\n\tRaw accuracy values: Domain-IL [90.5]\n\n\n"
        "Future Accuracy for 1 task(s): [Domain-IL]: 11.0 %\n"
        "\tRaw accuracy values: Domain-IL [11.0, 11.0]\n\n\n"
        "Accuracy for 2 task(s): [Domain-IL]: 80.0 %\n"
        "\tRaw accuracy values: Domain-IL [np.float64(70.0), 90.0]\n\n\n"
        "Accuracy for 3 task(s): [Domain-IL]: 70.0 %\n"
        "\tRaw accuracy values: Domain-IL [50.0, 72.25, 87.75]\n\n\n",
    )
    write(
        "mammoth/class_il_stderr.txt",
        "Accuracy for 1 task(s): \t [Class-IL]: 90.0 % \t [Task-IL]: 95.0 %\n"
        "\tRaw accuracy values: Class-IL [90.0] | Task-IL [95.0]\n\n\n"
        "Accuracy for 2 task(s): \t [Class-IL]: 60.0 % \t [Task-IL]: 92.5 %\n"
        "\tRaw accuracy values: Class-IL [30.0, 90.0] | Task-IL [90.0, 95.0]\n\n\n",
    )


def pycil() -> None:
    stamp = "2024-01-01 10:00:00,000 [trainer.py] => "

    def settings(seed: int, init: int, increment: int, model: str = "icarl") -> str:
        values = {"prefix": "reproduce", "dataset": "cifar100", "init_cls": init, "increment": increment}
        values |= {"model_name": model, "seed": seed, "device": "[device(type='cuda', index=0)]"}
        return "".join(f"{stamp}{key}: {value}\n" for key, value in values.items())

    def entry(kind: str, groups: dict[str, str], total: str) -> str:
        body = ", ".join(f"'{name}': {value}" for name, value in groups.items())
        return f"{stamp}{kind}: {{'total': {total}, {body}, 'old': 0, 'new': {total}}}\n"

    curve = f"{stamp}CNN top1 curve: [88.5]\n{stamp}CNN top5 curve: [99.0]\n\n"
    seeds = ""
    for seed, shift in ((1993, 0), (1994, 1)):
        seeds += settings(seed, 10, 10) + f"{stamp}All params: 464154\n"
        seeds += (
            entry("CNN", {"00-09": f"{88.5 - shift}"}, "88.5")
            + entry("NME", {"00-09": f"{87.0 - shift}"}, "87.0")
            + curve
        )
        seeds += entry(
            "CNN", {"00-09": f"np.float64({60.25 - shift})", "10-19": "np.float64(90.0)"}, "np.float64(75.1)"
        )
        seeds += entry("NME", {"00-09": f"{70.0 - shift}", "10-19": "80.0"}, "75.0") + curve
    write("pycil/reproduce_1993_resnet32.log", seeds)
    # Twelve tasks of ten classes: as strings, '100-109' comes before '20-29'.
    many = settings(1, 10, 10, "finetune")
    for i in range(12):
        groups = {f"{10 * j:02d}-{10 * j + 9:02d}": str(float(8 * j + i - j)) for j in range(i + 1)}
        many += entry("CNN", dict(sorted(groups.items())), "50.0")
    write("pycil/many_1_resnet32.log", many)
    base50 = settings(1993, 50, 10) + entry("CNN", {f"{10 * j:02d}-{10 * j + 9:02d}": "70.0" for j in range(5)}, "70.0")
    base50 += entry("CNN", {f"{10 * j:02d}-{10 * j + 9:02d}": "60.0" for j in range(6)}, "60.0")
    write("pycil/base50_1993_resnet32.log", base50)
    fives = settings(1993, 5, 5) + entry("CNN", {"00-09": "90.0"}, "90.0") + entry("CNN", {"00-09": "80.0"}, "80.0")
    write("pycil/increment5_1993_resnet32.log", fives)
    pilot = settings(1993, 50, 25, "simplecil") + entry("CNN", {"00-49": "91.0"}, "91.0")
    pilot += entry("CNN", {"00-49": "89.0", "50-74": "nan"}, "85.0")
    pilot += entry("CNN", {"00-49": "88.0", "50-74": "70.0", "75-99": "95.5"}, "84.0")
    write("pilot/reproduce_1993_vit.log", pilot)


def michel() -> None:
    folder = "michel/results/ER,cifar10,m200mbs64sbs10"
    for seed, shift in ((0, 0.0), (10, 0.01)):
        rows = [[0.9 - shift, None, None], [0.5, 0.8 - shift, None], [0.25, 0.0, 0.75]]
        text = "task 0,task 1,task 2\n" + "".join(",".join("" if x is None else str(x) for x in r) + "\n" for r in rows)
        write(f"{folder}/run{seed}/acc.csv", text)
        write(f"{folder}/run{seed}/ncm.csv", text.replace("0.25", "0.35"))
        write(f"{folder}/run{seed}/avg.csv", "acc,ncm\n0.9,0.9\n0.65,0.65\n0.33,0.36\n")
        write(f"{folder}/run{seed}/forgetting.csv", "task 0,task 1,task 2\n,,\n0.4,,\n0.65,0.8,\n")
        write(f"{folder}/run{seed}/acc_forgetting.csv", "task 0,task 1,task 2\n,,\n0.4,,\n0.65,0.8,\n")
    write(
        f"{folder}/run0/params_used.json",
        '{"learner": "ER", "dataset": "cifar10", "n_tasks": 3, "n_classes": 6, "training_type": "inc", "seed": 0}',
    )
    write(f"{folder}/runs_accs.csv", "0,1\n0.33,0.34\n")


def l2metrics() -> None:
    """It tests before training, trains the first task twice, and logs an incomplete experience."""
    header = "block_num\texp_num\tworker_id\tblock_type\ttask_name\ttask_params\texp_status\ttimestamp"
    header += "\tperformance\n"
    blocks = [
        ("test", [("Task_A", [1.0, 3.0]), ("Task_B", [0.0, 0.0])]),
        ("train", [("Task_A", [5.0, 50.0])]),
        ("test", [("task_a", [80.0, 90.0]), ("task_b", [10.0, 20.0])]),
        ("train", [("Task_B", [5.0, 60.0])]),
        ("test", [("Task_A", [60.0, 70.0]), ("Task_B", [70.0, 90.0])]),
        ("train", [("Task_A", [60.0, 85.0])]),
        ("test", [("Task_A", [90.0, 92.0]), ("Task_B", [50.0, 60.0])]),
    ]
    number = 0
    for block, (kind, tasks) in enumerate(blocks):
        lines = header
        for task, values in tasks:
            for value in values:
                fixed = f'{block}\t{number}\tworker-0\t{kind}\t{task}\t"{{""difficulty"": 0.35}}"\t'
                if number == 4:
                    lines += f"{fixed}incomplete\t20210415T145944.0\t999.0\n"
                lines += f"{fixed}complete\t20210415T145944.0\t{value}\n"
                number += 1
        write(f"l2metrics/lifetime/worker-0/{block}-{kind}/data-log.tsv", lines)
    write(
        "l2metrics/lifetime/logger_info.json",
        '{"metrics_columns": ["performance"], "log_format_version": "1.1"}',
    )
    write(
        "l2metrics/lifetime/scenario_info.json",
        '{"complexity": "1-low", "difficulty": "1-easy", "scenario_type": "custom"}',
    )


def generic() -> None:
    write("csv/plain.csv", "0.9,,\n0.5,0.8,\n0.25,0.0,0.75\n")
    write("csv/pandas_index.csv", ",0,1\n0,80,nan\n1,60.5,90\n")
    write("csv/named.csv", "after,dogs,cats\nuntrained,10%,20%\ndogs,90%,15%\ncats,45%,80%\n")
    write("csv/decimal_comma.csv", "hund;katze\n0,9;\n0,5;0,8\n")
    write("csv/blanks.txt", "0.9 nan\n0.5 0.8\n")
    write(
        "csv/long.csv",
        "learner,stream,run,seed,after,on,score,n\n"
        "er,toy,a,0,-1,0,0.1,10\ner,toy,a,0,-1,1,0.2,20\ner,toy,a,0,0,0,0.9,10\ner,toy,a,0,1,0,0.5,10\n"
        "er,toy,a,0,1,1,0.8,20\ner,toy,b,1,0,0,1.0,10\ner,toy,b,1,1,0,NA,10\ner,toy,b,1,1,1,0.75,20\n",
    )
    write("csv/long_names.csv", "after,on,score\nzebra,zebra,0.9\nant,zebra,0.5\nant,ant,0.8\n")
    write("csv/long_from_one.csv", "after,on,score\n0,1,0.1\n0,2,0.15\n1,1,0.9\n1,2,0.2\n2,1,0.5\n2,2,0.8\n")
    write("json/matrix.json", "[[0.9, null], [0.5, 0.8]]")
    write("json/ragged_seeds.json", "[[[90.5], [50, 80]], [[91], [NaN, 81]]]")
    write(
        "json/object.json",
        '{"R": [[0.9, 0.1], [0.5, 0.8]], "b": [0.05, 0.1], "joint": [[0.9, 0.1], [0.85, 0.9]],'
        ' "n_classes": [2, 3],'
        ' "n_samples": [100, 150], "names": ["a", "b"], "seed": 7, "learner": "er", "stream": "toy"}',
    )
    write(
        "json/records.json",
        '[{"after": 0, "on": 0, "score": 0.9}, {"after": 1, "on": 0, "score": null},'
        ' {"after": 1, "on": 1, "score": 0.8}]',
    )
    seeds = np.array([[[0.9, np.nan], [0.5, 0.8]], [[1.0, np.nan], [0.25, 0.75]]])
    np.save(HERE / "npy" / "one.npy", seeds[0])
    np.save(HERE / "npy" / "seeds.npy", seeds)
    np.save(HERE / "npy" / "fortran.npy", np.asfortranarray(np.array([[90, 0], [50, 80]], dtype=np.int16)))
    np.savez(HERE / "npz" / "lone.npz", anything=seeds[0])
    np.savez_compressed(
        HERE / "npz" / "full.npz",
        R=np.array([[0.8, 0.1], [0.9, 0.2], [0.5, 0.7]]),
        b=np.array([0.05, 0.1]),
        joint=np.array([[0.9, 0.2], [0.8, 0.85]]),
        learned_at=np.array([1, 2]),
        steps=np.array([50, 100, 200]),
        n_classes=np.array([2, 2]),
        names=np.array(["a", "b"]),
        learner=np.array("er"),
    )


def main() -> None:
    for name in ("npy", "npz"):
        (HERE / name).mkdir(parents=True, exist_ok=True)
    for make in (avalanche_online, gem, agem, raptormai, begin, vandeven, mammoth, pycil, michel, l2metrics, generic):
        make()


if __name__ == "__main__":
    main()
