"""Matrices for the tests: the golden ones of the catalogue, and random ones with everything beside them."""

from __future__ import annotations

import numpy as np

from recollect.metrics import registry

R1 = [[0.80, 0.10, 0.60, 0.05], [0.85, 0.70, 0.20, 0.10], [0.60, 0.75, 0.50, 0.30], [0.40, 0.80, 0.35, 0.90]]
B1 = [0.10, 0.05, 0.15, 0.10]
J1 = [[0.80, 0.10, 0.20, 0.10], [0.82, 0.78, 0.20, 0.10], [0.80, 0.76, 0.72, 0.20], [0.79, 0.75, 0.70, 0.93]]

# Held-out columns have tests of their own: a square matrix of tasks has none.
IDS = [id for id in registry.all_ids() if not id.startswith("held_out.")]
# Defined for fractions alone.
FRACTIONS = ["fwt.continual_world"]
RESCALED = ["raa.michel2023", "uraa.michel2023", "raf.michel2023", "uraf.michel2023"]


# What has the axes of the runs, as R has.
SCORES = ("b", "joint", "restricted", "masked", "asked", "probe", "single", "single_auc", "online", "near_future")


def restricted_scores(rng, lead, T, classes_per_task=2, samples=20):
    """Restricted and masked accuracies of simulated class scores, with the matrix they belong to.

    Every sample has a score for every class from every model; an answer is the argmax among the allowed.
    """
    C = T * classes_per_task
    A = np.full((*lead, T, T, T), np.nan)
    W = np.full((*lead, T, T), np.nan)
    for run in np.ndindex(*lead):
        for k in range(T):
            for j in range(T):
                label = rng.integers(j * classes_per_task, (j + 1) * classes_per_task, samples)
                scores = rng.normal(size=(samples, C))
                scores[np.arange(samples), label] += rng.uniform(0, 3)
                own = slice(j * classes_per_task, (j + 1) * classes_per_task)
                W[(*run, k, j)] = (scores[:, own].argmax(1) == label - own.start).mean()
                for m in range(j, T):
                    answer = scores[:, : (m + 1) * classes_per_task].argmax(1)
                    A[(*run, k, j, m)] = (answer == label).mean()
    k = np.arange(T)
    R = np.moveaxis(A[..., k, :, k], 0, -2).copy()
    zero_shot = rng.uniform(0, 0.3, R.shape)
    above = np.triu_indices(T, 1)
    asked = np.diagonal(A, axis1=-2, axis2=-1)
    R[..., *above] = np.minimum(zero_shot, asked)[..., *above]
    return R, A, W


def inputs_of(rng, lead, T):
    """All that a metric may need, at random; a restricted tensor that belongs to R."""
    R, A, W = restricted_scores(rng, lead, T)
    return {
        "R": R,
        "b": rng.uniform(0, 1, (*lead, T)),
        "joint": rng.uniform(0, 1, (*lead, T, T)),
        "restricted": A,
        "masked": W,
        "asked": np.diagonal(A, axis1=-2, axis2=-1).copy(),
        "probe": rng.uniform(0, 1, (*lead, T, T)),
        "single": rng.uniform(0, 1, (*lead, T)),
        "single_auc": rng.uniform(0, 0.9, (*lead, T)),
        "online": rng.uniform(0, 1, (*lead, T)),
        "near_future": rng.uniform(0, 1, (*lead, T)),
        "n_classes": rng.integers(1, 6, T),
        "n_samples": rng.integers(5, 500, T),
        "steps": np.cumsum(rng.integers(1, 50, T)),
    }


def needed(id, inputs):
    """Only what the card of `id` says it needs."""
    return {name: inputs[name] for name in registry.get(id).card.needs}
