"""The nodes of decision trees, which compiled code follows without looking where they lead."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bnnbench.methods.saved.errors import NotLoaded


def require_trees(estimator: Any) -> None:
    """Raise `NotLoaded` for a tree whose nodes lead outside it, backwards, or to no feature."""
    features = getattr(estimator, "n_features_in_", 0)
    for left, right, feature in _inner_nodes(estimator):
        numbers, count = np.flatnonzero(left >= 0), len(left)
        sides = (side[numbers].astype(np.int64) for side in (left, right))
        ends = [(side <= numbers) | (side >= count) for side in sides]
        chosen = feature[numbers]
        if np.any(ends) or np.any((chosen < 0) | (chosen >= features)):
            raise NotLoaded("a decision tree has nodes that lead nowhere")


def _inner_nodes(estimator: Any) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the children and the feature of all nodes, tree by tree; -1 for those of leaves.

    Raises `NotLoaded` for splits by categories, which no method here makes.
    """
    if (tree := getattr(estimator, "tree_", None)) is not None:
        yield tree.children_left, tree.children_right, tree.feature
    for one in getattr(estimator, "estimators_", ()):
        yield from _inner_nodes(one)
    for stage in getattr(estimator, "_predictors", ()):
        for predictor in stage:
            if predictor.nodes["is_categorical"].any():
                raise NotLoaded("a decision tree splits by categories, which no method makes")
            nodes, is_leaf = predictor.nodes, predictor.nodes["is_leaf"].astype(bool)
            left, right = (
                np.where(is_leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right")
            )
            yield left, right, nodes["feature_idx"]
