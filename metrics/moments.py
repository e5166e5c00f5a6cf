"""Moments of units compared with samples: errors of means, deviations and probabilities.

Source: paper 001, section 4 ("Approximation Accuracy").
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

SATURATED = 1e-8
"""Units whose samples have a smaller standard deviation are left out of ratios."""


@dataclass(frozen=True)
class Units:
    """Means and standard deviations (None: 0) of a layer's units for several images."""

    mean: Float[Tensor, "images *units"]
    std: Float[Tensor, "images *units"] | None = None


@dataclass(frozen=True)
class SampledUnits:
    """Moments estimated from this number of samples; exact if `samples` is None."""

    mean: Float64[Tensor, "images *units"]
    std: Float64[Tensor, "images *units"]
    samples: int | None = None


class RunningMoments:
    """Mean and variance of samples that arrive in batches and are not stored.

    A batch's sums are over deviations from its mean, in the samples' floating-point type;
    everything else is in float64. Source: Chan, Golub and LeVeque (1979), the corrected two passes
    within batches and the update of Welford (1962) between them.
    """

    def __init__(self) -> None:
        self.count = 0
        self._mean = self._squares = torch.zeros((), dtype=torch.float64)

    def add(self, samples: Float[Tensor, "samples *units"]) -> None:
        """Add a batch of samples."""
        count, rough = len(samples), samples.mean(0)
        deviations = samples - rough
        correction = deviations.sum(0).double()
        mean = rough.double() + correction / count
        squares = deviations.square_().sum(0).double() - correction.square() / count
        if not self.count:
            self.count, self._mean, self._squares = count, mean, squares
            return
        total, step = self.count + count, mean - self._mean
        self._mean = self._mean + step * (count / total)
        self._squares = self._squares + squares + step.square() * (self.count * count / total)
        self.count = total

    @property
    def mean(self) -> Float64[Tensor, "*units"]:
        """The mean of all samples."""
        return self._mean

    @property
    def variance(self) -> Float64[Tensor, "*units"]:
        """The unbiased variance of all samples; there are at least two."""
        return self._squares / (self.count - 1)

    def units(self) -> SampledUnits:
        """Return the moments, for samples whose leading axis is the images."""
        return SampledUnits(self.mean, self.variance.sqrt(), self.count)

    def population(self) -> SampledUnits:
        """Return the moments, as of one image, for samples that are the whole population."""
        std = (self._squares / self.count).sqrt()
        return SampledUnits(self.mean[None], std[None])


def eps_mu(estimate: Units, truth: SampledUnits) -> Float64[Tensor, ""]:
    r"""Return the mean absolute error of the means, in units of the samples' mean std.

    $$ \operatorname{mean} |\mu - \mu^*| / \operatorname{mean} \sigma^* $$
    """
    return (estimate.mean.double() - truth.mean).abs().mean() / truth.std.mean()


def eps_sigma(estimate: Units, truth: SampledUnits) -> Float64[Tensor, ""]:
    r"""Return the geometric mean of the ratio of standard deviations; 1 is exact.

    Units with saturated samples are left out; NaN if all are.
    """
    if estimate.std is None:
        raise ValueError("eps_sigma needs standard deviations; got only means")
    alive = truth.std >= SATURATED
    return (estimate.std.double()[alive].log() - truth.std[alive].log()).mean().exp()


def excluded_share(estimate: Units, truth: SampledUnits) -> Float64[Tensor, ""]:
    """Return the share of units that `eps_sigma` leaves out."""
    return (truth.std < SATURATED).double().mean()


def eps_mu_floor(estimate: Units, truth: SampledUnits) -> Float64[Tensor, ""]:
    r"""Return the `eps_mu` of exact means of Gaussian units against this number of samples."""
    floor = 0.0 if truth.samples is None else math.sqrt(2 / (math.pi * truth.samples))
    return torch.tensor(floor, dtype=torch.float64)


def kl_class_posterior(
    log_probs: Float[Tensor, "images classes"], truth: SampledUnits
) -> Float64[Tensor, ""]:
    r"""Return the mean over images of KL(q* ‖ q), q* the mean of sampled probabilities, in nats."""
    sampled = truth.mean
    terms = torch.where(sampled > 0, sampled * (sampled.log() - log_probs.double()), 0.0)
    return terms.sum(1).mean()


def kl_floor(estimate: object, truth: SampledUnits) -> Float64[Tensor, ""]:
    r"""Return the KL that the exact class posterior has against this number of samples, in nats.

    To first order in 1/T: $\sum_y \operatorname{Var} p_y / (2 T q^*_y)$.
    """
    if truth.samples is None:
        return torch.tensor(0.0, dtype=torch.float64)
    terms = torch.where(truth.mean > 0, truth.std.square() / truth.mean, 0.0)
    return terms.sum(1).mean() / (2 * truth.samples)


def propagated_mean(estimate: Units, samples: object) -> Float64[Tensor, ""]:
    """Return a single unit's mean by propagated moments; samples are ignored."""
    return estimate.mean.double().squeeze()


def propagated_std(estimate: Units, samples: object) -> Float64[Tensor, ""]:
    """Return a single unit's standard deviation by propagated moments.

    Raises ValueError if only means are propagated.
    """
    if estimate.std is None:
        raise ValueError("propagated_std needs standard deviations; got only means")
    return estimate.std.double().squeeze()


def sampled_quantile(samples: Float64[Tensor, " samples"], level: float) -> Float64[Tensor, ""]:
    """Return a quantile of a single unit's samples, interpolated between samples."""
    return samples.quantile(level)
