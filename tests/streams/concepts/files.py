"""Small files in the formats of the published ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from recollect.streams.concepts.intrusion import KDD_COLUMNS

ATTACKS = ("normal", "normal", "neptune", "satan", "normal", "guess_passwd", "normal", "rootkit")
CATEGORIES = ("Normal", "Normal", "Fuzzers", "Normal", " Exploits", "Normal")


def write_nsl_kdd(folder: Path, n_train: int = 80, n_test: int = 40, last: str = "") -> None:
    """The attacks in turn; the flag RSTO comes in the test file alone."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, n in (("KDDTrain+.txt", n_train), ("KDDTest+.txt", n_test)):
        lines = []
        for i in range(n):
            numbers = [f"{value:.2f}" for value in rng.random(len(KDD_COLUMNS))]
            flag = "RSTO" if "Test" in name and i == 0 else "SF"
            numbers[1:4] = ["tcp", "udp"][i % 2], ["http", "ftp", "smtp"][i % 3], flag
            lines.append(",".join([*numbers, ATTACKS[i % 8], "21"]))
        (folder / name).write_text("\n".join(lines) + "\n" + last)


def write_unsw(folder: Path, name: str = "UNSW_NB15_training-set.csv", n: int = 60) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    lines = ["id,dur,proto,service,state,rate,attack_cat,label"]
    for i in range(n):
        category = CATEGORIES[i % 6]
        proto = ["tcp", "udp"][i % 2]
        label = int(category != "Normal")
        lines.append(f"{i + 1},{rng.random():.5f},{proto},-,FIN,{rng.random():.3f},{category},{label}")
    (folder / name).write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")


def write_skab(folder: Path, n: int = 500) -> None:
    """Two files in valve1, one each in the others; the last fifth of a file is anomalous."""
    rng = np.random.default_rng(2)
    for name in ("valve1/2.csv", "valve1/10.csv", "valve2/0.csv", "other/1.csv", "anomaly-free/anomaly-free.csv"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ["datetime;Current;Pressure;anomaly;changepoint"]
        offset = 1000 * len(path.stem)
        for i in range(n):
            lines.append(
                f"2020-03-09 10:{i // 60:02}:{i % 60:02};{offset + i};{rng.random():.3f};{float(i >= 400)};0.0"
            )
        path.write_text("\n".join(lines))


def write_nab(folder: Path, n: int = 200) -> None:
    """Two series with an anomaly from minute 150 to 159, one without."""
    rng = np.random.default_rng(3)
    windows: dict[str, list[list[str]]] = {"realB/quiet.csv": []}
    for name in ("realA/one.csv", "realB/two.csv", "realB/quiet.csv"):
        path = folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        stamps = [f"2014-04-01 {i // 60:02}:{i % 60:02}:00" for i in range(n)]
        values = [f"{stamp},{rng.random():.4f}" for stamp in stamps]
        path.write_text("\n".join(["timestamp,value", *values]) + "\n")
        windows.setdefault(name, [[f"{stamps[150]}.000000", f"{stamps[159]}.000000"]])
    (folder / "labels").mkdir()
    (folder / "labels" / "combined_windows.json").write_text(json.dumps(windows))


def write_adbench(folder: Path) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(4)
    for name in ("6_cardio", "32_shuttle", "22_magic.gamma"):
        x = np.concatenate([rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 10])
        np.savez(folder / f"{name}.npz", X=x, y=np.arange(80) % 8 == 7)


def write_pyclad(path: Path, n_concepts: int = 3) -> dict[str, np.ndarray]:
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    arrays: dict[str, np.ndarray] = {}
    for k in range(n_concepts):
        arrays[f"c{k}_name"] = np.array(f"Cluster_{k}")
        arrays[f"c{k}_train_data"] = rng.random((6, 4))
        arrays[f"c{k}_test_data"] = rng.random((8, 4))
        arrays[f"c{k}_test_labels"] = np.repeat([0.0, 1.0], 4)
    np.savez(path, **arrays)
    return arrays
