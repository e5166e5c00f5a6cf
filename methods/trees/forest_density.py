r"""A random forest as a density: a kernel estimate from the training rows in a point's leaves.

With the weights $w_i(x)$ of `leaf_weights`, a target has the density

$$ p(y \mid x) = \sum_i w_i(x)\, N(y; y_i, h^2) $$

whose width h has the greatest out-of-bag density: a training row is predicted by the trees that did
not draw it, without its own target. A row's own trees have seen its target, and would choose the
smallest width. Class probabilities are the weights of the classes, mixed with the training rows'
frequencies; the share of the frequencies is chosen in the same way.

Sources: Breiman (2001), "Random Forests"; Meinshausen (2006), "Quantile Regression Forests", for
the weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.libraries.sklearn_rows import labels, single_target, vectors
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.predictions.weighted import WeightedGaussianPredictive
from bnnbench.methods.trees.forests import grown, require_feature_share
from bnnbench.methods.trees.leaf_weights import LeafWeights
from bnnbench.methods.trees.target_groups import TargetGroups
from bnnbench.methods.tuning.space import Integers, Log, Space

WIDTHS = np.geomspace(0.01, 1, 25)
"""Widths to choose from, in standard deviations of the training targets."""
SHARES = np.geomspace(1e-3, 1, 25)
"""Shares of the frequencies of classes to choose from."""


@dataclass(frozen=True)
class DensityPosterior:
    """The weights of a forest, and the Gaussian of each group of targets."""

    weights: LeafWeights
    means: Float64[Tensor, " groups"]
    variances: Float64[Tensor, " groups"]
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> WeightedGaussianPredictive:
        """Return a mixture with one component for each group; nothing is drawn."""
        weights = torch.from_numpy(self.weights.at(vectors(inputs)))
        return _mixture(weights, self.means, self.variances, inputs)


@dataclass(frozen=True)
class FrequencyPosterior:
    """The weights of a forest, and the frequencies of classes that are mixed in."""

    weights: LeafWeights
    frequencies: Float64[Tensor, " classes"]
    share: float
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> CategoricalPredictive:
        """Return the probabilities of classes; nothing is drawn."""
        weights = torch.from_numpy(self.weights.at(vectors(inputs)))
        mixed = (1 - self.share) * weights + self.share * self.frequencies
        return CategoricalPredictive(mixed.log()[None].to(inputs.device))


@dataclass(frozen=True)
class ForestDensity:
    """A random forest whose density, or class probabilities, are tuned out of bag."""

    card: ClassVar[Card] = Card(
        "not a network", gradients=False, restarts="one fit, whose state scikit-learn holds"
    )
    label: ClassVar[str] = "Forest density"
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space({"least_rows": Integers(1, 20), "feature_share": Log(0.15, 1.0)})

    trees: int = 500
    """Number of trees."""
    least_rows: int = 5
    """Minimum number of drawn rows in a leaf."""
    feature_share: float = 1 / 3
    """Share of the features among which each split is chosen."""

    def __post_init__(self) -> None:
        require_count(self, "trees", "least_rows")
        require_feature_share(self)

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the forest with its width or share.

        Raises `Unsupported` for several targets, and if all trees drew all rows.
        """
        if isinstance(problem.likelihood, Categorical):
            return self._classes(problem, problem.likelihood.classes, rng)
        targets = single_target(problem, self)
        groups = TargetGroups.of(targets)
        weights = _weights(self, problem, targets, groups.of_rows, len(groups.means), rng)
        outside, usable = _out_of_bag(weights, self)
        scale = float(targets.std()) or 1.0
        widths = scale * WIDTHS
        means, within = torch.from_numpy(groups.means), torch.from_numpy(groups.variances)
        seen = torch.from_numpy(targets[usable])[:, None]
        densities = [
            float(_mixture(outside, means, within + width**2, seen).log_prob(seen).mean())
            for width in widths
        ]
        best = int(np.argmax(densities))
        diagnostics = {
            "width": float(WIDTHS[best]),
            "out_of_bag_log_likelihood": densities[best],
        }
        return DensityPosterior(weights, means, within + widths[best] ** 2, diagnostics)

    def _classes(self, problem: Problem, classes: int, rng: torch.Generator) -> FrequencyPosterior:
        targets = labels(problem)
        weights = _weights(self, problem, targets, targets, classes, rng)
        outside, usable = _out_of_bag(weights, self)
        counts = np.bincount(targets, minlength=classes) + 1.0
        frequencies = torch.from_numpy(counts / counts.sum())
        seen = torch.from_numpy(targets[usable])
        of_seen = outside.gather(1, seen[:, None])[:, 0]
        log_probs = [
            float(((1 - share) * of_seen + share * frequencies[seen]).log().mean())
            for share in SHARES
        ]
        best = int(np.argmax(log_probs))
        diagnostics = {
            "frequency_share": float(SHARES[best]),
            "out_of_bag_log_likelihood": log_probs[best],
        }
        return FrequencyPosterior(weights, frequencies, float(SHARES[best]), diagnostics)


def _weights(
    method: ForestDensity,
    problem: Problem,
    targets: np.ndarray,
    groups: np.ndarray,
    count: int,
    rng: torch.Generator,
) -> LeafWeights:
    forest = grown(method, problem, targets, rng)
    return LeafWeights.of(forest, vectors(problem.train.inputs), groups, count)


def _out_of_bag(weights: LeafWeights, method: ForestDensity) -> tuple[Tensor, np.ndarray]:
    """Return the weights of rows that some tree did not draw, and which rows these are."""
    outside, usable = weights.out_of_bag()
    if not usable.any():
        raise Unsupported(
            f"ForestDensity needed rows that some tree did not draw; all {method.trees} trees drew "
            f"all {len(usable)} rows: use more trees or more rows"
        )
    return torch.from_numpy(outside[usable]), usable


def _mixture(
    weights: Float64[Tensor, "points groups"],
    means: Float64[Tensor, " groups"],
    variances: Float64[Tensor, " groups"],
    pattern: Tensor,
) -> WeightedGaussianPredictive:
    parts = (each[:, None, None].expand(-1, len(weights), 1) for each in (means, variances))
    return WeightedGaussianPredictive(*(each.to(pattern.device) for each in (weights.T, *parts)))
