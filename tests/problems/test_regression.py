"""Regression: the third problem. The same learners, streams, records and reports; errors are better when lower."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from typer.testing import CliRunner

from recollect.cli import build
from recollect.errors import UsageError
from recollect.learners import LEARNERS, Setting, make_learner, wrap, wrap_module, wrap_sklearn
from recollect.metrics import registry
from recollect.problems import problem_of
from recollect.problems.regression import mae, r2, rmse
from recollect.protocol import iter_protocol, iter_run, run_protocol
from recollect.runs.run import Plan
from recollect.runs.seeds import derive
from recollect.streams import make_stream, stream_from_values

NETWORKS = [name for name, card in LEARNERS.items() if "regression" in card.problems and "arrays" in card.samples]
QUICK = {"memory": 20, "samples": 10, "epochs": 2, "lr": 0.01}


def quick(name: str) -> dict[str, Any]:
    return {key: value for key, value in QUICK.items() if key in LEARNERS[name].defaults}


def stream(**options: Any) -> Any:
    """Two domains with slopes of their own."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    by = np.repeat(["a", "b"], 30)
    y = 100 + 20 * np.where(by == "a", x[:, 0], x[:, 1])
    given = {"by_train": by, "by_test": by[::2], "batch": 7, **options}
    return stream_from_values(x, y, x[::2], y[::2], name="slopes", **given)


class Scripted:
    """Predicts the truth plus an error that depends on how many tasks are over and whose sample it is."""

    stored_samples = stored_bytes = 0

    def __init__(self, errors: list[list[float]]) -> None:
        self.errors, self.over = errors, 0

    def learn(self, batch: Any) -> None:
        pass

    def score(self, x: Any, task: Any = None) -> Any:
        return x[:, 0] + np.asarray(self.errors[self.over])[x[:, 1].astype(int)]

    def end_task(self) -> None:
        self.over += 1

    def state(self) -> dict[str, Any]:
        return {"over": self.over}

    def restore(self, state: dict[str, Any]) -> None:
        self.over = state["over"]


def scripted_run(folder: Path, target: str) -> Any:
    """Errors of 9, 8 before training; then 2, 7 after the first task and 5, 1 after the second."""
    x = np.array([[10.0, 0], [14, 0], [30, 1], [36, 1]])
    made = stream_from_values(x, x[:, 0], x, x[:, 0], by_train=[0, 0, 1, 1], by_test=[0, 0, 1, 1], name="script")
    return run_protocol(Scripted([[9, 8], [2, 7], [5, 1]]), made, folder, name="scripted", target=target)


@pytest.mark.parametrize("target", ["rmse", "mae"])
def test_lower_is_better_turns_every_sign_once(tmp_path: Path, target: str) -> None:
    """By hand, of R = [[2, 7], [5, 1]] and b = [9, 8]: what got worse is a positive number of forgetting."""
    run = scripted_run(tmp_path / "r", target)
    assert (run.metric, run.unit, run.higher_is_better) == (target, "raw", False)
    assert run.matrix.R.tolist() == [[2, 7], [5, 1]]
    expected = {
        "acc.average": (5 + 1) / 2,
        "acc.learning": (2 + 1) / 2,
        "acc.incremental": (2 + 3) / 2,
        "forgetting.chaudhry2018": 5 - 2,
        "forgetting.first": 5 - 2,
        "forgetting.begin_docs": -(5 - 2) / 2,
        "bwt.lopezpaz2017": -(5 - 2),
        "bwt.diazrodriguez2018": -(5 - 2),
        "fwt.lopezpaz2017": 8 - 7,  # the error on the second task fell before it was trained
        "fwt.begin_docs": (8 - 7) / 2,
    }
    for id, value in expected.items():
        assert registry.get(id)(run.matrix) == pytest.approx(value), id


def test_a_share_of_variance_is_better_when_higher(tmp_path: Path) -> None:
    run = scripted_run(tmp_path / "r", "r2")
    # Variances 4 and 9; squared errors 4, 49 and 25, 1.
    np.testing.assert_allclose(run.matrix.R, [[0, 1 - 49 / 9], [1 - 25 / 4, 1 - 1 / 9]])
    assert registry.get("forgetting.chaudhry2018")(run.matrix) == pytest.approx(25 / 4 - 1)
    assert run.higher_is_better
    others = {measure.name: measure.higher_is_better for measure in run.targets}
    assert others == {"rmse": False, "mae": False}


