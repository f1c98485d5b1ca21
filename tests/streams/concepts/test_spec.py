import numpy as np
import pytest

from recollect.errors import UsageError
from recollect.streams.concepts.spec import ConceptSpec, SourceSpec, concept_options, read_options


def test_the_default_is_concept_incremental_a_visit_a_batch():
    spec, source = read_options({})
    assert (spec.scenario, spec.batch, spec.order, spec.visits) == ("concept-incremental", None, "natural", 1)
    assert source == SourceSpec()


def test_lists_stand_for_tuples():
    spec, source = read_options({"order": ["a", "b"], "visits": [0, 1, 0], "features": ["x"]})
    assert (spec.order, spec.visits, source.features) == (("a", "b"), (0, 1, 0), ("x",))


def test_options_may_be_numpy_s():
    spec, source = read_options(
        {"batch": np.int64(4), "order": np.array(["b", "a"]), "test_fraction": np.float32(0.5), "subset": np.int8(9)}
    )
    assert (spec.batch, spec.order, source.test_fraction, spec.limit("train")) == (4, ("b", "a"), 0.5, 9)


def test_the_names_of_the_options():
    names = concept_options()
    assert len(set(names)) == len(names)
    assert {"scenario", "batch", "class_order_seed", "visits", "n_concepts", "window", "label_column"} <= {*names}


def test_a_limit_is_for_training_unless_said_otherwise():
    assert (ConceptSpec(subset=5).limit("train"), ConceptSpec(subset=5).limit("test")) == (5, None)
    assert ConceptSpec(subset={"test": 3}).limit("test") == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scenario": "class-incremental"}, "scenario is one of concept-aware"),
        ({"scenario": "concept-agnostc", "batch": 5}, "Did you mean 'concept-agnostic'"),
        ({"scenario": "concept-agnostic"}, "give batch"),
        ({"batch": 0}, "batch is a whole number of at least 1; got 0"),
        ({"batch": True}, "batch is a whole number"),
        ({"order": "simlarity"}, "Did you mean 'similarity'"),
        ({"order": []}, "order is a list of names, not empty"),
        ({"visits": 0}, "visits is a whole number of at least 1"),
        ({"visits": [1.5]}, "visits is a list of names"),
        ({"class_order_seed": -1}, "A seed is a whole number"),
        ({"subset": {"valid": 3}}, "subset limits the 'train' and 'test' rows"),
        ({"subset": 0}, r"subset \(train\) is a whole number"),
        ({"standardize": "yes"}, "standardize is true or false"),
        ({"concepts": "cluster"}, "Did you mean 'clusters'"),
        ({"anomalies": "all"}, "anomalies is one of spread, nearest"),
        ({"test_fraction": 1}, "test_fraction is a fraction between 0 and 1; got 1"),
        ({"anomaly_share": 0}, "anomaly_share is a fraction"),
        ({"unit_range": 1}, "unit_range is true or false"),
        ({"contaminated": None}, "contaminated is true or false"),
        ({"label_column": 3}, "label_column is the name of a column"),
        ({"stride": 0}, "stride is a whole number"),
        ({"window_label": "first"}, "window_label is last or any, or a part above 0"),
        ({"window_label": 0}, "window_label is last or any"),
        ({"windw": 3}, "no option 'windw'; did you mean 'window'"),
        ({"tasks": 5}, "no option 'tasks'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(UsageError, match=message):
        read_options(options)
