"""Names: ids, aliases, families, and help when a name is wrong."""

from __future__ import annotations

import pytest

import recollect as rc
from recollect.errors import UsageError
from recollect.metrics import registry
from recollect.metrics.formula import readable
from recollect.metrics.registry import ALIASES

CATALOGUE = {
    "acc": "average incremental continual_average learning pooled minimum worst_case",
    "forgetting": "chaudhry2018 begin_docs first peak_any pycil raptormai clsurvey pyclad_code relative",
    "bwt": "diazrodriguez2018 lopezpaz2017 gem_code pyclad_code positive remembering",
    "fwt": "diazrodriguez2018 begin_docs lopezpaz2017 continuum",
    "intransigence": "begin chaudhry2018",
    "raa": "michel2023",
    "uraa": "michel2023",
    "raf": "michel2023",
    "uraf": "michel2023",
    "anytime": "average auc windowed_forgetting windowed_plasticity",
    "split": "lost confusion",
}

MATRIX = rc.ScoreMatrix([[0.8, 0.1], [0.6, 0.9]])


def test_the_catalogue_is_complete():
    assert {f"{family}.{name}" for family, names in CATALOGUE.items() for name in names.split()} <= set(
        registry.all_ids()
    )


def test_an_id_is_where_its_name_says():
    for id in registry.all_ids():
        family, dialect = id.split(".")
        assert getattr(getattr(rc.metrics, family), dialect) is registry.get(id)


@pytest.mark.parametrize(
    ("alias", "id"),
    [
        ("bwt.pyclad", "bwt.diazrodriguez2018"),
        ("fwt.pyclad", "fwt.diazrodriguez2018"),
        ("acc.ap", "acc.average"),
        ("acc.ca", "acc.continual_average"),
        ("forgetting.af", "forgetting.chaudhry2018"),
    ],
)
def test_an_alias_resolves_and_says_so(alias, id):
    score = rc.score(MATRIX, alias)
    assert score == rc.score(MATRIX, id)
    assert score.id == id
    assert score.notes == (f"{alias} is an alias of {id}",)


def test_no_alias_hides_an_id():
    assert not set(ALIASES) & set(registry.all_ids())
    assert set(ALIASES.values()) <= set(registry.all_ids())


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("forgetting.chaudry2018", "forgetting.chaudhry2018"),
        ("raf.michel", "raf.michel2023"),
        ("acc.avrage", "acc.average"),
        ("forgeting", "forgetting"),
    ],
)
def test_an_unknown_id_suggests_the_nearest(wrong, meant):
    with pytest.raises(UsageError, match=rf"unknown metric '{wrong}'\. Did you mean {meant}\?"):
        rc.score(MATRIX, wrong)


def test_a_name_like_nothing_suggests_nothing():
    with pytest.raises(UsageError, match=r"unknown metric '%%'\. `recollect metrics` lists"):
        registry.get("%%")


@pytest.mark.parametrize("family", list(registry.families()))
def test_a_family_is_not_a_metric(family):
    with pytest.raises(UsageError, match=f"'{family}' is a family, not a definition: choose one of {family}"):
        rc.score(MATRIX, family)


def test_resolve():
    assert [m.card.id for m in registry.resolve("all")] == registry.all_ids()
    assert [m.card.id for m in registry.resolve("raa")] == ["raa.michel2023"]
    assert [m.card.id for m in registry.resolve("acc.ca")] == ["acc.continual_average"]
    with pytest.raises(UsageError):
        registry.resolve("everything")


def test_families_hold_every_id_once():
    assert sorted(id for ids in registry.families().values() for id in ids) == sorted(registry.all_ids())


@pytest.mark.parametrize("call", [rc.score, lambda m, id, **p: rc.metrics.dialects(m, "acc", **p)])
def test_a_misspelt_parameter_is_not_ignored(call):
    with pytest.raises(UsageError, match="unknown parameter 'refrence'"):
        call(MATRIX, "acc.average", refrence="joint")


def test_a_function_refuses_what_a_matrix_does_not_take():
    with pytest.raises(UsageError, match=r"acc\.average: .*'n_klasses'"):
        rc.metrics.acc.average([[0.5]], n_klasses=[2])
    with pytest.raises(UsageError, match="a ScoreMatrix carries its own n_classes"):
        rc.metrics.raa.michel2023(MATRIX, n_classes=[2, 2])
    assert rc.metrics.acc.average(MATRIX) == 0.75


@pytest.mark.parametrize("id", registry.all_ids())
def test_the_terminal_shows_no_latex(id):
    shown = readable(registry.get(id).card.latex)
    assert "\\" not in shown
    assert shown.count("{") == shown.count("}")
    assert "_\N{COMBINING MACRON}" not in shown
    assert not shown.startswith("{")


def test_marks_of_a_formula_have_their_text():
    assert readable(r"\overline{R}_{B_jj}-1") == "R\N{COMBINING MACRON}_{B_jj} - 1"
    assert readable(r"\arg\max_{j\le l}R_{lj}") == "arg max_{j≤l} R_{lj}"
    assert readable(r"\frac{\mathrm{AA}_k}{n}") == "AA_k/n"
