"""Figure 2 and Propositions 4.3 and 4.4 of Michel et al. 2023: the definitions and the closed forms.

gamma_k = RAA_k / AA_k and beta_k = RAF_k / AF_k depend on the classes of the tasks alone. Tasks are counted
from 1 in the paper; entry 0 of an array here is k = 1, where beta is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recollect.matrix import Array
from recollect.metrics import score
from recollect.reproduce.tables import random_classifier
from recollect.text import Table

MOST_TASKS = 1000
# Sums of a thousand floats differ in the last digits with the order of the terms.
TOLERANCE = 1e-12

# Streams of unequal tasks that papers use: the classes of the first task, of a later one, and how many of those.
UNEQUAL = {
    "CIFAR-100, 50 then 5 x 10": (50, 10, 5),
    "CIFAR-100, 50 then 10 x 5": (50, 5, 10),
    "CIFAR-100, 50 then 25 x 2": (50, 2, 25),
    "CIFAR-100, 10 then 18 x 5": (10, 5, 18),
    "Tiny ImageNet, 100 then 10 x 10": (100, 10, 10),
    "Tiny ImageNet, 100 then 20 x 5": (100, 5, 20),
    "Pascal VOC, 10 then 2 x 5": (10, 5, 2),
    "Pascal VOC, 15 then 5 x 1": (15, 1, 5),
}


@dataclass(frozen=True, eq=False)
class Coefficients:
    """gamma and beta over the tasks of a stream; `peak` is the task (from 1) of RAF's normaliser."""

    gamma: Array
    beta: Array
    peak: int


def from_definitions(classes: Sequence[int]) -> Coefficients:
    """Divide by the random classifier, then by the largest such ratio over all classifiers and tasks.

    A perfect classifier has AA = 1 and the worst AF = 1, so the largest ratios are 1 / min AA_k(Rand) and
    1 / min AF_k(Rand).

    >>> from_definitions([2, 2, 2]).beta
    array([       nan, 0.83333333, 1.        ])
    >>> from_definitions([50, 10, 10]).peak
    2
    """
    share = 1 / np.cumsum(classes, dtype=np.float64)
    AF = np.full(len(share), np.nan)
    # The random classifier's best score on task j is its first, 1 / C_j: there are never fewer classes.
    AF[1:] = np.cumsum(share)[:-1] / np.arange(1, len(share)) - share[1:]
    if len(share) < 2:
        return Coefficients(share.min() / share, AF, 0)
    return Coefficients(share.min() / share, np.nanmin(AF) / AF, int(np.nanargmin(AF)) + 1)


def closed_forms(K: int) -> tuple[Array, Array]:
    """gamma_k = k / K (Prop. 4.3 for equal tasks) and beta_k (Prop. 4.4).

    >>> closed_forms(3)
    (array([0.33333333, 0.66666667, 1.        ]), array([       nan, 0.83333333, 1.        ]))
    """
    k = np.arange(1, K + 1)
    H = np.cumsum(1 / k)
    beta = np.full(K, np.nan)
    beta[1:] = (H[-1] - 1) * (k[1:] - 1) / ((H[1:] - 1) * (K - 1))
    return k / K, beta


def from_metrics(classes: Sequence[int]) -> tuple[Array, Array]:
    """The same two from the metrics of the catalogue: what the random classifier's RAA / AA and RAF / AF are."""
    matrix = random_classifier(tuple(classes))
    ids = ("raa.michel2023", "acc.average", "raf.michel2023", "forgetting.chaudhry2018")
    RAA, AA, RAF, AF = (score(matrix, id, curve=True) for id in ids)
    return RAA / AA, RAF / AF


@dataclass(frozen=True)
class Proposition:
    """The largest difference between a closed form and the definition, over all k of K = 2 .. `most`."""

    name: str
    statement: str
    difference: float
    most: int

    @property
    def holds(self) -> bool:
        return self.difference <= TOLERANCE


def check_propositions(most: int = MOST_TASKS) -> tuple[Proposition, Proposition]:
    """Propositions 4.3 and 4.4 for every K = 2 .. most, one class per task (its number cancels).

    A stream of fewer tasks is a prefix of a longer one: only the maximum over its tasks differs.

    >>> all(p.holds for p in check_propositions(50))
    True
    """
    k = np.arange(1, most + 1)
    share, H = 1 / k, np.cumsum(1 / k)
    AF = np.cumsum(share)[:-1] / k[:-1] - share[1:]
    worst = [0.0, 0.0]
    for K in range(2, most + 1):
        gamma = share[:K].min() / share[:K] - k[:K] / K
        closed = (H[K - 1] - 1) * (k[1:K] - 1) / ((H[1:K] - 1) * (K - 1))
        beta = AF[: K - 1].min() / AF[: K - 1] - closed
        worst = [max(old, float(np.abs(new).max())) for old, new in zip(worst, (gamma, beta), strict=True)]
    return (
        Proposition("Proposition 4.3", "RAA_k = (C_k / C_K) AA_k", worst[0], most),
        Proposition("Proposition 4.4", "RAF_k = beta_k AF_k, equal tasks", worst[1], most),
    )


@dataclass(frozen=True)
class Unequal:
    """A stream of unequal tasks: how far Proposition 4.4's closed form is from the definition.

    `peak` and `at` are tasks from 1; `last` is beta_K by the definition, RAF_K / AF_K. Prop. 4.3's closed form
    holds for any tasks; `gamma_difference` shows it.
    """

    name: str
    tasks: int
    peak: int
    last: float
    difference: float
    at: int
    gamma_difference: float


def check_unequal() -> tuple[Unequal, ...]:
    """The closed forms on the streams of `UNEQUAL`."""
    found = []
    for name, (first, later, count) in UNEQUAL.items():
        classes = [first, *[later] * count]
        seen = np.cumsum(classes)
        ours = from_definitions(classes)
        difference = np.abs(ours.beta - closed_forms(len(classes))[1])
        at = int(np.nanargmax(difference))
        found.append(
            Unequal(
                name=name,
                tasks=len(classes),
                peak=ours.peak,
                last=float(ours.beta[-1]),
                difference=float(difference[at]),
                at=at + 1,
                gamma_difference=float(np.abs(ours.gamma - seen / seen[-1]).max()),
            )
        )
    return tuple(found)


def unequal_table(found: Sequence[Unequal]) -> Table:
    """The same as a table."""
    head = ("classes", "K", "normaliser at task", "RAF_K / AF_K", "largest difference of beta_k", "at task")
    rows = tuple(
        (one.name, str(one.tasks), str(one.peak), f"{one.last:.3f}", f"{one.difference:.3f}", str(one.at))
        for one in found
    )
    return Table(head, rows, right=(1, 2, 3, 4, 5))
