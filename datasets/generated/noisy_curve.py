"""One-dimensional problems with a known true function, drawn by a seed.

Fold k is an independent data set, drawn by NumPy's legacy generator with seed k, whose stream
is the same in every version. Test inputs are an even grid that extends beyond the training
inputs; their targets are noisy too, so that likelihood and coverage are meaningful.
The papers' own draws are unknown.
"""

import dataclasses
from abc import ABC, abstractmethod

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from bnnbench.datasets.base import Dataset, Table
from bnnbench.datasets.generated.base import GeneratedRegression
from bnnbench.datasets.reading import tables
from bnnbench.datasets.reading.cache import cached


class NoisyCurve(GeneratedRegression, ABC):
    """y = f(x) + noise; subclasses define f, the range of x and the noise."""

    name: str
    folds = 100
    noise_std: float
    noise_is_known = False
    """True if methods know the noise."""
    law: str
    """A description of the data distribution, for people."""

    @abstractmethod
    def function(self, inputs: Float[ndarray, " points"]) -> Float[ndarray, " points"]:
        """Return the true function's values."""
        ...

    @abstractmethod
    def inputs(self, rng: np.random.RandomState) -> Float[ndarray, " rows"]:
        """Return training inputs."""
        ...

    @abstractmethod
    def grid(self, train: Float[ndarray, " rows"]) -> Float[ndarray, " points"]:
        """Return test inputs for these training inputs."""
        ...

    @cached(20)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised, with the true function at the test inputs."""
        dataset = tables.load(self, fold)
        assert dataset.target is not None
        truth = self.function(self.table(fold).test_inputs) - dataset.target.mean
        return dataclasses.replace(
            dataset,
            truth=torch.from_numpy(truth / dataset.target.std).float(),
            facts={**dataset.facts, "law": self.law},
        )

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold."""
        rng = np.random.RandomState(fold)
        train = self.inputs(rng)
        test = self.grid(train)
        train_targets, test_targets = (
            self.function(x) + self.noise_std * rng.standard_normal(len(x)) for x in (train, test)
        )
        noise_std = self.noise_std if self.noise_is_known else None
        rows = (train[:, None], train_targets, test[:, None], test_targets)
        return Table(*rows, noise_std=noise_std)


def even_grid(low: float, high: float, step: float) -> Float[ndarray, " points"]:
    """Return low, low + step, ... up to `high`."""
    return low + step * np.arange(int(np.floor((high - low) / step + 1e-9)) + 1)
