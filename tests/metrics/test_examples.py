"""Every score of a prediction in section 7 of the specification."""

import pytest
import torch

from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics import METRICS, value
from bnnbench.metrics.calibration import (
    adaptive_calibration_error,
    classwise_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    minimum_variance_calibration_error,
    reliability_curve,
    simplex_calibration_error,
)
from bnnbench.metrics.coverage import calibration_curve
from bnnbench.metrics.crps import crps, crps_of_samples
from bnnbench.metrics.partition import minimum_variance_bins, simplex_bins
from bnnbench.metrics.scores import top_k_accuracy
from bnnbench.metrics.separation import aupr_in, aupr_out, auroc, fpr95_in, fpr95_out
from bnnbench.metrics.uncertainty import (
    confidence,
    entropy,
    expected_entropy,
    mutual_information,
    one_minus_confidence,
)
from tests.metrics.examples import CLASSES, LABELS, OUTLIERS, REAL, TARGETS, mixture


def ten_digits(number):
    return pytest.approx(number, abs=6e-11, rel=0)


def test_the_example_itself_is_the_specified_one():
    probs = CLASSES.mixture_log_probs.exp()
    assert probs[0].tolist() == ten_digits([0.6536665899, 0.0419776500, 0.0426503140, 0.2617054461])
    assert probs[5].tolist() == ten_digits([0.0043122957, 0.6347260851, 0.3373501690, 0.0236114501])
    assert probs.argmax(1).tolist() == [0, 0, 2, 2, 2, 1, 1, 1, 3, 0, 0, 2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 0.6666666667),
        ("top5_accuracy", 1.0),
        ("nll", 1.1311118765),
        ("log_likelihood", -1.1311118765),
        ("brier", 0.6237170300),
        ("ece", 0.2849366362),
        ("mce", 0.7563450292),
        ("ece_classwise", 0.2180269224),
        ("mutual_information", 3.6969432314 / 12),
    ],
)
def test_classification_scores(name, expected):
    assert value(METRICS[name], CLASSES, LABELS) == ten_digits(expected)


def test_top_2_accuracy():
    assert top_k_accuracy(CLASSES, LABELS, 2).mean().item() == 0.75


@pytest.mark.parametrize(
    ("score", "bins", "expected"),
    [
        (expected_calibration_error, 10, 0.3187615855),
        (expected_calibration_error, 5, 0.2503022611),
        (maximum_calibration_error, 10, 0.7374827095),
        (maximum_calibration_error, 5, 0.3232362767),
        (adaptive_calibration_error, 4, 0.2647007142),
        (adaptive_calibration_error, 3, 0.2705381830),
        (classwise_calibration_error, 5, 0.1628200544),
        (minimum_variance_calibration_error, 4, 0.3187615855),
        (simplex_calibration_error, 3, 0.1671985879),
        (simplex_calibration_error, 6, 0.0801811526),
    ],
)
def test_calibration_errors_over_other_bins(score, bins, expected):
    assert score(CLASSES, LABELS, bins).item() == ten_digits(expected)


def test_reliability_over_five_bins():
    curve = reliability_curve(CLASSES, LABELS, 5)
    assert curve.count.tolist() == [0, 0, 6, 6, 0]
    assert curve.accuracy[2:4].tolist() == ten_digits([0.8333333333, 0.5])
    assert curve.confidence[2:4].tolist() == ten_digits([0.5100970566, 0.6773682454])
    assert curve.accuracy[[0, 1, 4]].isnan().all()
    assert curve.confidence[[0, 1, 4]].isnan().all()


def test_bins_of_least_variance():
    top = confidence(CLASSES).sort().values
    index = minimum_variance_bins(top, 4)
    assert index.bincount().tolist() == [1, 4, 5, 2]
    within = sum(((part - part.mean()) ** 2).sum() for part in (top[index == b] for b in range(4)))
    assert within.item() == ten_digits(0.0062279296)


