"""Suites as products, and which runs are fitted together."""

from dataclasses import replace

import pytest

from bnnbench.datasets.conditions.base import Clean
from bnnbench.methods.networks.architectures import Linear
from bnnbench.suites.engine.declare.grid import Evaluation, Run, Suite, grouped
from tests.suites.fakes import Line, Mean, Together
from tests.suites.miniature import QUICK

RUN = Run("miniature", "quick", "Mean", Line(), Mean(), (Linear(1),), fold=0, seed=0)


def test_a_suite_is_the_product_of_its_parts():
    suite = replace(QUICK, folds=3, seeds=2)
    found = {(run.label, run.fold, run.seed) for run in suite.runs()}
    expected = {(m, f, s) for m in ("Mean", "Slow", "Together") for f in range(3) for s in (0, 1)}
    assert found == expected
    assert len(list(suite.runs())) == len(expected)


def test_no_more_folds_are_taken_than_exist():
    suite = replace(QUICK, folds=99)
    assert {run.fold for run in suite.runs()} == {0, 1, 2, 3}


def test_each_source_has_its_own_network():
    wide, narrow = (Linear(100),), (Linear(50),)
    networks = {"protein": wide, "default": narrow}
    suite = replace(QUICK, sources=(Line("protein"), Line()), architecture=networks)
    assert {(run.source.name, run.architecture) for run in suite.runs()} == {
        ("protein", wide),
        ("line", narrow),
    }


def test_a_suite_that_names_every_source_needs_no_default_network():
    networks = {"protein": (Linear(100),), "line": (Linear(50),)}
    suite = replace(QUICK, sources=(Line("protein"), Line()), architecture=networks)
    assert {(run.source.name, run.architecture) for run in suite.runs()} == set(networks.items())


def test_a_method_may_have_networks_of_its_own():
    deep = {"protein": (Linear(7), Linear(1)), "default": (Linear(3), Linear(1))}
    suite = replace(
        QUICK,
        sources=(Line("protein"), Line()),
        methods={"Mean": Mean(), "Deep mean": Mean()},
        architecture=(Linear(1),),
        own_architectures={"Deep mean": deep},
    )
    found = {(run.label, run.source.name): run.architecture for run in suite.runs()}
    assert found == {
        ("Mean", "protein"): (Linear(1),),
        ("Mean", "line"): (Linear(1),),
        ("Deep mean", "protein"): deep["protein"],
        ("Deep mean", "line"): deep["default"],
    }


def test_a_method_may_have_settings_of_its_own_for_a_source():
    suite = replace(
        QUICK,
        sources=(Line("protein"), Line()),
        methods={"Mean": Mean(), "Together": Together()},
        own_settings={"protein": {"Mean": Mean(shake=0.5)}},
    )
    found = {(run.label, run.source.name): run.method for run in suite.runs()}
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
        {"source": Line(rows=30)},
        {"method": Mean(shake=2.0)},
        {"architecture": (Linear(2),)},
        {"fold": 1},
        {"seed": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_determines_a_fit_changes_the_key(change):
    assert replace(RUN, **change).key != RUN.key


def test_the_label_is_no_part_of_the_key():
    assert replace(RUN, label="Average").key == RUN.key


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
        sources=(Line("a"), Line("b")),
        methods={"Mean": Mean(), "One": Together(), "Two": Together(diverges_at=9.0)},
        architecture=(),
        evaluations=(Evaluation(Clean(), ("rmse",)),),
        folds=4,
    )
    groups = grouped(suite.runs(), size=3)
    assert max(len(group) for group in groups) == 3
    for group in groups:
        assert len({(run.source, run.method) for run in group}) == 1
        assert len(group) == 1 or isinstance(group[0].method, Together)
