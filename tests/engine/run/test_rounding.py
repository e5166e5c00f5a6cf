"""Rounded predictions: every score that they answer keeps four digits of the whole prediction's."""

from decimal import Decimal

import numpy as np
import pytest
import torch

from bnnbench.engine.run import rounding
from bnnbench.engine.run.packing import stored_arrays
from bnnbench.engine.run.score import score
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.metrics import CLASSIFICATION, REGRESSION
from tests.reports.synthetic import classified, record

POINTS = 40
TARGET = {"name": "y", "unit": "", "mean": 7.0, "std": 3.0}


def mixture(draws: int, spread: float = 1.0, seed: int = 0):
    """Return a mixture of Gaussians and targets; deviations differ by the factor e to `spread`."""
    rng = torch.Generator().manual_seed(seed)
    targets = torch.randn(POINTS, 1, generator=rng)
    means = targets + 0.4 * torch.randn(draws, POINTS, 1, generator=rng)
    stds = 0.4 * (spread * torch.randn(draws, POINTS, 1, generator=rng)).exp()
    return GaussianPredictive(means, stds.square()), targets


def student():
    of, targets = mixture(1, 0.3)
    return StudentPredictive(of.means, of.variances.sqrt(), torch.full_like(of.means, 5.0)), targets


def classes(draws: int):
    one, targets = classified(np.random.default_rng(1), 1.0, points=POINTS)
    noise = torch.randn(draws, POINTS, 10, generator=torch.Generator().manual_seed(0))
    return CategoricalPredictive((one.log_probs + noise).log_softmax(2)), targets


def exact_and_rounded(given, metrics, target):
    """Return scores of a whole prediction and of its rounded form, and what is stored of it."""
    exact = score(*given, metrics, target).values
    run = record(scores={"clean": exact}, target=target)
    content = rounding.pack_rounded({"clean": given}, run)
    prediction, targets = rounding.unpack_rounded(content)["clean"]
    assert torch.equal(targets, given[1])
    return exact, score(prediction, targets, metrics, target).values, stored_arrays(content)


def error_in_units(value: float, exact: float) -> float:
    """Return an error in units of the fourth significant digit, by decimal arithmetic."""
    unit = Decimal(1).scaleb(Decimal(exact).adjusted() - 3)
    return float(abs(Decimal(value) - Decimal(exact)) / unit)


@pytest.mark.parametrize(
    ("given", "metrics", "target", "kind", "unanswered"),
    [
        (mixture(1), REGRESSION, TARGET, "gaussian", set()),
        (mixture(5), REGRESSION, TARGET, "gaussian", set()),
        (mixture(60), REGRESSION, TARGET, "real_summary", {"crps"}),
        (student(), REGRESSION, TARGET, "student", set()),
        (classes(1), CLASSIFICATION, None, "categorical", set()),
        (classes(30), CLASSIFICATION, None, "categorical_summary", set()),
    ],
    ids=["Gaussian", "ensemble", "many draws", "Student", "classes", "classes of many draws"],
)
def test_scores_keep_four_digits_and_the_smaller_form_is_stored(
    given, metrics, target, kind, unanswered
):
    exact, kept, stored = exact_and_rounded(given, metrics, target)
    assert stored["clean"].kind == kind
    assert exact.keys() - kept.keys() == unanswered
    for name in kept:
        worst = error_in_units(kept[name], exact[name]) if exact[name] else abs(kept[name])
        assert worst <= 0.5, name


def test_numbers_take_16_bits_unless_a_score_would_lose_a_digit():
    *_, coarse = exact_and_rounded(mixture(1, 0.1), ("rmse", "log_likelihood"), TARGET)
    assert {a.dtype.name for n, a in coarse["clean"].arrays.items() if "/" not in n} == {"uint16"}
    wide = mixture(1, 14.0)
    exact, kept, fine = exact_and_rounded(wide, ("rmse", "log_likelihood", "mpiw_50"), TARGET)
    assert {array.dtype.name for array in fine["clean"].arrays.values()} == {"float32"}
    assert all(error_in_units(kept[name], exact[name]) <= 0.5 for name in exact)


def test_what_single_precision_does_not_hold_is_stored_as_it_is():
    of, targets = mixture(1)
    means = targets.double() + 1e-9 * torch.randn(1, POINTS, 1).double()
    exact, kept, stored = exact_and_rounded(
        (GaussianPredictive(means, of.variances.double()), targets), ("rmse",), TARGET
    )
    assert stored["clean"].arrays["means"].dtype == np.float64
    assert kept == exact


@pytest.mark.parametrize("probability", [0.0, float("nan")])
def test_infinite_and_missing_numbers_survive(probability):
    one, targets = classes(1)
    log_probs = one.log_probs.clone()
    log_probs[0, 3, 2] = torch.tensor(probability).log()
    prediction = CategoricalPredictive(log_probs)
    content = rounding.pack_rounded({"clean": (prediction, targets)}, record(scores={}))
    again, _ = rounding.unpack_rounded(content)["clean"]
    assert torch.equal(again.log_probs.nan_to_num(9.0), log_probs.nan_to_num(9.0))
