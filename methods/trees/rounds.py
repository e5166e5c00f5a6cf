"""The rounds of NGBoost: pairs of trees that grow from the natural gradients of training rows."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from sklearn.tree import DecisionTreeRegressor
from torch import Tensor

from bnnbench.methods.base import Problem
from bnnbench.methods.fitting import work
from bnnbench.methods.libraries.sklearn_rows import single_target, vectors
from bnnbench.methods.trees.additive import LEAST_STD, BinaryTrees
from bnnbench.methods.trees.natural_gradient import Params, natural_gradient, step_size


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
    def of(cls, problem: Problem, method: Any) -> "Growth":
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

    def grow(self, method: Any, seed: int) -> None:
        """Add a round with the settings of an `NgBoost`."""
        rows = self._drawn(method.rows_per_tree, seed)
        gradient = natural_gradient(self.params[rows], self.targets[rows])
        settings = {"max_depth": method.depth, "min_samples_leaf": method.least_rows}
        first, second = (
            DecisionTreeRegressor(**settings, random_state=seed).fit(
                self.inputs[rows], column, check_input=False
            )
            for column in gradient.T
        )
        pair = first, second
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


def singles(inputs: Tensor) -> np.ndarray:
    """Return inputs as vectors in single precision, as trees take them."""
    return vectors(inputs).astype(np.float32)


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
