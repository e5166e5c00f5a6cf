"""Class probabilities, by closed forms for two classes, simulation and the softmax itself."""

import pytest
import torch
from scipy.special import expit, ndtr

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.softmax import log_probabilities
from tests.methods.moments import truth

RULES = ("simplified", "centred", "logistic", "normal")
EVERY = pytest.mark.parametrize("rule", RULES)


def logits(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Moments:
    rng = torch.Generator().manual_seed(seed)
    mean = torch.randn(*shape, generator=rng, dtype=dtype) * 3
    return Moments(mean, torch.rand(*shape, generator=rng, dtype=dtype) * 4)


@EVERY
def test_probabilities_sum_to_1_whatever_the_axes(rule):
    x = logits(2, 3, 7)
    found = log_probabilities(x, rule)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(2, 3, dtype=torch.float64))
    row = Moments(x.mean[1, 2], x.variance[1, 2])
    torch.testing.assert_close(log_probabilities(row, rule), found[1, 2])


@pytest.mark.parametrize("rule", ["simplified", "centred", "logistic"])
def test_known_logits_have_their_softmax(rule):
    mean = logits(5, 4).mean
    for x in (Moments(mean), Moments(mean, torch.zeros_like(mean))):
        found = log_probabilities(x, rule)
        torch.testing.assert_close(found, mean.log_softmax(-1), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("rule", ["centred", "logistic", "normal"])
def test_adding_a_constant_to_all_logits_changes_nothing(rule):
    x = logits(5, 4)
    moved = Moments(x.mean + 100, x.variance)
    torch.testing.assert_close(
        log_probabilities(moved, rule), log_probabilities(x, rule), rtol=1e-9, atol=1e-9
    )


def test_adding_a_constant_changes_the_simplified_rule():
    x = logits(5, 4)
    moved = log_probabilities(Moments(x.mean + 100, x.variance))
    assert (moved - log_probabilities(x)).abs().max() > 1


def test_two_classes_are_one_comparison():
    x = logits(50, 2)
    ahead, spread = x.mean[:, 0] - x.mean[:, 1], x.variance.sum(1)
    z = ahead / (spread + torch.pi**2 / 3).sqrt()
    found = log_probabilities(x, "normal").exp()[:, 0]
    torch.testing.assert_close(found, torch.as_tensor(ndtr(z.numpy())))
    logistic = log_probabilities(x, "logistic").exp()[:, 0]
    for value, m, v in zip(logistic.tolist(), ahead.tolist(), spread.tolist(), strict=True):
        assert value == pytest.approx(truth.expectation(expit, m, v), abs=0.022)


def test_logistic_rule_is_near_to_simulation():
    x = Moments(torch.tensor([2, -0.5, 0.3, 1]), torch.tensor([0.5, 4, 0.1, 2]))
    draws = torch.randn(400_000, 4, generator=torch.Generator().manual_seed(5))
    exact = (x.mean + x.variance.sqrt() * draws).softmax(-1).mean(0)
    found = log_probabilities(x, "logistic").exp()
    assert (found - exact).abs().max() < 0.03


@EVERY
def test_gradients_agree_with_finite_differences(rule):
    x = logits(4, 5)
    given = (x.mean.requires_grad_(), x.variance.requires_grad_())
    assert torch.autograd.gradcheck(
        lambda m, v: log_probabilities(Moments(m, v), rule), given, eps=1e-6, atol=1e-8
    )


@EVERY
def test_remote_logits_of_single_precision_are_finite_with_their_gradients(rule):
    mean = torch.tensor([1e6, -1e6, 0.0, 3.0], requires_grad=True)
    variance = torch.tensor([0.0, 1e8, 1.0, 0.0], requires_grad=True)
    found = log_probabilities(Moments(mean, variance), rule)
    assert found.isfinite().all()
    found.sum().backward()
    assert mean.grad.isfinite().all()
    assert variance.grad.isfinite().all()