def test_targets_are_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    truth, given = rng.normal(5, 3, 50), rng.normal(5, 3, 50)
    assert mae(truth, given) == pytest.approx(mean_absolute_error(truth, given))
    assert rmse(truth, given) == pytest.approx(root_mean_squared_error(truth, given))
    assert r2(truth, given) == pytest.approx(r2_score(truth, given))
    assert rmse(truth, truth) == 0
    huge = np.array([1e200, -1e200])
    assert rmse(huge, -huge) == pytest.approx(2e200)
    assert r2(huge, huge) == 1


def of_test_set(y_test: list[float], errors: list[float] | None = None) -> Any:
    """The first row of a learner that predicts 0, on one task with this test set."""
    x = np.zeros((len(y_test), 2))
    made = stream_from_values([[0.0, 0]], [1.0], x, y_test, by_train=["a"], by_test=["a"] * len(y_test), name="one")
    return next(iter_protocol(Scripted([[0.0, 0]]), made, seed=0))


@pytest.mark.parametrize("y", [[5.0], [3.0, 3.0, 3.0], [0.1, 0.1, 0.1], [0.0, 0.0]])
def test_where_the_truth_does_not_vary_there_is_no_r2_and_a_reason(y: list[float]) -> None:
    row = of_test_set(y)
    assert row.scores["r2"] == (None,)
    assert "true values that differ" in row.reasons["r2"]["a"]
    assert row.scores["rmse"][0] == pytest.approx(math.sqrt(np.square(y).mean()))
    assert row.scores["mae"][0] == pytest.approx(np.abs(y).mean())


