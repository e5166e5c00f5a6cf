r"""A model whose posterior is a reference: data, network, prior and noise.

$$ a_l = W_l [z_{l-1}; 1] / \sqrt{V_{l-1} + 1}, \quad z_l = \mathrm{act}(a_l), \quad
   W_l[i, j] \sim N(0, 1/\lambda), \quad y \mid x \sim N(f(x), \sigma^2) $$

for layers of V_l units, biases in the last column of each W_l, inputs and targets standardised by
the training rows. This is the scale of `methods.hmc.scaled_networks`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from bnnbench.datasets.base import Dataset, DataSource, Gaussian, Split
from bnnbench.datasets.references.certificate import checksums
from bnnbench.engine.declare.description import describe, digest
from bnnbench.methods.base import Problem
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.architectures import Architecture, Linear, ReLU, Tanh
from bnnbench.methods.networks.perceptron import as_perceptron
from bnnbench.methods.networks.priors import FixedPrecision


@dataclass(frozen=True)
class FixedNoise:
    """Noise of a known standard deviation σ, in standardised target units."""

    std: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.std) and self.std > 0):
            raise ValueError(f"needed a noise std above 0; got {self.std}")


@dataclass(frozen=True)
class Model:
    """A posterior over functions, determined by data, network, prior and noise."""

    source: DataSource
    fold: int
    architecture: Architecture
    prior: FixedPrecision
    noise: FixedNoise

    def __post_init__(self) -> None:
        if not any(isinstance(layer, Linear) for layer in self.architecture):
            raise ValueError(f"needed a network with layers of units; got {self.architecture}")
        as_perceptron(self.architecture, (1,), ReLU, Tanh)

    @property
    def description(self) -> object:
        """The model as plain data."""
        return describe(self)

    @property
    def hash(self) -> str:
        """The digest of the model's description, which identifies it."""
        return digest(self.description)

    @property
    def family(self) -> str:
        """The name of the network and kind of prior: models of one family share a calibration."""
        perceptron = as_perceptron(self.architecture, (1,), ReLU, Tanh)
        activation = type(perceptron.activation).__name__.lower()
        widths = "-".join(map(str, perceptron.widths[1:-1]))
        return f"{activation}{widths}-fixed"

    @cached_property
    def data(self) -> Dataset:
        """The fold on which the model is conditioned, as methods see it."""
        return self.source.load(self.fold)

    @property
    def problem(self) -> Problem:
        """The problem of the fold's training rows, in float64, with known noise."""
        train = self.data.train
        doubled = Split(train.inputs.double(), train.targets.double())
        return Problem(doubled, Gaussian(self.noise.std), self.architecture)

    @property
    def checksums(self) -> Mapping[str, object]:
        """The SHA-256 of each standardised array, and the sizes."""
        return checksums(self.data)


SEEDS = (0, 1)
"""Seeds of the run whose draws are stored, and of its repetition."""


@dataclass(frozen=True)
class Recipe:
    """A model and the settings of its sampler."""

    model: Model
    sampler: Hmc
