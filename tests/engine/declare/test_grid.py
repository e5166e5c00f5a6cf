"""Suites as products, and groups of runs that are fitted together."""

from dataclasses import dataclass, replace

import pytest

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.engine.declare.grid import Evaluation, Run, Suite, grouped
from bnnbench.methods.networks.architectures import Linear
from tests.suites.fakes import Line, Mean, Together
from tests.suites.miniature import QUICK

TWO_NETWORKS = (
    Case(Line(), (Linear(100),), "line-wide"),
    Case(Line(), (Linear(50),), "line-narrow"),
)
RUN = Run("miniature", "quick", "Mean", Case(Line(), (Linear(1),)), Mean(), fold=0, seed=0)


def test_a_suite_is_the_product_of_its_parts():
    suite = replace(QUICK, folds=3, seeds=2)
    found = {(run.label, run.fold, run.seed) for run in suite.runs()}
    expected = {(m, f, s) for m in ("Mean", "Slow", "Together") for f in range(3) for s in (0, 1)}
    assert found == expected
    assert len(list(suite.runs())) == len(expected)


def test_no_more_folds_are_taken_than_exist():
    suite = replace(QUICK, folds=99)
    assert {run.fold for run in suite.runs()} == {0, 1, 2, 3}


def test_each_case_has_its_own_network():
    wide, narrow = (Linear(100),), (Linear(50),)
    suite = replace(QUICK, cases=(Case(Line("protein"), wide), Case(Line(), narrow)))
    assert {(run.case.name, run.architecture) for run in suite.runs()} == {
        ("protein", wide),
        ("line", narrow),
    }


def test_one_source_may_be_shown_to_several_networks():
    runs = list(replace(QUICK, cases=TWO_NETWORKS).runs())
    assert {run.source for run in runs} == {Line()}
    assert {(run.case.name, run.architecture) for run in runs} == {
        ("line-wide", (Linear(100),)),
        ("line-narrow", (Linear(50),)),
    }
    assert len({run.key for run in runs}) == len(runs)


def test_equal_cases_by_other_names_are_refused():
    cases = (Case(Line(), (Linear(1),), "one"), Case(Line(), (Linear(1),), "other"))
    with pytest.raises(ValueError, match="'Mean' on 'one' and on 'other' are the same"):
        replace(QUICK, cases=cases)


def test_a_method_of_one_own_network_is_refused_where_cases_differ_in_network_alone():
    own = {"Mean": (Linear(7),)}
    with pytest.raises(ValueError, match="'Mean' on 'line-wide' and on 'line-narrow'"):
        replace(QUICK, cases=TWO_NETWORKS, own_architectures=own)
    by_case = {"Mean": {"line-wide": (Linear(7),), "default": (Linear(8),)}}
    suite = replace(QUICK, cases=TWO_NETWORKS, own_architectures=by_case)
    found = {(r.case.name, r.architecture) for r in suite.runs() if r.label == "Mean"}
    assert found == {("line-wide", (Linear(7),)), ("line-narrow", (Linear(8),))}


def test_cases_alike_but_for_the_settings_of_every_method_are_not_equal():
    cases = (Case(Line(), (), "plain"), Case(Line(), (), "shaken"))
    own = {"shaken": {"Mean": Mean(shake=0.5)}}
    suite = replace(QUICK, cases=cases, methods={"Mean": Mean()}, own_settings=own)
    assert len({run.key for run in suite.runs()}) == len(list(suite.runs()))
    with pytest.raises(ValueError, match="'Together' on 'plain' and on 'shaken' are the same"):
        replace(suite, methods={"Mean": Mean(), "Together": Together()})


@pytest.mark.parametrize("name", ["line", "LINE"])
def test_a_name_stands_for_one_case(name):
    with pytest.raises(ValueError, match="each case needs its own name"):
        replace(QUICK, cases=(Case(Line(), ()), Case(Line(rows=30), (), name)))


