"""A run goes on as what it was begun as, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.protocol import iter_run, run_protocol
from recollect.runs import Plan
from recollect.runs.reading import read_run
from recollect.runs.seeds import derive
from recollect.streams import make_stream


def digits(**options: Any) -> Any:
    return make_stream("digits", tasks=5, subset={"train": 20, "test": 10}, **options)


def learner_for(stream: Any, name: str = "finetune", **options: Any) -> Any:
    return make_learner(name, options, Setting.of(stream), derive(0), "cpu")


def begin(folder: Path, name: str = "finetune", **options: Any) -> None:
    """Two rows, then a kill."""
    stream = digits()
    rows = iter_run(learner_for(stream, name, **options), stream, folder, name="learner")
    next(rows)
    next(rows)
    rows.close()


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != ".lock"}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"batch": 20}, "batch was 10 and is 20 now"),
        ({"batch": 7}, "batch was 10 and is 7"),
        ({"passes": 2}, "passes was 1 and is 2 now"),
    ],
)
def test_other_batches_are_refused_and_nothing_is_harmed(tmp_path: Path, change: dict[str, int], what: str) -> None:
    begin(tmp_path / "r")
    before = content(tmp_path / "r")
    stream = digits(**change)
    with pytest.raises(UsageError, match=f"another run: {what}.*Nothing was changed"):
        run_protocol(learner_for(stream), stream, tmp_path / "r", name="learner")
    assert content(tmp_path / "r") == before
    stream = digits()
    assert run_protocol(learner_for(stream), stream, tmp_path / "r", name="learner").status == "finished"


def test_other_training_samples_are_refused(tmp_path: Path) -> None:
    from recollect.streams import stream_from_arrays

    x, y = np.arange(80, dtype=np.uint8).reshape(40, 2), np.arange(40) % 4
    one, other = (stream_from_arrays(train, y, x, y, name="toy", tasks=2) for train in (x, 255 - x))
    assert one.fingerprint == other.fingerprint  # which tells test sets apart: what is compared
    rows = iter_run(learner_for(one), one, tmp_path / "r", name="learner")
    next(rows)
    rows.close()
    with pytest.raises(UsageError, match="the training samples are others"):
        run_protocol(learner_for(other), other, tmp_path / "r", name="learner")


@pytest.mark.parametrize(
    ("began", "goes_on", "what"),
    [
        (("er", {"memory": 50}), ("er", {"memory": 500}), "the option memory was 50 and is 500 now"),
        (("finetune", {}), ("finetune", {"optimizer": "adam"}), "the option optimizer was 'sgd' and is 'adam'"),
        (("finetune", {"hidden": [10]}), ("finetune", {"hidden": [20]}), r"the option hidden was \[10\] and is \[20\]"),
        (("er", {}), ("finetune", {}), "the learner was .*:ExperienceReplay and is .*:Finetune now"),
        (("finetune", {}), ("random", {}), "the learner was .*:Finetune and is .*:RandomGuess now"),
    ],
)
def test_another_learner_is_refused(tmp_path: Path, began: Any, goes_on: Any, what: str) -> None:
    begin(tmp_path / "r", began[0], **began[1])
    stream = digits()
    with pytest.raises(UsageError, match=f"another run: {what}"):
        run_protocol(learner_for(stream, goes_on[0], **goes_on[1]), stream, tmp_path / "r", name="learner")


def test_a_damaged_checkpoint_says_what_to_do(tmp_path: Path) -> None:
    begin(tmp_path / "r")
    checkpoint = tmp_path / "r" / "checkpoint.bin"
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    stream = digits()
    with pytest.raises(UsageError, match=r"checkpoint\.bin is damaged .* Remove it, and the run starts"):
        run_protocol(learner_for(stream), stream, tmp_path / "r", name="learner")
    checkpoint.unlink()
    assert run_protocol(learner_for(stream), stream, tmp_path / "r", name="learner").status == "finished"


def test_rows_that_were_taken_away_are_missed(tmp_path: Path) -> None:
    begin(tmp_path / "r")
    rows = tmp_path / "r" / "rows.jsonl"
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:1]))
    stream = digits()
    with pytest.raises(UsageError, match="has 1 rows and its checkpoint was made after 2"):
        run_protocol(learner_for(stream), stream, tmp_path / "r", name="learner")


@pytest.mark.parametrize(
    "wrong", [{"every": 2.5}, {"every": -5}, {"subsample": 0}, {"subsample": 2.5}, {"rows": 2}, {"rows": (0, 1.5)}]
)
def test_a_plan_is_checked_when_it_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="plan"):
        Plan(**wrong)


def test_a_record_has_names_that_can_be_read_back(tmp_path: Path) -> None:
    stream = digits()
    with pytest.raises(UsageError, match="name of the learner in a record is a text; got 3"):
        run_protocol(learner_for(stream, "random"), stream, tmp_path / "r", name=3)
    assert not (tmp_path / "r").exists()


def test_a_checkpoint_of_an_earlier_version_says_itself_what_it_was_made_for(tmp_path: Path) -> None:
    from recollect.protocol import checkpoint
    from recollect.protocol.identifying import made_for
    from recollect.runs.store import RunFolder

    begin(tmp_path / "r", "er", memory=50)
    stream = digits()
    with RunFolder.open(tmp_path / "r", read_run(tmp_path / "r")) as saved:
        saved.update(identity=None)
        content = checkpoint.decode(saved.read_checkpoint() or b"")
        facts = made_for(learner_for(stream, "er", memory=50), stream, 0)
        saved.write_checkpoint(checkpoint.encode({**content, "made_for": facts}))
    with pytest.raises(UsageError, match="begun with another option memory: 50, and 60"):
        run_protocol(learner_for(stream, "er", memory=60), stream, tmp_path / "r", name="learner")
    other = digits(batch=20)
    with pytest.raises(UsageError, match="begun with another batch: 10, and 20"):
        run_protocol(learner_for(other, "er", memory=50), other, tmp_path / "r", name="learner")
    run = run_protocol(learner_for(stream, "er", memory=50), stream, tmp_path / "r", name="learner")
    assert run.status == "finished"


def test_estimators_with_other_parameters_are_refused(tmp_path: Path) -> None:
    from sklearn.linear_model import SGDClassifier

    from recollect.learners.wrap import wrap_sklearn

    def learner(alpha: float) -> Any:
        return wrap_sklearn(SGDClassifier(alpha=alpha), Setting.of(stream), derive(0))

    stream = digits()
    rows = iter_run(learner(0.1), stream, tmp_path / "r", name="sgd")
    next(rows)
    rows.close()
    with pytest.raises(UsageError, match=r"the option alpha was 0\.1 and is 0\.2 now"):
        run_protocol(learner(0.2), stream, tmp_path / "r", name="sgd")
    assert run_protocol(learner(0.1), stream, tmp_path / "r", name="sgd").status == "finished"


def test_detectors_with_other_parameters_are_refused(tmp_path: Path) -> None:
    from sklearn.ensemble import IsolationForest

    from recollect.learners.wrap import wrap_detector
    from recollect.streams import stream_from_concepts

    draw = np.random.default_rng(0)
    parts = [(name, draw.normal(size=(20, 3)), draw.normal(size=(10, 3)), np.arange(10) % 2) for name in "ab"]
    stream = stream_from_concepts(parts, name="toy")

    def learner(trees: int) -> Any:
        return wrap_detector(IsolationForest(n_estimators=trees), Setting.of(stream), derive(0))

    run_protocol(learner(5), stream, tmp_path / "r", name="forest")
    with pytest.raises(UsageError, match="n_estimators was 5 and is 6 now"):
        run_protocol(learner(6), stream, tmp_path / "r", name="forest")


def test_networks_with_other_layers_or_weights_are_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from recollect.learners.wrap import wrap_module

    stream = digits()

    def learner(hidden: int, seed: int) -> Any:
        torch.manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, hidden), torch.nn.Linear(hidden, 10))
        return wrap_module(net, Setting.of(stream), derive(0))

    rows = iter_run(learner(8, 0), stream, tmp_path / "r", name="net")
    next(rows)
    rows.close()
    with pytest.raises(UsageError, match="layers was"):
        run_protocol(learner(9, 0), stream, tmp_path / "r", name="net")
    with pytest.raises(UsageError, match="has other weights"):
        run_protocol(learner(8, 1), stream, tmp_path / "r", name="net")
    assert run_protocol(learner(8, 0), stream, tmp_path / "r", name="net").status == "finished"
