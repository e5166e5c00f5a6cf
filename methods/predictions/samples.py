"""Samples of each target: the whole output of a sampler, or of another program."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import Packed
from bnnbench.methods.predictions.levels import ceil_of
from bnnbench.methods.predictions.predictive import in_chunks


@dataclass(frozen=True)
class SamplePredictive(Packed):
    """The empirical distribution of equally likely samples of each target.

    It has no density. Samples are of the target, including noise. Samples of different points are
    not assumed to belong together.
    """

    samples: Float[Tensor, "draws points outputs"]

    of_classes: ClassVar[bool] = False

    def __len__(self) -> int:
        return self.samples.shape[1]

    @property
    def mean(self) -> Float64[Tensor, "points outputs"]:
        """The mean of the samples."""
        return in_chunks(lambda samples: samples.double().mean(0), self.samples)

    @property
    def variance(self) -> Float64[Tensor, "points outputs"]:
        """The variance of the empirical distribution: the mean of the squared deviations."""
        return in_chunks(lambda samples: samples.double().var(0, correction=0), self.samples)

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, "points outputs"]:
        """Return the share of samples that are at most the target."""
        return in_chunks(lambda x, y: (x <= y).double().mean(0), self.samples, target[None])

    def quantile(self, level: float) -> Float64[Tensor, "points outputs"]:
        """Return the lowest sample at which the cdf reaches the level."""
        rank = ceil_of(level, len(self.samples))
        return in_chunks(lambda x: x.double().sort(0).values[max(rank, 1) - 1], self.samples)

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "SamplePredictive":
        """Return the samples of mean + std * y, numbers or one of each output; std > 0."""
        return SamplePredictive(torch.add(mean, std * self.samples.double()))
