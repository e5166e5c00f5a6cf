"""Nonlinear factors are evaluated in float64, whatever the type of their messages.

They act only on units, never on weights, so this costs little, and float32 messages then lose
nothing beyond their own rounding.
"""

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian

LEAST = 1e-30
"""The precision used in place of 0 where a factor needs a variance."""


def widened(message: Gaussian) -> Gaussian:
    """Return the message in float64."""
    return Gaussian(message.tau.double(), message.rho.double())


def narrowed(message: Gaussian, pattern: Gaussian) -> Gaussian:
    """Return the message in the type of another."""
    return Gaussian(message.tau.to(pattern.tau.dtype), message.rho.to(pattern.rho.dtype))


def moments(message: Gaussian) -> tuple[Float64[Tensor, "*shape"], Float64[Tensor, "*shape"]]:
    """Return mean and variance in float64; for a uniform message they are 0 and 1/LEAST."""
    variance = message.rho.double().clamp_min(LEAST).reciprocal()
    return message.tau.double() * variance, variance


def where(condition: Tensor, then: Gaussian, otherwise: Gaussian) -> Gaussian:
    """Return one message where the condition holds and the other message elsewhere."""
    return Gaussian(
        torch.where(condition, then.tau, otherwise.tau),
        torch.where(condition, then.rho, otherwise.rho),
    )
