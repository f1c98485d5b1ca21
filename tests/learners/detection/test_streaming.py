"""Detectors that learn one sample at a time, monitors of drift, and checkpoints that are programs."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.learners import Setting, make_learner
from recollect.learners.detection.detectors import make_detector
from recollect.learners.detection.names import parse
from recollect.learners.keeping import PROGRAM, bring_back, holds_program, keep
from recollect.protocol import checkpoint, iter_run, run_protocol, signing
from recollect.runs.reading import read_run
from recollect.runs.run import Plan
from recollect.runs.seeds import derive
from recollect.streams import Stream, stream_from_concepts

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def needs_river() -> Any:
    return pytest.importorskip("river", reason="river is not installed: pip install 'recollect[streaming]'")


class Nearest:
    """One sample at a time: the distance from the running mean; a function in it makes its state a program."""

    def __init__(self, rate: float = 0.1) -> None:
        self.rate, self.mean, self.distance = rate, 0.0, _distance

    def learn_one(self, x: dict[int, float]) -> None:
        self.mean += self.rate * (x[0] - self.mean)

    def score_one(self, x: dict[int, float]) -> float:
        return self.distance(x[0], self.mean)


def _distance(one: float, other: float) -> float:
    return abs(one - other)


class Mean:
    """Fitted at once: the distance from the mean."""

    def fit(self, x: Any) -> None:
        self.mean = x.mean(0)

    def decision_function(self, x: Any) -> Any:
        return np.linalg.norm(x - self.mean, axis=1)


class Jump:
    """A monitor that signals once three values above 3 have come."""

    def __init__(self, after: int = 3) -> None:
        self.after, self.seen, self.drift_detected = after, 0, False

    def update(self, x: float) -> None:
        self.seen += x > 3
        self.drift_detected = self.seen >= self.after


def make_stream(batch: int = 20, n: int = 120) -> Stream:
    rng = np.random.default_rng(1)
    parts = []
    for k, centre in enumerate((0.0, 8.0, 0.0)):
        test = np.concatenate([rng.normal(centre, 1, (20, 2)), rng.normal(centre + 20, 1, (5, 2))])
        parts.append((f"c{k}", rng.normal(centre, 1, (n, 2)), test, [0] * 20 + [1] * 5))
    return stream_from_concepts(parts, scenario="concept-agnostic", batch=batch)


def learner(name: str, options: dict[str, Any], stream: Stream) -> Any:
    return make_learner(name, options, Setting.of(stream), derive(0))


def killed_and_whole(tmp_path: Path, name: str, options: dict[str, Any], stream: Stream) -> list[bytes]:
    run_protocol(learner(name, options, stream), stream, tmp_path / "whole", name=name)
    broken = iter_run(learner(name, options, stream), stream, tmp_path / "broken", name=name)
    for _ in range(7):
        next(broken)
    broken.close()
    run_protocol(learner(name, options, stream), stream, tmp_path / "broken", name=name)
    return [(tmp_path / which / "rows.jsonl").read_bytes() for which in ("whole", "broken")]


@pytest.mark.parametrize(
    "detector",
    [
        {"HalfSpaceTrees": {"n_trees": 2, "height": 4}},
        "river:OneClassSVM",
        {"LODA": {"n_random_cuts": 5}},
        {"QuantileFilter": {"anomaly_detector": {"HalfSpaceTrees": {"n_trees": 2, "height": 3}}, "q": 0.9}},
    ],
)
def test_river_goes_on_bit_for_bit(tmp_path: Path, detector: Any) -> None:
    needs_river()
    whole, broken = killed_and_whole(tmp_path, "naive", {"detector": detector}, make_stream(batch=40))
    assert whole == broken


def test_one_by_one_is_the_obvious_loop() -> None:
    made = make_detector(parse(Nearest), 2, derive(0), contamination=0.1)
    assert np.isnan(made.score(np.zeros((2, 2)))).all()
    x = RNG.normal(size=(30, 2))
    made.update(x)
    own = Nearest()
    for row in x:
        own.learn_one(dict(enumerate(row.tolist())))
    assert made.score(x).tolist() == [own.score_one(dict(enumerate(row.tolist()))) for row in x]
    assert made.threshold == pytest.approx(np.percentile(made.score(x), 90))


def test_a_filter_brings_its_own_alarms() -> None:
    needs_river()
    from river import anomaly

    x = np.random.default_rng(2).random((400, 3))
    spec = parse({"QuantileFilter": {"anomaly_detector": "HalfSpaceTrees", "q": 0.8}})
    made = make_detector(spec, 3, derive(0), contamination=0.1)
    made.update(x)
    river = anomaly.QuantileFilter(anomaly.HalfSpaceTrees(seed=derive(0).learner), q=0.8)
    for row in x.tolist():
        river.learn_one(dict(enumerate(row)))
    scores = made.score(x)
    assert scores.tolist() == [river.score_one(dict(enumerate(row))) for row in x.tolist()]
    assert (scores > made.threshold).tolist() == [river.classify(score) for score in scores.tolist()]


class Evil:
    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.place),)


def test_a_program_that_the_user_has_not_signed_is_not_run(tmp_path: Path) -> None:
    stream = make_stream()
    options = {"detector": Nearest}
    running = iter_run(learner("naive", options, stream), stream, tmp_path / "run", name="naive")
    for _ in range(4):
        next(running)
    running.close()
    place = tmp_path / "run" / "checkpoint.bin"
    from recollect.runs.seals import open_checkpoint, seal_checkpoint

    good = place.read_bytes()
    content = checkpoint.decode(open_checkpoint(good))
    assert holds_program(content["state"])
    body = pickle.dumps({"thing": Evil(tmp_path / "hacked")}, protocol=4)
    content["state"]["lazy"]["detector"]["model"] = {PROGRAM: pickle.dumps(([], body), protocol=4)}
    place.write_bytes(seal_checkpoint(checkpoint.encode(content)))
    with pytest.raises(UsageError, match="you have not signed it"):
        run_protocol(learner("naive", options, stream), stream, tmp_path / "run", name="naive")
    assert not (tmp_path / "hacked").exists()
    place.write_bytes(good)
    signing.key_file().unlink()  # another user's key, or another machine's
    with pytest.raises(UsageError, match="Start the run over"):
        run_protocol(learner("naive", options, stream), stream, tmp_path / "run", name="naive")


def test_the_key_is_the_users_alone() -> None:
    signature = signing.sign("ab")
    assert signing.is_own("ab", signature)
    assert not signing.is_own("ac", signature)
    assert not signing.is_own("ab", None)
    place = signing.key_file()
    assert place.stat().st_mode & 0o777 == 0o600
    place.chmod(0o640)
    with pytest.raises(UsageError, match="not yours alone"):
        signing.sign("ab")


def test_without_checkpoints_nothing_is_saved_and_a_kill_starts_anew(tmp_path: Path) -> None:
    stream = make_stream()

    class Unsaved(Nearest):
        def __init__(self) -> None:
            super().__init__()
            self.file = open(os.devnull)  # noqa: SIM115

        def __del__(self) -> None:
            self.file.close()

    options = {"detector": Unsaved}
    with pytest.raises(UsageError, match="checkpoints: off"):
        run_protocol(learner("naive", options, stream), stream, tmp_path / "saved", name="naive")
    running = iter_run(learner("naive", options, stream), stream, tmp_path / "run", name="naive", checkpoints=False)
    for _ in range(4):
        next(running)
    assert not list((tmp_path / "run").glob("checkpoint*"))
    running.close()
    rows = iter_run(learner("naive", options, stream), stream, tmp_path / "run", name="naive", checkpoints=False)
    assert next(rows).after == -1
    assert len(list(rows)) == stream.n_sections
    assert read_run(tmp_path / "run").rows[3].state is None


def test_what_is_kept_comes_back() -> None:
    made = Nearest()
    made.learn_one({0: 4.0})
    state = keep(made)
    again = bring_back(state, Nearest())
    assert (again.mean, keep(again)) == (made.mean, state)


@pytest.mark.parametrize("monitor", ["ADWIN", "KSWIN", "PageHinkley"])
def test_drifts_are_found_and_runs_with_them_go_on_bit_for_bit(tmp_path: Path, monitor: str) -> None:
    needs_river()
    options = {"detector": Mean, "monitor": monitor, "settling": 30, "recent": 60}
    stream = make_stream(batch=40, n=200)
    whole, broken = killed_and_whole(tmp_path, "drift", options, stream)
    assert whole == broken
    run = read_run(tmp_path / "whole")
    signals = [step for row in run.rows for step in row.signals]
    assert 200 < signals[0] < 320
    assert run.cost["drifts_missed"] <= 1
    assert run.cost["drift_delay_samples"] < 120


def test_after_a_drift_the_detector_knows_the_new_samples_alone() -> None:
    stream = make_stream(batch=30)
    made = learner("drift", {"detector": Mean, "monitor": Jump, "settling": 20, "recent": 50}, stream)
    for batch in stream.batches(seed=0):
        if batch.number == 6:
            break
        made.learn(batch)
    assert len(made.signals) == 1
    step = made.signals[0]
    assert 120 < step <= 130
    rows = np.concatenate([batch.x for batch in stream.batches(seed=0)])
    assert np.array_equal(made.lazy.kept, rows[step - 1 : 180])


def test_a_held_back_part_sets_the_threshold_and_is_not_learned() -> None:
    stream = make_stream(batch=100)
    batch = next(stream.batches(seed=0))
    made = learner("naive", {"detector": "IsolationForest", "held_back": 0.25, "quantile": 0.96}, stream)
    made.learn(batch)
    made.settle()
    held = np.linspace(0, 99, 25).astype(int)
    kept = np.setdiff1d(np.arange(100), held)
    alone = make_detector(parse("IsolationForest"), 2, derive(0), contamination=0.04)
    alone.fit(batch.x[kept])
    assert made.lazy.threshold == np.percentile(alone.score(batch.x[held]), 96)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("drift", {"monitor": "ADWINN"}, "the nearest is 'ADWIN'"),
        ("drift", {"monitor": Nearest}, "A monitor has update"),
        ("naive", {"detector": dict}, "A detector has fit"),
        ("naive", {"detector": object()}, "learn_one"),
        ("naive", {"quantile": 0.3}, "from 0.5"),
        ("naive", {"quantile": 0.9, "contamination": 0.2}, "beside contamination"),
        ("naive", {"held_back": 1.0}, "to below 1"),
    ],
)
def test_mistakes_are_told(name: str, options: dict[str, Any], says: str) -> None:
    if "monitor" in options:
        needs_river()
    with pytest.raises(UsageError, match=says):
        learner(name, options, make_stream())


def test_an_experiment_file_may_switch_checkpoints_off(tmp_path: Path) -> None:
    from recollect.experiments.file import parse as read

    text = "{name: a, streams: [digits], learners: [random], seeds: 1, checkpoints: off}"
    assert read(text).checkpoints is False
    assert read(text.replace("off", "on")).checkpoints is True
    assert Plan(online=9).fading is None


def test_a_detector_of_another_shape_and_a_target_of_alarms_are_told() -> None:
    from recollect.protocol import iter_protocol

    class Wide(Mean):
        def decision_function(self, x: Any) -> Any:
            return x

    stream = make_stream()
    with pytest.raises(UsageError, match=r"Wide gives one score per row; of 20 rows it gave values of the shape"):
        list(iter_protocol(learner("naive", {"detector": Wide}, stream), stream, seed=0))

    class Words(Mean):
        def decision_function(self, x: Any) -> Any:
            return ["high"] * len(x)

    with pytest.raises(UsageError, match=r"Words gives one score per row, a number; it gave a list"):
        list(iter_protocol(learner("naive", {"detector": Words}, stream), stream, seed=0))

    class Speechless:
        def learn_one(self, x: Any) -> None: ...

        def score_one(self, x: Any) -> None: ...

    with pytest.raises(UsageError, match=r"Speechless gives no number for a sample; got None"):
        list(iter_protocol(learner("naive", {"detector": Speechless}, stream), stream, seed=0))

    class Silent:
        def learn(self, batch: Any) -> None: ...

        def score(self, x: Any, task: Any = None) -> Any:
            return np.zeros(len(x))

        def end_task(self) -> None: ...

    with pytest.raises(UsageError, match="The target f1 is of alarms, and the learner Silent sets no threshold"):
        next(iter_protocol(Silent(), stream, seed=0, target="f1"))  # type: ignore[arg-type]
