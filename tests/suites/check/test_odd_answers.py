"""Answers to odd problems are told apart, and every odd problem is odd."""

import math
from dataclasses import replace

import pytest
import torch

from bnnbench.commands import check as command
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import PackageMissing
from bnnbench.suites.check.odd_answers import odd_answers
from bnnbench.suites.check.odd_problems import ODD
from bnnbench.suites.check.problems import PROBLEMS, classification, regression
from bnnbench.suites.check.results import checked
from bnnbench.suites.check.small import quick
from tests.suites.check.broken import (
    Line,
    broken,
    fit_refusing,
    fit_that_ends_in,
    fit_that_exits,
    fit_with_a_spread,
    predict_classes,
    predict_for_points,
    predicting,
)

REGRESSIONS = ("mlp regression",)


def states(method, kinds=REGRESSIONS):
    return {answer.problem: answer.state for answer in odd_answers(method, kinds)}


def test_a_sound_method_answers_all():
    found = states(Line())
    assert {*found} == {*ODD} - {"missing class", "one class"}
    assert {*found.values()} == {"fine"}


@pytest.mark.parametrize(
    ("method", "state", "problems"),
    [
        (broken(fit=fit_with_a_spread), "fault", {"one row", "constant target"}),
        (broken(fit=fit_refusing("needed 10 rows")), "refused", {"few rows", "one row"}),
        (broken(fit=fit_refusing("")), "fault", {"few rows", "one row"}),
        (predicting(predict=predict_for_points), "fault", {"no rows to predict"}),
        (broken(fit=fit_that_ends_in(0.0)), "marked", {*states(Line())}),
        (broken(fit=fit_that_ends_in(math.nan)), "marked", {*states(Line())}),
        (broken(fit=fit_that_exits), "fault", {"few rows", "one row"}),
        (predicting(predict=predict_classes), "fault", {*states(Line())}),
    ],
    ids=[
        *("spread", "refusal", "silent refusal", "no points", "unconverged", "nan", "exit"),
        "classes",
    ],
)
def test_each_state_is_told_with_its_problems(method, state, problems):
    assert {name for name, found in states(method).items() if found == state} == problems


def test_a_problem_of_classes_is_made_of_classes():
    kinds = {a.kind for a in odd_answers(quick(method_type(METHODS["marginal"])()), PROBLEMS)}
    assert kinds == {"mlp regression", "mlp classification"}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_problem_differs_from_the_ordinary_one(name):
    problem = classification() if ODD[name].of_classes else regression()
    odd = ODD[name].change(problem)
    inputs = ODD[name].inputs(odd.train.inputs)
    assert odd.architecture != problem.architecture or not all(
        one.shape == other.shape and torch.equal(one, other)
        for one, other in (
            (odd.train.inputs, problem.train.inputs),
            (odd.train.targets, problem.train.targets),
            (inputs, problem.train.inputs),
        )
    )


def test_there_are_fifteen():
    assert len(ODD) == 15


@pytest.mark.long
def test_a_fault_violates_the_contract_and_is_named_on_the_page():
    method = broken(fit=fit_with_a_spread)
    results = checked(method)
    assert [*results.faults] == ["one row", "constant target"]
    page = "\n".join(command._page(results))
    assert "FAULT   constant target" in page
    assert "fine    few rows" in page
    assert "FAILED on 2 odd problems" in "\n".join(command._page(replace(results, checks=())))


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_no_method_of_this_project_has_a_fault(name):
    try:
        results = [*odd_answers(quick(method_type(METHODS[name])()), PROBLEMS)]
    except PackageMissing:
        pytest.skip("its package is missing")
    assert [answer for answer in results if answer.state == "fault"] == []
