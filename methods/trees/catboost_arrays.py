"""The trees of fitted CatBoost models as arrays."""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bnnbench.methods.trees.additive import LEAST_STD, ObliviousTrees, UncertainTrees


def trees_of(model: Any) -> tuple[ObliviousTrees, torch.Tensor]:
    """Return a fitted model's trees as arrays, and its outputs without any tree."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        content = json.loads(path.read_text())
    scale, start = content["scale_and_bias"]
    outputs, trees = len(start), content["oblivious_trees"]
    levels = max(1, *(len(tree["splits"]) for tree in trees))
    features = np.zeros((len(trees), levels), np.int64)
    borders = np.full((len(trees), levels), np.inf)
    values = np.zeros((len(trees), 2**levels, outputs))
    for number, tree in enumerate(trees):
        for level, split in enumerate(tree["splits"]):
            features[number, level] = split["float_feature_index"]
            borders[number, level] = split["border"]
        of_leaves = np.reshape(tree["leaf_values"], (-1, outputs))
        values[number, : len(of_leaves)] = scale * of_leaves
    arrays = map(torch.from_numpy, (features, borders, values))
    return ObliviousTrees(*arrays), torch.tensor(start, dtype=torch.float64)


def constant(target: float) -> UncertainTrees:
    """Return the posterior for a target that is the same in all rows."""
    levels, values = np.zeros((0, 1)), np.zeros((0, 2, 2))
    arrays = map(torch.from_numpy, (levels.astype(np.int64), levels, values))
    start = torch.tensor([0.0, math.log(LEAST_STD)], dtype=torch.float64)
    return UncertainTrees(ObliviousTrees(*arrays), start, target, 1.0, {"rounds": 0.0})
