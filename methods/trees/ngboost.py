r"""NGBoost: boosting of a Gaussian's mean and log standard deviation along the natural gradient.

A round fits one tree to each component of the natural gradient of the log score,

$$ \Big(\mu - y, \quad \tfrac12 \big(1 - (y - \mu)^2 / \sigma^2\big)\Big), $$

and subtracts the trees times a step, found by doubling and halving, times the learning rate. The
algorithm is that of the package ngboost 0.6.0 with Normal and the log score, whose `minibatch_frac`
are the rows of a round; the package itself requires an older scikit-learn than this project.

Source: Duan et al. (2020), "NGBoost: Natural Gradient Boosting for Probabilistic Prediction",
algorithm 1.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from bnnbench.datasets.base import Split
from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.libraries.sklearn_rows import seed_of, single_target
from bnnbench.methods.trees.additive import UncertainTrees
from bnnbench.methods.trees.natural_gradient import loss
from bnnbench.methods.trees.rounds import Growth, as_arrays, outputs_of, singles
from bnnbench.methods.tuning.space import Integers, Log, Space


@dataclass(frozen=True)
class NgBoost:
    """Natural gradient boosting with as many rounds as predict held-out rows best.

    The trees are then grown anew from all rows. Without a stop the variances shrink to the
    residuals of training rows. Calibration rows take the place of held-out rows if a problem brings
    them.
    """

    card: ClassVar[Card] = Card(
        "not a network",
        problems=("mlp regression", "linear regression", "cnn regression"),
        gradients=False,
        restarts="some hundreds of trees, whose state scikit-learn holds",
    )
    label: ClassVar[str] = "NGBoost"
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {"learning_rate": Log(0.02, 0.2), "depth": Integers(2, 5), "least_rows": Integers(1, 20)}
    )

    learning_rate: float = 0.03
    """Share of each step that is taken."""
    depth: int = 3
    """Maximum depth of a tree."""
    least_rows: int = 1
    """Minimum number of training rows in a leaf."""
    rows_per_tree: int = 2000
    """Maximum number of training rows, drawn anew in each round, from which its trees grow."""
    most_trees: int = 1000
    """Maximum number of rounds of two trees each."""
    patience: int = 20
    """Rounds without a better prediction of held-out rows after which growth ends."""
    validation_share: float = 0.15
    """Share of rows held out to stop by."""

    def __post_init__(self) -> None:
        require_count(self, "depth", "least_rows", "rows_per_tree", "most_trees", "patience")
        require_positive(self, "learning_rate", "validation_share")
        require_between(self, 0.0, 1.0, "validation_share")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the trees of the best number of rounds.

        Raises `Unsupported` for classes, several targets, and a single row.
        """
        single_target(problem, self)  # refused before rows are drawn
        seed, (rest, validation) = seed_of(rng), set_aside(problem, self.validation_share, rng)
        losses = self._losses(Growth.of(rest, self), validation, seed)
        best = int(np.argmin(losses))
        growth = Growth.of(problem, self)
        start = torch.from_numpy(growth.params[0].copy())
        for _ in range(best):
            growth.grow(self, seed)
        diagnostics = {
            "rounds": float(best),
            "stopped": float(best < self.most_trees),
            "held_out_log_likelihood": -losses[best],
        }
        trees = as_arrays(growth.rounds, self.depth)
        return UncertainTrees(trees, start, growth.mean, growth.std, diagnostics)

    def _losses(self, growth: Growth, validation: Split, seed: int) -> list[float]:
        """Return the loss of held-out rows after each round, until the least is old."""
        inputs = singles(validation.inputs)
        targets = validation.targets[:, 0].double().cpu().numpy()
        targets = (targets - growth.mean) / growth.std
        params = np.tile(growth.params[0], (len(targets), 1))
        losses = [loss(params, targets)]
        while len(losses) <= self.most_trees and len(losses) - np.argmin(losses) <= self.patience:
            growth.grow(self, seed)
            step, pair = growth.rounds[-1]
            params = params - step * outputs_of(pair, inputs)
            losses.append(loss(params, targets))
            progress.report(len(growth.rounds), self.most_trees, losses[-1])
        return [each + math.log(growth.std) for each in losses]
