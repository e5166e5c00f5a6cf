import itertools

import numpy as np
import pytest
import sklearn.metrics
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics.selective import (
    augrc,
    aurc,
    excess_squared_error_aurc,
    risk_coverage_curve,
    squared_error_aurc,
    squared_error_curve,
)
from bnnbench.metrics.uncertainty import confidence
from tests.metrics.examples import certain


def _case(confidences: list[float], right: list[bool]):
    return certain(confidences), torch.tensor([0 if hit else 1 for hit in right])


def test_the_curve_accepts_the_most_confident_first():
    curve = risk_coverage_curve(*_case([0.6, 0.9, 0.8, 0.7], [False, True, False, True]))
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1]
    assert curve.risk.tolist() == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    assert curve.generalised_risk.tolist() == pytest.approx([0, 1 / 4, 1 / 4, 1 / 2])


def test_areas_of_a_small_case_by_hand():
    case = _case([0.6, 0.9, 0.8, 0.7], [False, True, False, True])
    assert aurc(*case).item() == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert augrc(*case).item() == pytest.approx((0 + 1 / 4 + 1 / 4 + 1 / 4) / 4)


def test_equal_confidences_are_accepted_in_any_order_alike():
    confidences, right = [0.9, 0.8, 0.8, 0.8, 0.7], [True, False, True, True, False]
    orders = [[0, *middle, 4] for middle in itertools.permutations((1, 2, 3))]
    risks = []
    for order in orders:
        errors = torch.tensor([not right[i] for i in order]).double().cumsum(0)
        risks.append((errors / torch.arange(1, 6)).mean())
    assert aurc(*_case(confidences, right)).item() == pytest.approx(
        torch.stack(risks).mean().item()
    )


@settings(max_examples=100)
@given(
    some.lists(
        some.tuples(some.integers(33, 64).map(lambda i: i / 64), some.booleans()),
        min_size=2,
        max_size=40,
    ).filter(lambda rows: len({hit for _, hit in rows}) == 2)
)
def test_the_generalised_area_agrees_with_failure_detection(rows):
    """(1 - AUROC of failures) acc (1 - acc) + (1 - acc)²/2, derived by counting pairs."""
    prediction, target = _case(*map(list, zip(*rows, strict=True)))
    right = torch.tensor([hit for _, hit in rows])
    share = right.double().mean().item()
    separated = sklearn.metrics.roc_auc_score(right, confidence(prediction))
    expected = (1 - separated) * share * (1 - share) + (1 - share) ** 2 / 2
    assert augrc(prediction, target).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("hit", [True, False])
def test_areas_where_all_points_are_right_or_all_wrong(hit):
    case = _case([0.9, 0.7, 0.6], [hit] * 3)
    assert aurc(*case).item() == pytest.approx(1 - hit)
    assert augrc(*case).item() == pytest.approx((1 - hit) / 2)


def _real(errors: list[float], deviations: list[float]):
    error = torch.tensor(errors, dtype=torch.float64)[:, None]
    std = torch.tensor(deviations, dtype=torch.float64)[:, None]
    return GaussianPredictive(error[None], std.square()[None]), torch.zeros_like(error)


def test_squared_errors_of_the_least_variances_come_first():
    curve = squared_error_curve(*_real([3, -1, 2, 0], [4, 1, 3, 2]))
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1]
    assert curve.risk.tolist() == pytest.approx([1, 1 / 2, 5 / 3, 14 / 4])


def test_the_area_of_squared_errors_is_the_mean_of_numpys_running_means():
    rng = np.random.default_rng(0)
    errors, deviations = rng.standard_normal(200), rng.random(200)
    case = _real(errors.tolist(), deviations.tolist())
    accepted = np.arange(1, 201)
    by_variance = (errors[np.argsort(deviations)] ** 2).cumsum() / accepted
    by_error = np.sort(errors**2).cumsum() / accepted
    assert squared_error_aurc(*case).item() == pytest.approx(by_variance.mean())
    excess = excess_squared_error_aurc(*case).item()
    assert excess == pytest.approx((by_variance - by_error).mean())


def test_a_constant_variance_has_the_mean_squared_error_as_its_area():
    case = _real([1, 2, 3], [0.5, 0.5, 0.5])
    assert squared_error_aurc(*case).item() == pytest.approx(14 / 3)


def test_variances_in_the_order_of_the_errors_have_no_excess():
    case = _real([1, -2, 3, 0.5], [1, 2, 3, 0.5])
    assert excess_squared_error_aurc(*case).item() == pytest.approx(0, abs=1e-15)
    assert excess_squared_error_aurc(*_real([1, -2, 3], [3, 2, 1])).item() > 0
