import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import CategoricalPredictive, CategoricalSummary
from bnnbench.metrics.uncertainty import (
    confidence,
    dirichlet_mutual_information,
    dirichlet_precision,
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


@settings(max_examples=50)
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


def test_draws_of_a_dirichlet_give_back_its_precision_and_mutual_information():
    """The mean and the precision of 4000 draws are known to about 2 %."""
    alpha = np.array([[4.0, 2.0, 9.0], [0.5, 0.5, 2.0], [300.0, 20.0, 100.0]])
    rng = np.random.default_rng(0)
    draws = np.stack([rng.dirichlet(a, 4000) for a in alpha], 1)
    prediction = CategoricalPredictive(torch.from_numpy(draws).log())
    within = stats.entropy(draws, axis=2).mean(0)
    information = stats.entropy(draws.mean(0), axis=1) - within
    np.testing.assert_allclose(dirichlet_precision(prediction), alpha.sum(1), rtol=0.06)
    np.testing.assert_allclose(dirichlet_mutual_information(prediction), information, rtol=0.06)


def test_a_summary_says_as_much_of_the_dirichlet_as_the_draws():
    prediction = random_prediction(torch.Generator().manual_seed(2), 30, 5, draws=4)
    for describe in (dirichlet_precision, dirichlet_mutual_information):
        assert torch.equal(describe(prediction.summary()), describe(prediction))


def test_a_summary_from_before_the_dirichlet_says_what_it_lacks():
    prediction = random_prediction(torch.Generator().manual_seed(2), 30, 5, draws=4)
    old = CategoricalSummary(prediction.mixture_log_probs, prediction.expected_entropy)
    with pytest.raises(CannotAnswer, match="fit again"):
        dirichlet_precision(old)


def test_a_single_draw_has_the_largest_precision():
    prediction = random_prediction(torch.Generator().manual_seed(3), 30, 5, draws=1)
    assert dirichlet_precision(prediction).tolist() == pytest.approx([1e6] * 30)


@pytest.mark.parametrize("draws", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_that_agree_have_no_mutual_information(draws, dtype):
    logits = 3 * torch.randn(200, 10, generator=torch.Generator().manual_seed(draws), dtype=dtype)
    prediction = CategoricalPredictive(logits.log_softmax(-1)[None].repeat(draws, 1, 1))
    assert not mutual_information(prediction).any()
    assert not mutual_information(prediction.summary()).any()


def test_small_mutual_information_is_kept():
    p, gap = 0.3, 1e-5
    log_probs = torch.tensor([[[p + gap, 1 - p - gap]], [[p - gap, 1 - p + gap]]]).double().log()
    expected = gap**2 / (2 * p * (1 - p))
    found = mutual_information(CategoricalPredictive(log_probs)).item()
    assert found == pytest.approx(expected, rel=1e-3)
