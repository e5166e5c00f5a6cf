"""The predictive cdf at the true function, position by position, far from the training inputs."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.base import Posterior
from bnnbench.metrics import PROBED
from bnnbench.metrics.credible import OUTSIDE


@dataclass(frozen=True)
class FarCdf:
    """One in `every` of the test inputs beyond ±10.

    Seven steps of a twentieth fall into every phase of the sines, whose periods are 1 and a half.
    """

    every: int = 7

    def measure(
        self, posterior: Posterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return names such as "at_-12.5" → the cdf at the true function.

        Raises ValueError for a data set without a known function of one input.
        """
        inputs, truth = dataset.test.inputs, dataset.truth
        if truth is None or inputs.shape[1:] != (1,):
            raise ValueError("needed a known function of one input")
        position = dataset.scaling.invert(inputs.double())[:, 0]
        far = (position.abs() > OUTSIDE).nonzero()[:: self.every, 0]
        prediction = posterior.predict(inputs[far].to(rng.device), rng)
        cdf = PROBED["cdf_at_each"].score(prediction, truth[far].to(rng.device))
        return {
            condition_names.at(x): Measured(
                {"cdf_at_each": value}, Traits(f"x = {x:.2f}", position=x)
            )
            for x, value in zip(position[far].tolist(), cdf.tolist(), strict=True)
        }