def test_predictions_that_are_no_numbers_have_a_reason() -> None:
    class Broken(Scripted):
        def score(self, x: Any, task: Any = None) -> Any:
            return np.where(np.arange(len(x)) == 0, np.inf, 0.0)

    row = next(iter_protocol(Broken([[0, 0]]), stream(), seed=0))
    assert row.scores["rmse"] == (None, None)
    assert row.reasons["rmse"]["a"] == "1 of 15 scores are NaN or infinite: the learner diverged"


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, 3.0], "y_train is NaN or infinite for 1 of 3 samples, the first of them 1"),
        ([1.0, np.inf, np.nan], "NaN or infinite for 2 of 3 samples"),
        ([None, 1.0, 2.0], "NaN or infinite for 1 of 3 samples|one number per sample"),
        (["a", "b", "c"], "one number per sample"),
        ([[1, 2], [3, 4], [5, 6]], r"one number per sample, at least one; got the shape \(3, 2\)"),
        ([], "at least one"),
        ([1.0, 2.0], "got 3 inputs and 2 labels"),
    ],
)
def test_targets_that_are_none_are_refused(y: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stream_from_values(np.zeros((3, 1)), y, np.zeros((1, 1)), [1.0], tasks=1)


def test_constant_targets_are_learned() -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    y = np.full(40, 7.0)
    made = stream_from_values(x, y, x, y, tasks=1, passes=5, name="flat")
    assert made.value_scale == (7.0, 1.0)
    learner = make_learner("finetune", {"lr": 0.05}, Setting.of(made), derive(0), "cpu")
    *_, last = iter_protocol(learner, made, seed=0)
    assert last.scores["rmse"][0] < 0.2


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_learn_and_go_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    def new() -> Any:
        return make_learner(name, quick(name), Setting.of(made), derive(0), "cpu")

    made = stream(passes=4)
    plan = {"plan": Plan(rows=(1,))} if LEARNERS[name].evaluated == "end" else {}
    whole = run_protocol(new(), made, tmp_path / "whole", name=name, **plan)
    R = whole.matrix.R
    assert (R[-1] < whole.matrix.b).all()
    for stop in range(1, len(whole.rows)):
        rows = iter_run(new(), made, tmp_path / f"cut{stop}", name=name, **plan)
        for _ in range(stop):
            next(rows)
        rows.close()
        run_protocol(new(), made, tmp_path / f"cut{stop}", name=name, **plan)
        assert (tmp_path / f"cut{stop}" / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()


def test_the_classes_are_those_of_classification() -> None:
    assert {"finetune", "er", "ewc", "joint_incremental"} <= set(NETWORKS)
    assert all("classification" in LEARNERS[name].problems for name in NETWORKS)
    with pytest.raises(
        UsageError, match="'lwf' is for classification and properties, and the stream asks for regression"
    ):
        make_learner("lwf", {}, Setting.of(stream()), derive(0))


def test_predictions_are_in_the_unit_of_the_targets_and_the_loss_is_not() -> None:
    made = stream()
    mean, deviation = made.value_scale
    first = made.values[0][:30]
    assert (mean, deviation) == pytest.approx((first.mean(), first.std()))
    learner: Any = make_learner("finetune", {}, Setting.of(made), derive(0), "cpu")
    x = np.ones((4, 3), np.float32)
    with torch.no_grad():
        outputs = learner.network(torch.from_numpy(x))
        truth = torch.tensor([90.0, 100, 110, 120], dtype=torch.float64)
        expected = (((outputs[:, 0] * deviation + mean) - truth) / deviation).square().mean()
        assert learner.loss(outputs, truth).item() == pytest.approx(expected.item(), rel=1e-5)
    np.testing.assert_allclose(learner.score(x), outputs[:, 0].numpy() * deviation + mean, rtol=1e-5)


def test_the_fisher_information_of_a_value_by_hand() -> None:
    """Under a Gaussian it is the squared gradient of the output: of a linear layer, the squared input."""
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 2, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    setting = Setting((2,), 0, ((), ()), problem="regression")
    ewc: Any = wrap_module(layer, setting, derive(0), "ewc", device="cpu")
    assert ewc.importance_of(torch.tensor([[1.0, 3.0]]), 5.0)[0].tolist() == [[1.0, 9.0]]


def test_an_sgd_regressor_is_the_one_trained_by_hand() -> None:
    made = stream(passes=2)
    learner = wrap_sklearn(SGDRegressor(random_state=0), Setting.of(made))
    *_, last = iter_protocol(learner, made, seed=3)
    by_hand = SGDRegressor(random_state=0)
    for batch in made.batches(3):
        by_hand.partial_fit(batch.x, batch.y)
    for task in range(2):
        x, y = made.test_of(task)
        assert last.scores["rmse"][task] == pytest.approx(root_mean_squared_error(y, by_hand.predict(x)))


def test_each_kind_of_estimator_is_for_its_problem() -> None:
    with pytest.raises(UsageError, match=r"A regressor was expected, .* SGDClassifier has no such methods"):
        wrap_sklearn(SGDClassifier(), Setting.of(stream()))
    with pytest.raises(UsageError, match="A classifier was expected"):
        wrap_sklearn(SGDRegressor(), Setting((2,), 2, ((0, 1),)))
    with pytest.raises(UsageError, match="one number to predict"):
        wrap_module(lambda: torch.nn.Linear(3, 2), Setting.of(stream()), derive(0), device="cpu")


def test_an_object_of_the_user_gives_one_number_per_sample() -> None:
    class Mean:
        def learn(self, batch: Any) -> None:
            self.mean = float(batch.y.mean())

        def score(self, x: Any) -> Any:
            return np.full(len(x), getattr(self, "mean", 0.0))

    rows = list(iter_protocol(wrap(Mean(), Setting.of(stream())), stream(), seed=0))
    assert rows[-1].scores["rmse"][0] < rows[0].scores["rmse"][0]

    class Wide(Mean):
        def score(self, x: Any) -> Any:
            return np.zeros((len(x), 2))

    with pytest.raises(UsageError, match=r"Wide.score gives one number per sample, here \(15,\); got \(15, 2\)"):
        list(iter_protocol(wrap(Wide(), Setting.of(stream())), stream(), seed=0))


def test_the_fingerprint_knows_the_values() -> None:
    x = np.arange(6.0)[:, None]
    y = np.arange(6.0)

    def print_of(train: Any, test: Any) -> str:
        return str(stream_from_values(x, train, x, test, tasks=1, name="f").fingerprint)

    assert print_of(y, y) == print_of(y, y)
    assert len({print_of(y, y), print_of(y + 1, y), print_of(y, y + 1)}) == 3


def test_domains_by_name_by_range_and_by_time() -> None:
    assert [task.name for task in stream().tasks] == ["a", "b"]
    x, by = np.arange(40.0)[:, None], np.arange(40)[::-1]
    ranges = stream_from_values(x, x[:, 0], x, x[:, 0], by_train=by, by_test=by, tasks=4, name="r")
    assert [sorted(by[task.train]) == list(range(10 * k, 10 * k + 10)) for k, task in enumerate(ranges.tasks)] == [
        True
    ] * 4
    assert ranges.scenario == "domain-incremental"
    in_time = stream_from_values(
        x, x[:, 0], x, x[:, 0], by_train=by, by_test=by, tasks=4, scenario="time-incremental", name="t"
    )
    values = np.concatenate([batch.y for batch in in_time.batches(0)])
    assert values.tolist() == sorted(values.tolist(), reverse=True)  # unshuffled: by runs backwards
    permuted = stream_from_values(x, x[:, 0], x, x[:, 0], tasks=3, name="p")
    assert len(permuted.tasks) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes_per_task": 2}, "classes_per_task is about classes, and a stream of values has none"),
        ({"blurry": 0.5}, "blurry is about classes"),
        ({"scenario": "class-incremental"}, "domain-incremental or time-incremental; got class-incremental"),
        ({"by_test": ["a"] * 29 + ["c"]}, "The domain b has training and no test samples|The domain c"),
        ({"by_test": None}, "come together; by_test is missing"),
        ({"by_test": ["a"]}, "for each of 30 samples"),
        ({"tasks": 3}, "There are 2 domains, and tasks = 3"),
        ({"taks": 3}, "no option 'taks'; did you mean 'tasks'"),
    ],
)
def test_wrong_options_of_a_stream_of_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stream(**options)


