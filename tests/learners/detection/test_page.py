from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from recollect.learners.detection import options
from recollect.learners.detection.names import NETWORKS, SKLEARN, parse

PAGE = (Path(__file__).parents[3] / "docs" / "learners" / "detectors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("cls", [options.Autoencoder, options.Variational, options.SequenceAutoencoder])
def test_the_page_states_the_parameters_of_the_networks(cls):
    for one in fields(cls):
        rule = one.metadata
        assert f"| `{one.name}` | `{one.default}` | {rule['whose']} | {rule['meaning']} |" in PAGE


def test_the_page_names_the_detectors():
    assert all(name in PAGE for name in (*SKLEARN, *NETWORKS))
    for name in ("IForest", "ECOD", "COPOD", "LOF", "OCSVM", "HBOS", "KNN", "PCA"):
        assert name in PAGE
        assert parse(name).family == "pyod"
