"""Sums of fitted trees as arrays, which need no package to predict and to be loaded."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from bnnbench.methods.libraries.sklearn_rows import categorical, of_all_classes
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive

VALUES_AT_ONCE = 2**21
LEAST_STD = 1e-3
"""Minimum standard deviation, in deviations of the training targets."""


@dataclass(frozen=True)
class BinaryTrees:
    """Trees of any shape, whose inputs are rounded to single precision as in scikit-learn."""

    features: Int64[Tensor, " nodes"]
    thresholds: Float64[Tensor, " nodes"]
    """A point goes left if its feature is at most the threshold."""
    lefts: Int64[Tensor, " nodes"]
    rights: Int64[Tensor, " nodes"]
    """Children; of a leaf, the leaf itself."""
    values: Float64[Tensor, "nodes outputs"]
    roots: Int64[Tensor, " trees"]
    depth: int

    def __call__(
        self, inputs: Float[Tensor, "points *features"]
    ) -> Float64[Tensor, "points outputs"]:
        """Return the sum of the trees' values at each point."""
        size = max(1, VALUES_AT_ONCE // max(1, len(self.roots)))
        return torch.cat([self._sums(part) for part in _singles(inputs).split(size)])

    def _sums(self, inputs: Tensor) -> Tensor:
        nodes = self.roots.expand(len(inputs), -1)
        for _ in range(self.depth):
            is_left = inputs.gather(1, self.features[nodes]) <= self.thresholds[nodes]
            nodes = torch.where(is_left, self.lefts[nodes], self.rights[nodes])
        return self.values[nodes].sum(1)


@dataclass(frozen=True)
class ObliviousTrees:
    """Trees that ask the same question at all nodes of a level, as those of CatBoost."""

    features: Int64[Tensor, "trees levels"]
    borders: Float64[Tensor, "trees levels"]
    """Bit k of a leaf's number is 1 if the feature of level k is above the border."""
    values: Float64[Tensor, "trees leaves outputs"]

    def __call__(
        self, inputs: Float[Tensor, "points *features"]
    ) -> Float64[Tensor, "points outputs"]:
        """Return the sum of the trees' values at each point."""
        size = max(1, VALUES_AT_ONCE // max(1, self.features.numel()))
        return torch.cat([self._sums(part) for part in _singles(inputs).split(size)])

    def _sums(self, inputs: Tensor) -> Tensor:
        trees, levels = self.features.shape
        bits = inputs[:, self.features] > self.borders
        leaves = (bits.long() << torch.arange(levels)).sum(2)
        return self.values[torch.arange(trees), leaves].sum(1)


@dataclass(frozen=True)
class UncertainTrees:
    """Trees whose two outputs are the mean and the log standard deviation of a Gaussian."""

    trees: BinaryTrees | ObliviousTrees
    start: Float64[Tensor, " outputs"]
    """Outputs without any tree."""
    target_mean: float
    target_std: float
    """Mean and deviation of the targets, by which the outputs are in standardised units."""
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return one Gaussian per point; nothing is drawn."""
        means, log_stds = (self.start + self.trees(inputs)).T[..., None].to(inputs.device)
        stds = self.target_std * log_stds.clamp_min(math.log(LEAST_STD)).exp()
        return GaussianPredictive(
            (self.target_mean + self.target_std * means)[None], stds.square()[None]
        )


@dataclass(frozen=True)
class ClassTrees:
    """Trees whose outputs are the logits of the classes seen in training."""

    trees: ObliviousTrees
    start: Float64[Tensor, " outputs"]
    """Outputs without any tree."""
    seen: Int64[Tensor, " outputs"]
    classes: int
    rows: int
    """Number of training rows."""
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> CategoricalPredictive:
        """Return the probabilities of all classes; nothing is drawn."""
        probabilities = (self.start + self.trees(inputs)).softmax(1).numpy()
        complete = of_all_classes(probabilities, self.seen.numpy(), self.classes)
        return categorical(complete[None], self.rows, inputs)


def _singles(inputs: Tensor) -> Tensor:
    """Return inputs as vectors in single precision, on the CPU."""
    return inputs.detach().cpu().flatten(1).float()
