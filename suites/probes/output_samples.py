"""Distribution of a network's noisy outputs for one image, compared with propagated moments.

Source: paper 001, figure 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.moment_propagation.approximation import ApproximatePosterior
from bnnbench.metrics import PROBED
from bnnbench.metrics.moments import Units
from bnnbench.suites.probes.moment_accuracy import ROWS_AT_ONCE, in_parts, units

LEVELS = (0.01, *(round(0.05 * step, 2) for step in range(1, 20)), 0.99)
"""Levels of the recorded quantiles; except at the ends, equal shares of samples lie between
neighbours."""


@dataclass(frozen=True)
class OutputSamples:
    """Propagated mean and deviation of every output for one test image, and its sampled quantiles.

    The quantiles come from `samples` runs through the network with its noise; all methods of a
    source, fold and seed share them.
    """

    image: int = 0
    """Number of the test image, counted from 0."""
    samples: int = 10_000

    def __post_init__(self) -> None:
        if self.image < 0 or self.samples < 2:
            raise ValueError(
                f"needed an image number >= 0 and at least 2 samples; got {self.image} and "
                f"{self.samples}"
            )

    def measure(
        self, posterior: ApproximatePosterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return "output_3" → moments and "output_3_quantile_0.25" → quantile, for every output.

        Raises ValueError for an image beyond the test set.
        """
        if self.image >= len(dataset.test):
            raise ValueError(f"needed one of {len(dataset.test)} images; got number {self.image}")
        image = dataset.test.inputs[self.image][None].to(rng.device)
        propagated = units(posterior.layers(image)[-1])
        samples = self._samples(posterior, image, rng)
        measured = {}
        for number in range(samples.shape[1]):
            one = Units(
                propagated.mean[:, number],
                None if propagated.std is None else propagated.std[:, number],
            )
            names = ["propagated_mean"] + ["propagated_std"] * (one.std is not None)
            scores = {name: float(PROBED[name].score(one, samples)) for name in names}
            traits = Traits(f"output {number}", output=number)
            measured[condition_names.output(number)] = Measured(scores, traits)
            for level in LEVELS:
                quantile = float(PROBED["sampled_quantile"].score(samples[:, number], level))
                traits = Traits(f"output {number}, quantile {level:g}", output=number, level=level)
                name = condition_names.output_quantile(number, level)
                measured[name] = Measured({"sampled_quantile": quantile}, traits)
        return measured

    def _samples(
        self, posterior: ApproximatePosterior, image: Tensor, rng: torch.Generator
    ) -> Float64[Tensor, "samples outputs"]:
        parts = [
            posterior.samples(image.repeat(count, *[1] * (image.dim() - 1)), rng)[-1]
            for count in in_parts(self.samples, ROWS_AT_ONCE)
        ]
        return torch.cat(parts).double()
