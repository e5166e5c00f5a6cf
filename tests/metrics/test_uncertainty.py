import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

from methods.predictive import CategoricalPredictive
from metrics.uncertainty import (
    confidence,
    entropy,
    expected_entropy,
    mutual_information,
    one_minus_confidence,
)
from tests.metrics.examples import categorical, certain, random_prediction


def test_entropies_agree_with_scipy():
    prediction = random_prediction(torch.Generator().manual_seed(0), 40, 6, draws=5)
    probs = prediction.log_probs.exp().numpy()
    total, within = stats.entropy(probs.mean(0), axis=1), stats.entropy(probs, axis=2).mean(0)
    np.testing.assert_allclose(entropy(prediction), total, rtol=1e-12)
    np.testing.assert_allclose(expected_entropy(prediction), within, rtol=1e-12)
    np.testing.assert_allclose(mutual_information(prediction), total - within, rtol=1e-9)


def test_certainty_has_no_entropy():
    prediction = certain([1.0, 0.0])
    for uncertainty in (entropy, expected_entropy, mutual_information, one_minus_confidence):
        assert uncertainty(prediction).tolist() == [0, 0]
    assert confidence(prediction).tolist() == [1, 1]


def test_draws_certain_of_different_classes_are_all_mutual_information():
    probs = torch.eye(4, dtype=torch.float64)[:, None, :]
    prediction = CategoricalPredictive(probs.log())
    assert entropy(prediction).item() == pytest.approx(math.log(4))
    assert mutual_information(prediction).item() == pytest.approx(math.log(4))


@settings(max_examples=50, deadline=None)
@given(some.integers(0, 2**31), some.integers(1, 5), some.floats(0, 100))
def test_mutual_information_is_between_0_and_entropy(seed, draws, scale):
    rng = torch.Generator().manual_seed(seed)
    prediction = random_prediction(rng, 20, 3, draws=draws, scale=scale)
    information = mutual_information(prediction)
    assert (information >= 0).all()
    assert (information <= entropy(prediction) + 1e-12).all()


def test_equal_draws_carry_no_information():
    draw = random_prediction(torch.Generator().manual_seed(1), 50, 5).log_probs
    prediction = CategoricalPredictive(draw.expand(7, -1, -1))
    assert mutual_information(prediction).max().item() < 1e-14


def test_doubts_smaller_than_rounding_are_still_ordered():
    prediction = CategoricalPredictive(
        torch.tensor([[[-1e-18, -41.4], [-1e-19, -43.7]]], dtype=torch.float64)
    )
    first, second = one_minus_confidence(prediction).tolist()
    assert first == pytest.approx(1e-18)
    assert second == pytest.approx(1e-19)


def test_confidence_is_the_largest_probability():
    probs = torch.tensor([[0.1, 0.6, 0.3], [0.4, 0.3, 0.3]])
    assert confidence(categorical(probs)).tolist() == pytest.approx([0.6, 0.4])
