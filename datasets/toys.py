"""Noisy cubics whose true function is known: data from a law and a seed, not from files.

Fold k is an independent data set, drawn by NumPy's legacy generator with seed k, whose stream
is the same in every version. Test inputs are an even grid that reaches beyond the training
inputs; their targets have noise as well, so that likelihood and coverage mean what they say.
The papers' own draws are unknown.
"""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch

from datasets import tables
from datasets.base import Dataset, Origin, Table
from datasets.cache import cached

TEST_ROWS = 121


class _NoisyCubic(ABC):
    """y = x³ + noise; a subclass says where x lies and how large the noise is."""

    folds = 100
    target = ("y", "")
    licence = "none needed: generated"
    bytes = 0
    noise_std: float
    farthest: float
    """The test grid spans ± this."""
    law: str
    """How the data come about, for people."""

    @property
    def origin(self) -> Origin:
        """Drawn from a law."""
        return "generated"

    @abstractmethod
    def inputs(self, rng: np.random.RandomState) -> np.ndarray:
        """Return training inputs."""
        ...

    @cached(20)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised, with the true function at the test inputs."""
        dataset = tables.load(self, fold)  # type: ignore[arg-type] (a subclass is a source)
        assert dataset.target is not None
        truth = (self.table(fold).test_inputs ** 3 - dataset.target.mean) / dataset.target.std
        return dataclasses.replace(
            dataset,
            truth=torch.from_numpy(truth).float(),
            facts={**dataset.facts, "law": self.law},
        )

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold."""
        rng = np.random.RandomState(fold)
        train = self.inputs(rng)
        test = np.linspace(-self.farthest, self.farthest, TEST_ROWS)
        targets = (x**3 + self.noise_std * rng.standard_normal(len(x)) for x in (train, test))
        train_targets, test_targets = targets
        return Table(train[:, None], train_targets, test[:, None], test_targets)

    def missing(self) -> tuple[str, ...]:
        """Return nothing: there are no files."""
        return ()

    def fetch(self) -> None:  # noqa: B027 (nothing to do is its work)
        """Do nothing: there are no files."""

    def fallbacks(self) -> tuple[()]:
        """Return nothing: none is needed."""
        return ()


@dataclass(frozen=True)
class Cubic(_NoisyCubic):
    """20 inputs between -4 and 4 and noise of variance 9, tested between -6 and 6.

    Source: Hernández-Lobato and Adams (2015), "Probabilistic Backpropagation for Scalable
    Learning of Bayesian Neural Networks", section 5.3.
    """

    name = "cubic"
    noise_std = 3.0
    farthest = 6.0
    law = "x uniform on [-4, 4], y = x³ + N(0, 9)"

    def inputs(self, rng: np.random.RandomState) -> np.ndarray:
        """Return 20 inputs."""
        return rng.uniform(-4, 4, 20)


@dataclass(frozen=True)
class CubicGap(_NoisyCubic):
    """10 inputs in each of [-1, -0.5] and [0.5, 1], tested between -1.5 and 1.5.

    Source: seed paper 002, appendix C.1, which names neither the cubic nor its noise and may
    mean 10 inputs in all; the cubic x³, noise of standard deviation 0.1 and 20 inputs are ours.
    """

    name = "cubic_gap"
    noise_std = 0.1
    farthest = 1.5
    law = "|x| uniform on [0.5, 1], half of each sign, y = x³ + N(0, 0.01)"

    def inputs(self, rng: np.random.RandomState) -> np.ndarray:
        """Return 10 inputs left of the gap and 10 right of it."""
        return np.concatenate([rng.uniform(-1, -0.5, 10), rng.uniform(0.5, 1, 10)])