def test_files_and_diabetes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, site = rng.normal(size=(50, 2)), np.array(["north", "south"] * 25)
    price = 3 * x[:, 0]
    lines = [f"{a},{b},{p},{s}" for (a, b), p, s in zip(x, price, site, strict=True)]
    (tmp_path / "houses.csv").write_text("\n".join(["size,rooms,price,site", *lines]))
    made = make_stream(str(tmp_path / "houses.csv"), predict="price", by="site", test_fraction=0.4)
    assert [(task.name, made.problem) for task in made.tasks] == [("north", "regression"), ("south", "regression")]
    assert made.input_shape == (2,)
    assert sum(len(task.test) for task in made.tasks) == 20
    np.savez(tmp_path / "houses.npz", X=x, price=price, site=site, split=[0] * 40 + [1] * 10)
    other = make_stream(str(tmp_path / "houses.npz"), predict="price", by="site")
    assert sum(len(task.test) for task in other.tasks) == 10
    with pytest.raises(UsageError, match="no column 'prise'; did you mean 'price'"):
        make_stream(str(tmp_path / "houses.csv"), predict="prise", by="site")
    with pytest.raises(UsageError, match="Features are numbers; 'site'"):
        make_stream(str(tmp_path / "houses.csv"), predict="price", tasks=2)
    diabetes = make_stream("diabetes", by="age", tasks=4)
    assert sum(len(task.train) + len(task.test) for task in diabetes.tasks) == 442
    assert 25 <= diabetes.values[0].min() <= diabetes.values[0].max() <= 346


def test_commands_know_the_direction(tmp_path: Path) -> None:
    run = str(tmp_path / "r")
    scripted_run(tmp_path / "r", "rmse")
    for words, code in (
        (["check", run, "--max", "acc.average=3.5", "--max", "forgetting.chaudhry2018=3.5"], 0),
        (["check", run, "--max", "forgetting.chaudhry2018=2.5"], 1),
        (["score", run, "--target", "r2"], 0),
        (["report", run, "-o", str(tmp_path / "page.html")], 0),
    ):
        assert CliRunner().invoke(build(words[:1]), words).exit_code == code, words
    assert "RMSE" in (tmp_path / "page.html").read_text()
    assert problem_of("regression").target().name == "rmse"