@pytest.mark.parametrize(("minimum", "sizes"), [(3, [3, 3, 3, 3]), (6, [6, 6])])
def test_bins_of_the_simplex(minimum, sizes):
    probs = CLASSES.mixture_log_probs.exp()
    assert simplex_bins(probs, minimum).bincount().tolist() == sizes


@pytest.mark.parametrize(
    ("uncertainty", "expected"),
    [
        (entropy, [0.8963818870, 1.0528162806, 1.0688777009]),
        (expected_entropy, [0.7521150115, 0.7147056442, 0.6447778719]),
        (mutual_information, [0.1442668755, 0.3381106364, 0.4240998290]),
    ],
)
def test_uncertainties(uncertainty, expected):
    assert uncertainty(CLASSES)[:3].tolist() == ten_digits(expected)


@pytest.mark.parametrize(
    ("uncertainty", "expected"),
    [
        (entropy, [0.6666666667, 0.6801587302, 0.7659090909, 0.6666666667, 0.8333333333]),
        (
            one_minus_confidence,
            [0.6388888889, 0.6710678211, 0.7103535354, 0.8333333333, 0.8333333333],
        ),
        (mutual_information, [0.4166666667, 0.4723905724, 0.5942760943, 0.8333333333, 1.0]),
    ],
)
def test_separation(uncertainty, expected):
    score = uncertainty(CLASSES)
    criteria = (auroc, aupr_out, aupr_in, fpr95_out, fpr95_in)
    assert [float(criterion(score, OUTLIERS)) for criterion in criteria] == ten_digits(expected)


def test_separation_with_ties():
    score = torch.tensor([0.2, 0.5, 0.5, 0.9])
    assert auroc(score, torch.tensor([0, 0, 1, 1])).item() == 0.875


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rmse", 0.2545012299),
        ("mae", 0.2502330332),
        ("log_likelihood_standardised", -0.2680521463),
        ("log_likelihood_gaussian", -0.2680521463),
        ("crps", 0.1650596276),
        ("picp_50", 0.5),
        ("mpiw_50", 0.5058673127),
        ("picp_90", 1.0),
        ("mpiw_90", 1.2336402202),
        ("picp_95", 1.0),
        ("mpiw_95", 1.4699729884),
        ("calibration_error", 0.046875),
        ("calibration_mae", 0.0638888889),
        ("sharpness", 0.15375),
        ("sharpness_root", 0.3921096785),
    ],
)
def test_regression_scores(name, expected):
    assert value(METRICS[name], REAL, TARGETS) == ten_digits(expected)


def test_log_likelihood_of_original_units():
    original = REAL.rescaled(7.0, 2.5), 7.0 + 2.5 * TARGETS
    assert value(METRICS["log_likelihood"], *original) == ten_digits(-1.1843428781)


def test_crps_of_single_points():
    expected = [0.1988848008, 0.1846995494, 0.1726916971]
    assert crps(REAL, TARGETS)[:3].tolist() == ten_digits(expected)


def test_share_of_targets_below_each_quantile():
    expected = [0, 0.125, 0.25, 0.375, 0.5, 0.5, 0.5, 0.75, 0.875, 1, 1]
    assert calibration_curve(REAL, TARGETS).observed.tolist() == expected


def test_mixture_of_gaussians():
    prediction = mixture([0.2, 0.5, 0.3], [-1, 0.5, 2], [0.5, 1, 0.25])
    target = torch.tensor([[0.7]], dtype=torch.float64)
    assert isinstance(prediction, GaussianPredictive)
    assert crps(prediction, target).item() == ten_digits(0.3736663489)
    assert prediction.log_prob(target).item() == ten_digits(-1.5609228691)
    assert prediction.mean.item() == ten_digits(0.65)
    assert prediction.variance.item() == ten_digits(1.7775)


@pytest.mark.parametrize(("fair", "expected"), [(False, 0.216), (True, 0.14)])
def test_crps_of_samples(fair, expected):
    samples = torch.tensor([0.1, 0.4, -0.3, 1.2, 0.9], dtype=torch.float64)[:, None]
    target = torch.tensor([0.7], dtype=torch.float64)
    assert crps_of_samples(samples, target, fair=fair).item() == ten_digits(expected)
