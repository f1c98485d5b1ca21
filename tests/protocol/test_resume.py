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
    [({"batch": 20}, "batch: 10, and 20"), ({"batch": 7}, "batch: 10, and 7"), ({"passes": 2}, "passes: 1, and 2")],
)
def test_other_batches_are_refused_and_nothing_is_harmed(tmp_path: Path, change: dict[str, int], what: str) -> None:
    begin(tmp_path / "r")
    before = content(tmp_path / "r")
    stream = digits(**change)
    with pytest.raises(UsageError, match=f"begun with another {what}.*Nothing was changed"):
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
    with pytest.raises(UsageError, match="begun with another first batch of training samples"):
        run_protocol(learner_for(other), other, tmp_path / "r", name="learner")


@pytest.mark.parametrize(
    ("began", "goes_on", "what"),
    [
        (("er", {"memory": 50}), ("er", {"memory": 500}), "option memory: 50, and 500"),
        (("finetune", {}), ("finetune", {"optimizer": "adam"}), "option optimizer: 'sgd', and 'adam'"),
        (("finetune", {"hidden": [10]}), ("finetune", {"hidden": [20]}), r"option hidden: \[10\], and \[20\]"),
        (("er", {}), ("finetune", {}), "learner's kind: 'ExperienceReplay', and 'Finetune'"),
        (("finetune", {}), ("random", {}), "learner's kind"),
    ],
)
def test_another_learner_is_refused(tmp_path: Path, began: Any, goes_on: Any, what: str) -> None:
    begin(tmp_path / "r", began[0], **began[1])
    stream = digits()
    with pytest.raises(UsageError, match=f"begun with another {what}"):
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


def test_a_run_whose_learner_cannot_be_made_is_on_record(tmp_path: Path) -> None:
    from recollect.experiments import parse, run_experiment

    text = "{name: e, streams: [{name: digits, tasks: 2}], learners: ['json:Learner', random], seeds: 1}"
    outcome = run_experiment(parse(text), tmp_path, workers=1)
    assert len(outcome.failures) == 1
    failed = read_run(outcome.failures[0].job.folder)
    assert (failed.status, failed.rows) == ("failed", ())
    assert "the module json has no 'Learner'" in (failed.error or "")
