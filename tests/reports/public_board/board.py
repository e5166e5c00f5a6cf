"""Stores of runs by the board's protocol, with predictions from known laws."""

import numpy as np
import torch

from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.reports.synthetic import keep, record

LEVEL, UNIT = 22.0, 9.0
SOURCE = {
    "type": "shuffled_folds",
    "source": {"type": "uci", "name": "boston"},
    "count": 5,
    "seed": 42,
    "most_rows": 3000,
}


def predicted(fold: int, error: float) -> tuple[GaussianPredictive, torch.Tensor]:
    """Return standardised predictions of twenty rows that are the same for every method."""
    rng = np.random.default_rng(fold)
    targets = torch.from_numpy(rng.standard_normal((20, 1)))
    means = targets + error * torch.from_numpy(rng.standard_normal((20, 1)))
    return GaussianPredictive(means[None], torch.full((1, 20, 1), 0.25).double()), targets


def run(method: str, fold: int, dataset: str = "boston", source=None, **changes):
    target = {"name": "value", "unit": "$1000", "mean": LEVEL, "std": UNIT}
    described = {"source": source or SOURCE}
    changes = {"profile": "scoringbench", "suite": "uci", "target": target, **changes}
    return record(method, dataset, fold, scores={"clean": {}}, run=described, **changes)


def store_of(folder, errors: dict[str, float], folds: int = 5, **changes):
    """Return a store with predictions of each method, and its records."""
    places = [(method, fold) for method in errors for fold in range(folds)]
    runs = [run(*place, **changes) for place in places]
    predictions = {
        one.key: {"clean": predicted(fold, errors[method])}
        for one, (method, fold) in zip(runs, places, strict=True)
    }
    return keep(folder, runs, predictions)
