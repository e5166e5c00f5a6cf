"""Quantile regression forests: quantiles of the training targets under a forest's weights.

Source: Meinshausen (2006), "Quantile Regression Forests", eq. 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.libraries.sklearn_rows import single_target, vectors
from bnnbench.methods.predictions.quantiles import LEVELS, QuantilePredictive
from bnnbench.methods.trees.forests import grown, require_feature_share
from bnnbench.methods.trees.leaf_weights import LeafWeights
from bnnbench.methods.tuning.space import Integers, Log, Space

ROUNDING = 1e-12
"""Amount by which a sum of weights may miss a level that it equals."""
WEIGHTS_AT_ONCE = 2**22


@dataclass(frozen=True)
class QuantileForestPosterior:
    """The weights of a forest, and the distinct training targets in ascending order."""

    weights: LeafWeights
    targets: Float64[Tensor, " groups"]
    levels: tuple[float, ...]
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> QuantilePredictive:
        """Return the least target at which the sum of weights reaches each level."""
        size = max(1, WEIGHTS_AT_ONCE // len(self.targets))
        places = torch.cat([self._places(part) for part in inputs.split(size)])
        values = self.targets[places][:, None].to(inputs.device)
        levels = torch.tensor(self.levels, dtype=torch.float64, device=inputs.device)
        return QuantilePredictive(levels, values)

    def _places(self, inputs: Tensor) -> Tensor:
        sums = torch.from_numpy(self.weights.at(vectors(inputs)).cumsum(1))
        levels = torch.tensor(self.levels, dtype=torch.float64) - ROUNDING
        places = torch.searchsorted(sums, levels.expand(len(sums), -1).contiguous())
        return places.clamp_max(len(self.targets) - 1)


@dataclass(frozen=True)
class QuantileForest:
    """A quantile regression forest; its quantiles are training targets, without a density."""

    card: ClassVar[Card] = Card(
        "not a network",
        problems=("mlp regression", "linear regression", "cnn regression"),
        gradients=False,
        restarts="one fit, whose state scikit-learn holds",
    )
    label: ClassVar[str] = "Quantile forest"
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space({"least_rows": Integers(1, 20), "feature_share": Log(0.15, 1.0)})

    trees: int = 500
    """Number of trees."""
    least_rows: int = 5
    """Minimum number of drawn rows in a leaf."""
    feature_share: float = 1 / 3
    """Share of the features among which each split is chosen."""
    levels: tuple[float, ...] = LEVELS
    """Levels of the quantiles."""

    def __post_init__(self) -> None:
        require_count(self, "trees", "least_rows")
        require_feature_share(self)
        inside = all(0 < level < 1 for level in self.levels)
        if not (self.levels and inside and list(self.levels) == sorted({*self.levels})):
            raise ValueError(
                f"QuantileForest needs levels that increase between 0 and 1; got {self.levels}"
            )

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the forest; raises `Unsupported` for classes and several targets."""
        targets = single_target(problem, self)
        forest = grown(self, problem, targets, rng)
        values, groups = np.unique(targets, return_inverse=True)
        inputs = vectors(problem.train.inputs)
        weights = LeafWeights.of(forest, inputs, groups.astype(np.int64), len(values))
        leaves = float(np.mean([tree.get_n_leaves() for tree in forest.estimators_]))
        return QuantileForestPosterior(
            weights, torch.from_numpy(values), self.levels, {"leaves_per_tree": leaves}
        )
