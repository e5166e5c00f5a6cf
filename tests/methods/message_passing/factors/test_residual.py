"""Compared with the subtraction of independent Gaussians."""

import torch

from bnnbench.methods.message_passing.factors import residual
from bnnbench.methods.message_passing.gaussian import Gaussian
from tests.methods.message_passing.factors.messages import random_messages


def test_a_sum_has_the_moments_of_both_branches():
    left, right = random_messages(50, seed=1), random_messages(50, seed=2)
    out = residual.forward(left, right)
    torch.testing.assert_close(out.mean, left.mean + right.mean)
    torch.testing.assert_close(out.variance, left.variance + right.variance)


def test_a_branch_is_told_the_sum_less_the_other_branch():
    left, right, back = (random_messages(50, seed=seed) for seed in range(3))
    to_left, to_right = residual.backward(left, right, back)
    torch.testing.assert_close(to_left.mean, back.mean - right.mean)
    torch.testing.assert_close(to_left.variance, back.variance + right.variance)
    torch.testing.assert_close(to_right.mean, back.mean - left.mean)
    torch.testing.assert_close(to_right.variance, back.variance + left.variance)


def test_a_uniform_sum_tells_neither_branch_anything():
    left, right = random_messages(5, seed=1), random_messages(5, seed=2)
    for message in residual.backward(left, right, Gaussian.uniform(5, pattern=left.rho)):
        assert (message.tau == 0).all()
        assert (message.rho == 0).all()
