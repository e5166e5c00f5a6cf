import math

import pytest
import sklearn.metrics
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

from bnnbench.metrics import METRICS, value
from bnnbench.metrics.separation import aupr_in, aupr_out, auroc, fpr95_in, fpr95_out
from tests.metrics.examples import certain

CRITERIA = (auroc, aupr_out, aupr_in, fpr95_out, fpr95_in)


@some.composite
def scored(draw):
    """Scores, mostly tied, with targets of both kinds."""
    kinds = draw(
        some.lists(some.integers(0, 1), min_size=2, max_size=60).filter(lambda k: len(set(k)) == 2)
    )
    score = some.one_of(some.integers(0, 6).map(float), some.floats(0, 3))
    scores = draw(some.lists(score, min_size=len(kinds), max_size=len(kinds)))
    return torch.tensor(scores, dtype=torch.float64), torch.tensor(kinds)


def _first_false_positive_rate(score, target):
    """Visit every threshold, from the highest."""
    outliers, inliers = score[target == 1], score[target == 0]
    for threshold in sorted(set(score.tolist()), reverse=True):
        if (outliers >= threshold).double().mean() >= 0.95:
            return (inliers >= threshold).double().mean().item()
    raise AssertionError("the lowest threshold accepts everything")


@settings(max_examples=150)
@given(scored())
def test_criteria_equal_those_of_scikit_learn_and_scipy(case):
    score, target = case
    outliers, inliers = score[target == 1], score[target == 0]
    pairs = len(outliers) * len(inliers)
    mann_whitney = stats.mannwhitneyu(outliers, inliers, method="asymptotic").statistic / pairs
    assert auroc(score, target).item() == pytest.approx(mann_whitney)
    assert auroc(score, target).item() == pytest.approx(
        sklearn.metrics.roc_auc_score(target, score)
    )
    assert aupr_out(score, target).item() == pytest.approx(
        sklearn.metrics.average_precision_score(target, score)
    )
    assert aupr_in(score, target).item() == pytest.approx(
        sklearn.metrics.average_precision_score(1 - target, -score)
    )
    assert fpr95_out(score, target).item() == pytest.approx(
        _first_false_positive_rate(score, target)
    )
    assert fpr95_in(score, target).item() == pytest.approx(
        _first_false_positive_rate(-score, 1 - target)
    )


def test_a_score_that_is_the_same_everywhere_separates_nothing():
    score, target = torch.ones(5), torch.tensor([0, 1, 0, 1, 1])
    assert [float(criterion(score, target)) for criterion in CRITERIA] == [0.5, 0.6, 0.4, 1, 1]


def test_nineteen_of_twenty_are_95_percent():
    score = torch.tensor([*range(1, 21), 1.5, 0.5], dtype=torch.float64)
    target = torch.tensor([1] * 20 + [0] * 2)
    assert fpr95_out(score, target).item() == 0
    assert fpr95_out(score[1:], target[1:]).item() == 0
    assert fpr95_out(score[:-1].index_fill(0, torch.tensor([1]), 0.0), target[:-1]).item() == 1


def test_infinite_scores_are_ordered_and_tied():
    score, target = torch.tensor([math.inf, math.inf, 0.0]), torch.tensor([1, 0, 0])
    assert auroc(score, target).item() == 0.75


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_score_of_nan_gives_nan(criterion):
    assert criterion(torch.tensor([0.1, math.nan, 0.3]), torch.tensor([0, 1, 1])).isnan()


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("target", [[0, 0, 0], [1, 1, 1], [0, 1, 7]])
def test_targets_that_are_not_two_kinds_are_refused(criterion, target):
    with pytest.raises(ValueError, match=r"0 \(in distribution\) and 1 \(out of distribution\)"):
        criterion(torch.tensor([0.1, 0.2, 0.3]), torch.tensor(target))


@pytest.mark.parametrize("name", ["auroc_ood", "auroc_ood_confidence"])
def test_doubt_about_outliers_is_detection(name):
    prediction, target = certain([0.99, 0.6, 0.95, 0.55]), torch.tensor([0, 1, 0, 1])
    assert value(METRICS[name], prediction, target) == 1
    assert value(METRICS[name], prediction, 1 - target) == 0