def test_a_method_may_have_networks_of_its_own():
    deep = {"protein": (Linear(7), Linear(1)), "default": (Linear(3), Linear(1))}
    suite = replace(
        QUICK,
        cases=cases_of((Line("protein"), Line()), (Linear(1),)),
        methods={"Mean": Mean(), "Deep mean": Mean()},
        own_architectures={"Deep mean": deep},
    )
    found = {(run.label, run.case.name): run.architecture for run in suite.runs()}
    assert found == {
        ("Mean", "protein"): (Linear(1),),
        ("Mean", "line"): (Linear(1),),
        ("Deep mean", "protein"): deep["protein"],
        ("Deep mean", "line"): deep["default"],
    }


def test_a_method_may_have_settings_of_its_own_for_a_case():
    suite = replace(
        QUICK,
        cases=cases_of((Line("protein"), Line()), ()),
        methods={"Mean": Mean(), "Together": Together()},
        own_settings={"protein": {"Mean": Mean(shake=0.5)}},
    )
    found = {(run.label, run.case.name): run.method for run in suite.runs()}
    assert found == {
        ("Mean", "protein"): Mean(shake=0.5),
        ("Mean", "line"): Mean(),
        ("Together", "protein"): Together(),
        ("Together", "line"): Together(),
    }
    with pytest.raises(ValueError, match="no method has the label Median"):
        replace(suite, own_settings={"protein": {"Median": Mean()}})


def test_a_run_says_whether_its_network_is_its_own():
    methods = {"Mean": Mean(), "Deep mean": Mean(2.0)}
    suite = replace(QUICK, methods=methods, own_architectures={"Deep mean": (Linear(1),)})
    own = {run.label: run.description.get("own_architecture") for run in suite.runs()}
    assert own == {"Mean": None, "Deep mean": True}


def test_networks_of_a_method_that_is_not_there_are_refused():
    with pytest.raises(ValueError, match="no method has the label Depe"):
        replace(QUICK, own_architectures={"Depe": (Linear(1),)})


@pytest.mark.parametrize(
    "change",
    [
        {"suite": "other"},
        {"profile": "paper"},
        {"case": replace(RUN.case, source=Line(rows=30))},
        {"method": Mean(shake=2.0)},
        {"case": replace(RUN.case, network=(Linear(2),))},
        {"fold": 1},
        {"seed": 1},
    ],
    ids=str,
)
def test_whatever_determines_a_fit_changes_the_key(change):
    assert replace(RUN, **change).key != RUN.key


@pytest.mark.parametrize(
    "change",
    [
        {"label": "Average"},
        {"case": replace(RUN.case, name="another")},
        {"case": replace(RUN.case, title="Another")},
    ],
    ids=str,
)
def test_what_a_run_is_called_is_no_part_of_the_key(change):
    assert replace(RUN, **change).key == RUN.key


def test_two_labels_of_one_method_are_refused():
    with pytest.raises(ValueError, match="'Mean' and 'Average' are the same method"):
        replace(QUICK, methods={"Mean": Mean(), "Average": Mean()})


def test_groups_hold_every_run_once_and_in_order():
    runs = list(replace(QUICK, folds=4, seeds=3).runs())
    groups = grouped(iter(runs), size=5)
    assert [run for group in groups for run in group] == runs


def test_only_methods_that_fit_many_are_grouped_and_only_with_their_like():
    suite = Suite(
        name="s",
        title="",
        cases=cases_of((Line("a"), Line("b")), ()),
        methods={"Mean": Mean(), "One": Together(), "Two": Together(diverges_at=9.0)},
        evaluations=(Evaluation(Clean(), ("rmse",)),),
        folds=4,
    )
    groups = grouped(suite.runs(), size=3)
    assert max(len(group) for group in groups) == 3
    for group in groups:
        assert len({(run.source, run.method) for run in group}) == 1
        assert len(group) == 1 or isinstance(group[0].method, Together)


def test_a_condition_without_traits_is_refused_when_the_suite_is_declared():
    @dataclass(frozen=True)
    class Dim:
        name: str = "dim"

    evaluation = Evaluation(Clean(), ("rmse",))
    object.__setattr__(evaluation, "condition", Dim())  # circumvents the tests' own checks of types
    with pytest.raises(TypeError, match="Dim is not a test condition: it lacks"):
        replace(QUICK, evaluations=(evaluation,))
