"""Scores that weight every class equally, compared with scikit-learn's."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from sklearn.metrics import average_precision_score, balanced_accuracy_score

from bnnbench.metrics import METRICS, value
from bnnbench.metrics.imbalance import average_precision, balanced_accuracy
from tests.metrics.examples import categorical, certain, random_prediction


@pytest.mark.filterwarnings("ignore:y_pred contains classes")
@pytest.mark.filterwarnings("ignore:A single label was found")
@settings(max_examples=60)
@given(some.integers(0, 2**31), some.integers(1, 40), some.integers(2, 6))
def test_scores_are_scikit_learns(seed, points, classes):
    rng = torch.Generator().manual_seed(seed)
    prediction = random_prediction(rng, points, classes, draws=2)
    # The last class is rare, and often absent.
    shares = torch.tensor([3.0] * (classes - 1) + [0.1])
    labels = torch.multinomial(shares, points, replacement=True, generator=rng)
    probs = prediction.log_probs.exp().mean(0).numpy()
    expected = balanced_accuracy_score(labels, probs.argmax(1))
    assert value(METRICS["balanced_accuracy"], prediction, labels) == pytest.approx(expected)
    present = np.unique(labels)
    expected = np.mean([average_precision_score(labels == k, probs[:, k]) for k in present])
    assert value(METRICS["average_precision"], prediction, labels) == pytest.approx(expected)


def test_a_rare_class_counts_as_much_as_a_frequent_one():
    prediction = certain([0.9] * 10)
    labels = torch.tensor([0] * 9 + [1])
    assert value(METRICS["accuracy"], prediction, labels) == 0.9
    assert value(METRICS["balanced_accuracy"], prediction, labels) == 0.5
    # All scores are equal, so the precision is each class's share.
    assert average_precision(prediction, labels).item() == pytest.approx((0.9 + 0.1) / 2)


def test_hits_are_weighted_so_that_their_mean_is_the_score():
    prediction, labels = certain([0.9, 0.9, 0.9, 0.2]), torch.tensor([0, 0, 1, 1])
    assert balanced_accuracy(prediction, labels).tolist() == [1, 1, 0, 1]
    labels = torch.tensor([0, 0, 0, 1])
    assert balanced_accuracy(prediction, labels).tolist() == pytest.approx([2 / 3] * 3 + [2])


def test_points_of_one_class_alone_are_all_found():
    assert average_precision(certain([0.3, 0.6]), torch.tensor([0, 0])).item() == 1


@pytest.mark.parametrize("name", ["balanced_accuracy", "average_precision"])
@pytest.mark.parametrize("labels", [[0, 1], [0, 0]])
def test_a_prediction_of_nan_has_no_score(name, labels):
    prediction = categorical(torch.tensor([[0.5, 0.5], [math.nan, math.nan]]))
    assert math.isnan(value(METRICS[name], prediction, torch.tensor(labels)))
