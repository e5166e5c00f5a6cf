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
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float64
from sklearn.tree import DecisionTreeRegressor
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.libraries.sklearn_rows import seed_of, single_target, vectors
from bnnbench.methods.trees.additive import LEAST_STD, BinaryTrees, UncertainTrees
from bnnbench.methods.tuning.space import Integers, Log, Space

Params = Float64[np.ndarray, "rows outputs"]
"""Mean and log standard deviation of each row."""
LARGEST_STEP = 256.0
TOLERANCE = 1e-4
"""Mean length of a step below which the search for one ends."""


@dataclass
class Growth:
    """The rounds so far, and the parameters of the training rows after them."""

    inputs: np.ndarray
    targets: Float64[np.ndarray, " rows"]
    """Standardised by `mean` and `std`."""
    params: Params
    mean: float = 0.0
    std: float = 1.0
    rounds: list[tuple[float, tuple[Any, Any]]] = field(default_factory=list)
    """Step and trees of each round."""

    @classmethod
    def of(cls, problem: Problem, method: "NgBoost") -> "Growth":
        """Return a growth without rounds, at the mean and deviation of all targets."""
        targets = single_target(problem, method)
        mean, std = float(targets.mean()), float(targets.std())
        start = [0.0, 0.0 if std else math.log(LEAST_STD)]
        return cls(
            singles(problem.train.inputs),
            (targets - mean) / (std or 1.0),
            np.tile(start, (len(targets), 1)),
            mean,
            std or 1.0,
        )

    def grow(self, method: "NgBoost", seed: int) -> None:
        """Add a round."""
        rows = self._drawn(method.rows_per_tree, seed)
        gradient = natural_gradient(self.params[rows], self.targets[rows])
        pair = tuple(
            DecisionTreeRegressor(
                max_depth=method.depth, min_samples_leaf=method.least_rows, random_state=seed
            ).fit(self.inputs[rows], gradient[:, output], check_input=False)
            for output in range(2)
        )
        work.count("tree_rows", 2 * len(rows))
        direction = outputs_of(pair, self.inputs)
        step = step_size(self.params[rows], direction[rows], self.targets[rows])
        step *= method.learning_rate
        self.params = self.params - step * direction
        self.rounds.append((step, pair))

    def _drawn(self, most: int, seed: int) -> np.ndarray:
        """Return the rows of the next round: all, or as many different ones as allowed."""
        count = len(self.targets)
        if count <= most:
            return np.arange(count)
        return np.random.default_rng([seed, len(self.rounds)]).permutation(count)[:most]


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


def singles(inputs: Tensor) -> np.ndarray:
    """Return inputs as vectors in single precision, as trees take them."""
    return vectors(inputs).astype(np.float32)


def natural_gradient(params: Params, targets: Float64[np.ndarray, " rows"]) -> Params:
    """Return the natural gradient of the negative log likelihood of each row."""
    error, std = targets - params[:, 0], _stds(params)
    return np.stack([-error, (1 - np.square(error / std)) / 2], 1)


def loss(params: Params, targets: Float64[np.ndarray, " rows"]) -> float:
    """Return the mean negative log likelihood of the rows."""
    std = _stds(params)
    squares = np.square((targets - params[:, 0]) / std)
    return float((0.5 * squares + np.log(std)).mean()) + 0.5 * math.log(2 * math.pi)


def step_size(params: Params, direction: Params, targets: Float64[np.ndarray, " rows"]) -> float:
    """Return a step with less loss: doubled while the loss is below the first, then halved."""

    def loss_at(step: float) -> float:
        return loss(params - step * direction, targets)

    first, step = loss(params, targets), 1.0
    while loss_at(step) <= first and step <= LARGEST_STEP:
        step *= 2
    length = float(np.linalg.norm(direction, axis=1).mean())
    while step * length >= TOLERANCE and not loss_at(step) < first:
        step /= 2
    return step


def outputs_of(pair: tuple[Any, ...], inputs: np.ndarray) -> Params:
    """Return the predictions of a round's trees for rows in single precision."""
    return np.stack([tree.predict(inputs, check_input=False) for tree in pair], 1)


def as_arrays(rounds: list[tuple[float, tuple[Any, Any]]], depth: int) -> BinaryTrees:
    """Return the trees of all rounds, with values of one output each, times minus their step."""
    nodes, features, thresholds, children, values, roots = 0, [], [], [], [], []
    for step, pair in rounds:
        for output, tree in enumerate(each.tree_ for each in pair):
            itself, is_leaf = np.arange(tree.node_count), tree.children_left < 0
            sides = [tree.children_left, tree.children_right]
            children.append(nodes + np.where(is_leaf, itself, sides))
            features.append(np.where(is_leaf, 0, tree.feature))
            thresholds.append(tree.threshold)
            values.append(-step * tree.value[:, 0] * np.eye(2)[output])
            roots.append(nodes)
            nodes += tree.node_count
    lefts, rights = np.concatenate([np.zeros((2, 0)), *children], 1).astype(np.int64)
    return BinaryTrees(
        torch.from_numpy(np.concatenate([np.zeros(0), *features]).astype(np.int64)),
        torch.from_numpy(np.concatenate([np.zeros(0), *thresholds])),
        torch.from_numpy(lefts),
        torch.from_numpy(rights),
        torch.from_numpy(np.concatenate([np.zeros((0, 2)), *values])),
        torch.tensor(roots, dtype=torch.int64),
        depth,
    )


def _stds(params: Params) -> np.ndarray:
    return np.exp(np.maximum(params[:, 1], math.log(LEAST_STD)))
