"""Figure 1 of Michel et al. 2023 for real: two easy tasks in the plane whose union is hard.

Task 1 tells left (class 1) from right (class 2), and so does task 2 (classes 3 and 4): one vertical line solves
both, as the paper has it ("they are very similar"). On each side the classes of the two tasks are half moons that
hook into each other, so that telling all four apart needs curves. A small network learns task 1, then task 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.errors import MissingExtra
from recollect.matrix import Array, ScoreMatrix
from recollect.metrics import score
from recollect.stats import Estimate, estimate

if TYPE_CHECKING:
    from recollect.learners.base import Learner
    from recollect.runs import Run
    from recollect.streams.stream import Stream

SEEDS = 10
SAMPLES = 200  # a class, for training and as many for testing
PASSES = 5
NETWORK = {"network": "mlp", "hidden": [32, 32]}
# The rate and optimiser of the survey that the online learners follow, and another one beside it.
SGD = {"optimizer": "sgd", "lr": 0.1}
ADAM = {"optimizer": "adam", "lr": 0.003}
# The distance of the two sides: task 2's left class then lies where task 1's right one does, and no line solves both.
SHIFT = 3.0
# The window that is drawn: x from left to right, y from bottom to top.
WINDOW = (-2.7, 2.7, -1.5, 2.5)
POINTS = (180, 120)

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Picture:
    """What a seed's tiles show: test points with their classes (0 to 3), and the answers on a grid.

    `first` is asked after task 1 among classes 1, 2; `second` after task 2 among 3, 4; `union` after task 2
    among all four.
    """

    x: Array
    y: Labels
    first: Labels
    second: Labels
    union: Labels


@dataclass(frozen=True)
class Toy:
    """The toy over seeds. Accuracies of the network after task 2 unless said; `joint` learned both at once.

    `learned` is task 1 right after it was learned; `first_kept` and `second_kept` ask each task among its own
    two classes; `first_all` and `second_all` among all four. AF = within + newer: the first task has no older one.
    The last two are `within` when one thing is changed: the optimiser, or where task 2 lies.
    """

    learned: Estimate
    first_kept: Estimate
    second_kept: Estimate
    first_all: Estimate
    second_all: Estimate
    joint: Estimate
    forgetting: Estimate
    within: Estimate
    newer: Estimate
    within_with_adam: Estimate
    within_when_shifted: Estimate
    picture: Picture


def half_moons(n: int, rng: np.random.Generator, shift: float = 0.0) -> tuple[Array, Labels]:
    """Sample n points of each class: 0 and 2 hooked into each other on the left, 1 and 3 on the right.

    `shift` moves classes 2 and 3 to the right.
    """
    points, labels = [], []
    for label in range(4):
        side, is_second = label % 2, label >= 2
        angle = np.pi * rng.random(n)
        x, y = np.sin(angle), np.cos(angle)
        if is_second:
            x, y = 0.5 - x + shift, 1 - y
        centre = -1.75 if side == 0 else 1.25
        noise = rng.normal(scale=0.08, size=(n, 2))
        points.append(np.column_stack([x + centre, y]) + noise)
        labels.append(np.full(n, label))
    return np.concatenate(points), np.concatenate(labels)


def run_toy(seeds: int = SEEDS) -> Toy:
    """Learn task 1, then task 2, once a seed; the picture is that of seed 0."""
    runs = [_learn(seed, SGD) for seed in range(seeds)]
    matrix = ScoreMatrix.stack([run.matrix for run in runs])
    with_adam = ScoreMatrix.stack([_learn(seed, ADAM).matrix for seed in range(seeds)])
    shifted = ScoreMatrix.stack([_learn(seed, SGD, shift=SHIFT).matrix for seed in range(seeds)])
    together = ScoreMatrix.stack([_learn(seed, SGD, tasks=1).matrix for seed in range(seeds)])
    A = np.asarray(matrix.restricted)
    return Toy(
        learned=estimate(matrix.R[:, 0, 0]),
        first_kept=estimate(A[:, 1, 0, 0]),
        second_kept=estimate([_among_own(run, 1) for run in runs]),
        first_all=estimate(matrix.R[:, 1, 0]),
        second_all=estimate(matrix.R[:, 1, 1]),
        joint=estimate(together.R[:, 0, 0]),
        forgetting=estimate(np.asarray(score(matrix, "forgetting.chaudhry2018"))),
        within=estimate(np.asarray(score(matrix, "split.within"))),
        newer=estimate(np.asarray(score(matrix, "split.newer"))),
        within_with_adam=estimate(np.asarray(score(with_adam, "split.within"))),
        within_when_shifted=estimate(np.asarray(score(shifted, "split.within"))),
        picture=_picture(0),
    )


def _learn(seed: int, optimiser: Mapping[str, object], tasks: int = 2, shift: float = 0.0) -> Run:
    from recollect.protocol import describe, iter_protocol

    stream, learner = _begin(seed, optimiser, tasks, shift)
    rows = tuple(iter_protocol(learner, stream, seed=seed))
    return replace(describe(stream, name="finetune", seed=seed), rows=rows)


def _among_own(run: Run, task: int) -> float:
    """The accuracy on a task at the end, asked among its own classes only."""
    last = run.rows[-1]
    right, n = (last.masked or ())[task], (last.n or ())[task]
    return float("nan") if right is None or not n else right / n


def _begin(seed: int, optimiser: Mapping[str, object], tasks: int = 2, shift: float = 0.0) -> tuple[Stream, Learner]:
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingExtra.of("torch", "run") from None
    from recollect.learners import Setting, make_learner
    from recollect.runs.seeds import derive
    from recollect.streams import stream_from_arrays

    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    train, test = half_moons(SAMPLES, rng, shift), half_moons(SAMPLES, rng, shift)
    stream = stream_from_arrays(
        *train,
        *test,
        name="half moons",
        tasks=tasks,
        passes=PASSES,
        class_order="natural",
    )
    return stream, make_learner("finetune", {**NETWORK, **optimiser}, Setting.of(stream), derive(seed), "cpu")


def _picture(seed: int) -> Picture:
    from recollect.protocol import iter_protocol

    stream, learner = _begin(seed, SGD)
    left, right, bottom, top = WINDOW
    across, up = np.meshgrid(np.linspace(left, right, POINTS[0]), np.linspace(bottom, top, POINTS[1]))
    grid = np.column_stack([across.ravel(), up.ravel()]).astype(np.float32)
    answers: dict[str, Labels] = {}
    for row in iter_protocol(learner, stream, seed=seed):
        scores = learner.score(grid)
        if row.after == 0:
            answers["first"] = scores[:, :2].argmax(1)
        elif row.after == 1:
            answers["second"] = scores[:, 2:].argmax(1) + 2
            answers["union"] = scores.argmax(1)
    x, y = (np.concatenate(part) for part in zip(*((b.x, b.y) for b in stream.test_batches()), strict=True))
    shaped = {name: chosen.reshape(POINTS[1], POINTS[0]) for name, chosen in answers.items()}
    return Picture(x.astype(np.float64), y, **shaped)
