r"""Weights of the training rows at a point: how often a forest puts both into one leaf.

$$ w_i(x) = \frac1T \sum_t \frac{[\,i \in \ell_t(x)\,]}{|\ell_t(x)|} $$

where $\ell_t(x)$ is the set of all training rows in the leaf of x in tree t, drawn for the tree or
not. Rows may be summed in groups, such as classes. Source: Meinshausen (2006), "Quantile Regression
Forests", eqs. 4 and 5.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float64, Int64

from bnnbench.methods.libraries.sklearn_rows import answers

ROUNDING = 1e-12
"""Weights below this are what rounding left of 0."""


@dataclass(frozen=True)
class LeafWeights:
    """A fitted forest of scikit-learn, and the leaves and groups of its training rows."""

    forest: Any
    leaves: Int64[np.ndarray, "rows trees"]
    """Node of each row's leaf."""
    groups: Int64[np.ndarray, " rows"]
    """Group of each row, counted from 0, whose weights are added."""
    group_count: int

    @classmethod
    def of(
        cls,
        forest: Any,
        inputs: Float64[np.ndarray, "rows features"],
        groups: Int64[np.ndarray, " rows"],
        group_count: int,
    ) -> "LeafWeights":
        """Return the weights of a forest that was fitted to these rows."""
        return cls(forest, forest.apply(inputs).astype(np.int64), groups, group_count)

    def at(
        self, points: Float64[np.ndarray, "points features"]
    ) -> Float64[np.ndarray, "points groups"]:
        """Return the weight of each group at each point; the sum at a point is 1."""
        leaves = answers(self.forest.apply, points)
        trees = leaves.shape[1]
        shares = np.full(leaves.shape, 1 / trees)
        return (self._matrix(leaves, shares / self._sizes_of(leaves)) @ self._counts).toarray()

    def out_of_bag(
        self,
    ) -> tuple[Float64[np.ndarray, "rows groups"], Bool[np.ndarray, " rows"]]:
        """Return each training row's weights from trees that did not draw it, without the row.

        Rows that all trees drew have no such weights; the second array is False for them.
        """
        outside = self._outside
        sizes = np.maximum(self._sizes_of(self.leaves) - 1, 1)
        shares = outside / np.maximum(outside.sum(1, keepdims=True), 1) / sizes
        weights = (self._matrix(self.leaves, shares) @ self._counts).toarray()
        weights[np.arange(len(weights)), self.groups] -= shares.sum(1)
        weights[weights < ROUNDING] = 0
        return weights, np.asarray(outside.any(1))

    @cached_property
    def _outside(self) -> Bool[np.ndarray, "rows trees"]:
        """True for each row that a tree did not draw."""
        outside = np.ones(self.leaves.shape, bool)
        for tree, drawn in enumerate(self.forest.estimators_samples_):
            outside[drawn, tree] = False
        return outside

    @cached_property
    def _starts(self) -> Int64[np.ndarray, " trees_and_end"]:
        """Number of nodes in the trees before each tree, and of all trees."""
        sizes = [tree.tree_.node_count for tree in self.forest.estimators_]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def _counts(self) -> Any:
        """Sparse number of rows of each group in each node."""
        return (self._matrix(self.leaves, np.ones(self.leaves.shape)).T @ self._of_groups).tocsr()

    @cached_property
    def _of_groups(self) -> Any:
        rows = np.arange(len(self.groups))
        shape = len(rows), self.group_count
        return scipy.sparse.csr_array((np.ones(len(rows)), (rows, self.groups)), shape=shape)

    @cached_property
    def _sizes(self) -> Float64[np.ndarray, " nodes"]:
        return np.asarray(self._counts.sum(1)).ravel()

    def _sizes_of(self, leaves: np.ndarray) -> np.ndarray:
        """Return the number of training rows in leaves of (points, trees)."""
        return self._sizes[leaves + self._starts[:-1]]

    def _matrix(self, leaves: np.ndarray, values: np.ndarray) -> Any:
        """Return the sparse (points, nodes of all trees) with values at each point's leaves."""
        points, trees = leaves.shape
        ends = np.arange(0, points * trees + 1, trees)
        nodes = (leaves + self._starts[:-1]).ravel()
        shape = points, int(self._starts[-1])
        return scipy.sparse.csr_array((values.ravel(), nodes, ends), shape=shape)
