from __future__ import annotations

import subprocess
import sys

import pytest

from recollect.learners import Setting, batched, joining, make_learner
from recollect.runs.seeds import derive


@pytest.mark.parametrize("shape", [(64,), (1, 28, 28), (3, 32, 32), (3, 8, 8)])
@pytest.mark.parametrize("gives_task", [False, True])
@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("finetune", {}),
        ("er", {"memory": 20}),
        ("er", {"network": "mlp", "hidden": []}),
        ("er", {"network": "mlp", "hidden": [600, 500]}),
        ("er", {"momentum": 0.9}),
        ("er", {"separate": True}),
        ("finetune", {"optimizer": "adam"}),
        ("finetune", {"iterations": 2}),
        ("er_ace", {}),
        ("random", {}),
    ],
)
def test_what_is_known_before_is_what_the_learner_says(name, config, shape, gives_task):
    setting = Setting(shape, 10, ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9)), gives_task=gives_task)
    learner = make_learner(name, config, setting, derive(0), "cpu")
    assert joining.wins(name, config, setting) == batched.wins(learner)


def test_it_is_known_without_torch():
    code = "import sys, recollect.learners.joining; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
