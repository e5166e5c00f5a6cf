"""Factors of the message-passing network in plain NumPy: the reference for tests.

A message is an array whose first axis holds (tau, rho); products and quotients of messages are
sums and differences. Clarity comes before speed: one example at a time, textbook formulas,
logarithms of weights.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

FLOOR = 1e-8
PAIR_NOISE = 0.3  # variance of the noise with which two outputs, or two pixels, are compared


def message(mean, variance) -> np.ndarray:
    """Return N(mean, variance) as (tau, rho)."""
    mean, variance = np.broadcast_arrays(np.asarray(mean, float), variance)
    return np.stack([mean / variance, 1 / variance])


def moments(gaussian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance."""
    tau, rho = gaussian
    return tau / rho, 1 / rho


def floored(gaussian: np.ndarray, least: float = FLOOR) -> np.ndarray:
    """Return the message with the same mean and precision at least `least`; uniform has mean 0."""
    tau, rho = gaussian
    mean = np.divide(tau, rho, out=np.zeros_like(tau), where=rho > 0)
    return np.where(rho < least, np.stack([mean * least, np.full_like(rho, least)]), gaussian)


def hazard(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lam = phi(x)/Phi(x), x + lam, and 1 - lam (x + lam), the truncated variance.

    Below -5, where the differences cancel, x + lam is the continued fraction of the Mills ratio.
    """
    x = np.asarray(x, float)
    direct = np.maximum(x, -5.0)
    lam = np.where(
        direct > 0,
        np.exp(-(direct**2) / 2 - log_ndtr(direct)) / np.sqrt(2 * np.pi),
        np.sqrt(2 / np.pi) / erfcx(-np.minimum(direct, 0) / np.sqrt(2)),
    )
    excess = direct + lam
    y = np.maximum(-x, 5.0)
    tail = np.zeros_like(y)
    for n in range(30, 1, -1):
        tail = n / (y + tail)
    fraction = 1 / (y + tail)
    far = x < -5
    return (
        np.where(far, y + fraction, lam),
        np.where(far, fraction, excess),
        np.where(far, (tail - fraction) / (y + tail), 1 - lam * excess),
    )


def term_of_sum(scale, back, term, total) -> np.ndarray:
    """Return the message from a sum to its term `scale` * v.

    back: message on the sum; term: (mean, variance) of v; total: of the sum, all terms included.
    """
    tau, rho = back
    (mean, variance), (all_mean, all_variance) = term, total
    shrink = 1 + rho * (all_variance - scale**2 * variance)
    return np.stack(
        [scale * (tau - rho * (all_mean - scale * mean)) / shrink, scale**2 * rho / shrink]
    )


def leaky_relu_direct(z: np.ndarray, slope: float) -> np.ndarray:
    """Return the Gaussian with the moments of LeakyReLU(z)."""
    mean, variance = moments(z)
    x = mean / np.sqrt(variance)
    fold = 1 - slope
    near = -np.abs(x)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    first = density + near * ndtr(near)
    second = (1 + near**2) * ndtr(near) + near * density
    spread = np.maximum(second - first**2, 0)
    on = x > 0
    location = np.where(on, x, slope * x) + fold * first
    width = np.where(
        on,
        1 - 2 * fold * ndtr(near) + fold**2 * spread,
        slope**2 + 2 * slope * fold * ndtr(near) + fold**2 * spread,
    )
    return message(location * np.sqrt(variance), width * variance)


class Branch(NamedTuple):
    """z > 0 or z < 0, where a = slope z: its weight and the truncated Gaussian of z on it."""

    slope: float
    log_weight: np.ndarray
    rho: np.ndarray  # precision of z before it is cut at 0
    mean: np.ndarray
    variance: np.ndarray
    shift: np.ndarray  # of the mean, by the cut
    lost: np.ndarray  # part of the variance, by the cut


def branch(sign: int, slope: float, z: np.ndarray, a: np.ndarray) -> Branch:
    """Return the half on which z has this sign."""
    (tau_z, rho_z), (tau_a, rho_a) = z, a
    rho = rho_z + slope**2 * rho_a
    centre = (tau_z + slope * tau_a) / rho
    x = sign * centre * np.sqrt(rho)
    lam, excess, left = hazard(x)
    # N(slope mean_z; mean_a, slope^2 variance_z + variance_a)
    precision = rho_z * rho_a / rho
    distance = (slope * tau_z * rho_a - tau_a * rho_z) / (rho_z * rho_a)
    log_density = (np.log(precision / (2 * np.pi)) - precision * distance**2) / 2
    shift = sign * lam / np.sqrt(rho)
    return Branch(
        slope, log_density + log_ndtr(x), rho, centre + shift, left / rho, shift, lam * excess
    )


class Marginals(NamedTuple):
    """The factor's messages about z and a, given both messages, before any guard."""

    log_m0: np.ndarray
    z: tuple[np.ndarray, np.ndarray]  # mean and variance
    a: tuple[np.ndarray, np.ndarray]
    to_z: np.ndarray
    to_a: np.ndarray


def leaky_relu_marginals(z: np.ndarray, a: np.ndarray, slope: float) -> Marginals:
    """Return the exact moments and messages; z and a are the incoming messages."""
    plus, minus = branch(1, 1.0, z, a), branch(-1, slope, z, a)
    log_m0 = np.logaddexp(plus.log_weight, minus.log_weight)
    halves = [(np.exp(half.log_weight - log_m0), half) for half in (plus, minus)]
    z_moments, to_z = _projected(halves, (1.0, 1.0), own=z, other=a)
    a_moments, to_a = _projected(halves, (1.0, slope), own=a, other=z)
    return Marginals(log_m0, z_moments, a_moments, to_z, to_a)


def _projected(halves, scales, own, other):
    """Return moments of a variable that is `scale` z on each half, and their quotient by `own`.

    The quotient is arranged to avoid cancellation: for the precision of a truncated Gaussian,
    (rho - own)/rho = (other + own * lost)/rho.
    """
    (weight_1, half_1), (weight_2, half_2) = halves
    apart = weight_1 * weight_2 * (scales[0] * half_1.mean - scales[1] * half_2.mean) ** 2
    mean, variance = np.zeros_like(apart), apart
    tau, rho = -own[0] * apart, -own[1] * apart
    for (weight, half), scale in zip(halves, scales, strict=True):
        other_scale = half.slope / scale
        mean = mean + weight * scale * half.mean
        variance = variance + weight * scale**2 * half.variance
        kept = scale**2 * half.lost * own + np.stack(
            [half.slope * other[0] + scale * half.shift * half.rho, other_scale**2 * other[1]]
        )
        tau, rho = tau + weight * kept[0] / half.rho, rho + weight * kept[1] / half.rho
    return (mean, variance), np.stack([tau, rho]) / variance


def leaky_relu_forward(z: np.ndarray, a: np.ndarray, slope: float) -> np.ndarray:
    """Return the message to a; a is the back message of the example's previous pass."""
    with np.errstate(all="ignore"):
        found = leaky_relu_marginals(z, a, slope)
        tau, rho = found.to_a
        usable = (
            (a[1] > 0)
            & (found.log_m0 >= np.log(1e-8))
            & np.isfinite(tau)
            & (rho >= z[1] * (1 - 1e-5))
        )
    return np.where(usable, found.to_a, leaky_relu_direct(z, slope))


def leaky_relu_backward(z: np.ndarray, a: np.ndarray, slope: float) -> np.ndarray:
    """Return the message to z, of precision at least 1e-8."""
    with np.errstate(all="ignore"):
        found = leaky_relu_marginals(z, a, slope)
        rho = found.to_z[1]
        floor = np.stack([found.z[0] * (z[1] + FLOOR) - z[0], np.full_like(rho, FLOOR)])
        result = np.where(rho < FLOOR, floor, found.to_z)
        lost = ~np.isfinite(result).all(0) | ~(found.log_m0 >= -700) | ((a[0] < 0) & (a[1] < 2e-8))
    return floored(np.where(lost, 0.0, result))


def win_probabilities(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return P(each entry of the last axis exceeds all others), with pairs taken as independent."""
    gaps = mean[..., :, None] - mean[..., None, :]
    spreads = np.sqrt(variance[..., :, None] + variance[..., None, :] + PAIR_NOISE)
    logs = log_ndtr(gaps / spreads) * (1 - np.eye(mean.shape[-1]))
    total = logs.sum(-1)
    odds = np.exp(total - total.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)


def argmax_backward(z: np.ndarray, label: int, target_variance: float | None) -> np.ndarray:
    """Return the messages to the outputs of one example from "output `label` is the largest"."""
    mean, variance = moments(z)
    result = np.zeros_like(z)
    for k in range(z.shape[1]):
        if k == label:
            continue
        gap, spread = mean[label] - mean[k], variance[label] + variance[k] + PAIR_NOISE
        x = gap / np.sqrt(spread)
        lam, excess, left = hazard(x)
        # N(gap, spread) cut at 0, divided by N(gap, spread); left + excess^2 = 1 + x excess
        rho = lam * excess / (spread * left)
        tau = lam * (left + excess**2) / (np.sqrt(spread) * left)
        total = gap, spread
        own, other = (mean[label], variance[label]), (mean[k], variance[k])
        result[:, label] += term_of_sum(1.0, (tau, rho), own, total)
        result[:, k] = ndtr(x) * term_of_sum(-1.0, (tau, rho), other, total)
    if target_variance is not None:
        targets = np.where(np.arange(z.shape[1]) == label, 1.0, -1.0)
        result += message(targets, target_variance)
    return result
