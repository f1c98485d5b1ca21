"""Which files are runs of one learner."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.runs import group, load_all
from recollect.runs.naming import named


def write(folder: Path, *names: str) -> list[Path]:
    """Matrix files of other content each."""
    made = []
    for place, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        R = np.array([[0.9, 0.1], [0.5, 0.8]]) - place / 100
        if path.suffix == ".npy":
            np.save(path, R)
        else:
            path.write_text("\n".join(",".join(f"{x:.4f}" for x in row) for row in R))
        made.append(path)
    return made


def found(paths: list[Path], **options: str) -> dict[str, tuple[int | None, ...]]:
    return {one.learner: one.seeds for one in group(load_all(paths, **options))}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["er/0/results.csv", "er/1/results.csv", "mine/0/results.csv"], {"er": (0, 1), "mine": (0,)}),
        (["er/0/results.csv", "mine/0/results.csv"], {"er": (0,), "mine": (0,)}),
        (["er_s0.npy", "er_s1.npy", "mine_s0.npy"], {"er": (0, 1), "mine": (0,)}),
        (["er-s0.csv", "er-s11.csv"], {"er": (0, 11)}),
        (["er_seed0.csv", "er-seed1.csv"], {"er": (0, 1)}),
        (["s0/er.csv", "s1/er.csv", "s0/mine.csv"], {"er": (0, 1), "mine": (0,)}),
        (["seed=3/er.csv", "seed=4/er.csv"], {"er": (3, 4)}),
        (["run0/er/acc.csv", "run1/er/acc.csv"], {"er": (0, 1)}),
        (["s0_er.csv", "s1_er.csv"], {"er": (0, 1)}),
        (["agem_1_s0.npy", "agem_2_s0.npy"], {"agem_1": (0,), "agem_2": (0,)}),
        (["er_1.csv", "er_2.csv"], {"er_1": (None,), "er_2": (None,)}),
        (["cifar100/er.csv", "cifar100/mine.csv"], {"er": (None,), "mine": (None,)}),
        (["a/er.csv", "b/er.csv"], {"a": (None,), "b": (None,)}),
        (["ewc/results.csv"], {"ewc": (None,)}),
        (["glasses.csv"], {"glasses": (None,)}),
        (["bus3.csv", "bus4.csv"], {"bus3": (None,), "bus4": (None,)}),
    ],
)
def test_what_differs_between_the_paths_names_the_learner(tmp_path, names, expected):
    assert found(write(tmp_path, *names)) == expected


@pytest.mark.parametrize(
    ("pattern", "names", "expected"),
    [
        ("{learner}/{seed}/results.csv", ["x/er/0/results.csv", "x/er/1/results.csv"], {"er": (0, 1)}),
        ("{learner}_s{seed}", ["a/er_s0.npy", "b/er_s1.npy"], {"er": (0, 1)}),
        ("{seed}-{learner}.csv", ["7-er.csv", "8-er.csv"], {"er": (7, 8)}),
        ("{learner}/*.csv", ["er/first.csv", "mine/other.csv"], {"er": (None,), "mine": (None,)}),
        ("{learner}_{seed}.csv", ["er_1.csv", "er_2.csv"], {"er": (1, 2)}),
    ],
)
def test_a_pattern_says_it(tmp_path, pattern, names, expected):
    assert found(write(tmp_path, *names), name=pattern) == expected


def test_a_pattern_may_name_the_stream(tmp_path):
    runs = load_all(write(tmp_path, "mnist/er_s0.csv", "cifar/er_s0.csv"), name="{stream}/{learner}_s{seed}.csv")
    assert [(run.stream, run.learner, run.seed) for run in runs] == [("mnist", "er", 0), ("cifar", "er", 0)]


@pytest.mark.parametrize("pattern", ["{what}.csv", "er.csv", "{learner}{learner}", "{learner}_x{seed}.csv"])
def test_a_pattern_that_does_not_fit_is_wrong_use(tmp_path, pattern):
    with pytest.raises(UsageError, match="--name"):
        load_all(write(tmp_path, "er_s0.csv"), name=pattern)


def test_pooling_on_a_guess_is_said(tmp_path):
    runs = load_all(write(tmp_path, "er_s0.csv", "er_s1.csv"))
    assert all(any("taken for seeds 0, 1 of the learner er" in note for note in run.notes) for run in runs)
    told = load_all(write(tmp_path, "er_s0.csv", "er_s1.csv"), name="{learner}_s{seed}")
    assert not any("by their names" in note for run in told for note in run.notes)


def test_copies_are_one_observation(tmp_path):
    first, *_ = write(tmp_path, "er_s0.csv", "er_s1.csv")
    shutil.copy(first, tmp_path / "er_s2.csv")
    runs = load_all(sorted(tmp_path.glob("*.csv")))
    assert [run.seed for run in runs] == [0, 1]
    assert any("er_s2.csv is byte for byte" in note for note in runs[0].notes)
    assert len(load_all([first, first])) == 1


def test_two_formats_of_one_run_are_not_two_seeds(tmp_path):
    paths = write(tmp_path, "er_s0.csv", "er_s0.npy")
    with pytest.raises(UsageError, match="a seed counts once"):
        group(load_all(paths))


def pyclad(folder: Path, name: str, seed: int, size: int, score: float) -> Path:
    matrix = {"a": {"a": score, "b": 0.5}, "b": {"a": 0.6, "b": 0.8}}
    callback = {"base_metric_name": "ROC-AUC", "metrics": {}, "concepts_order": ["a", "b"], "metric_matrix": matrix}
    buffer = {"name": "ReplayBuffer", "max_size": size, "current_size": seed}
    output = {
        "model": {"name": "VAE", "random_state": seed, "verbose": seed},
        "strategy": {"name": "Replay", "replay_buffer": buffer},
        "dataset": {"name": "toy"},
        "concept_metric_callback_ROC-AUC": callback,
    }
    path = folder / name
    path.write_text(json.dumps(output))
    return path


def test_options_in_a_file_are_part_of_the_learner(tmp_path):
    paths = [pyclad(tmp_path, "a.json", 1, 100, 0.9), pyclad(tmp_path, "b.json", 2, 100, 0.8)]
    other = pyclad(tmp_path, "c.json", 1, 500, 0.7)
    small, large = group(load_all([*paths, other]))
    assert (small.seeds, large.seeds) == ((1, 2), (1,))
    assert small.learner_config["strategy.replay_buffer.max_size"] == 100


def test_records_keep_their_names():
    from recollect.runs import Row, Run, Task

    run = Run(learner="er", stream="toy", tasks=(Task("a"),), rows=(Row(0, scores={"accuracy": (0.5,)}),))
    assert named([run, run]) == [run, run]
    with pytest.raises(UsageError, match="records"):
        named([run], "{learner}")
