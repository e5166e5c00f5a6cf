"""The similarity of the stored predictions of two methods."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.methods.predictions.predictive import (
    CategoricalSummary,
    GaussianPredictive,
    RealPredictive,
)
from bnnbench.methods.predictions.real_summary import RealSummary
from bnnbench.metrics.agreement import agreement, total_variation, total_variation_of_cdfs
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.readable import prediction_of

FOLDS = 3
"""Number of folds whose predictions are read, of each method's first two seeds."""
POINTS = 50
"""Number of test points at which distributions of real targets are compared."""
REACH, NODES = 4.0, 17
"""Each method has this many evenly spaced nodes within this many of its standard deviations."""

Pair = tuple[str, str]
Kept = CategoricalSummary | GaussianPredictive | RealPredictive


@dataclass(frozen=True)
class Agreements:
    """Means over test points and folds, for pairs of methods in both orders.

    A method paired with itself stands for two of its seeds.
    """

    same_label: Mapping[Pair, float]
    """The share of points with the same most probable class; empty for a regression."""
    variation: Mapping[Pair, float]
    """The total variation; for real targets, between the distributions over cells."""
    folds: int


def agreements(store: Store, benchmark: Benchmark) -> Agreements | None:
    """Return the agreement of the methods' predictions; None unless two runs can be compared."""
    labels: dict[Pair, list[float]] = defaultdict(list)
    variations: dict[Pair, list[float]] = defaultdict(list)
    folds = sorted({record.fold for record in benchmark.records})[:FOLDS]
    compared = 0
    for fold in folds:
        held = _predictions(store, benchmark, fold)
        before = len(variations), sum(map(len, variations.values()))
        if held and all(isinstance(p, CategoricalSummary) for _, _, p in held):
            _compare_classes(held, labels, variations)
        elif held and not any(isinstance(p, CategoricalSummary) for _, _, p in held):
            _compare_reals(held, variations)
        compared += (len(variations), sum(map(len, variations.values()))) != before
    if not variations:
        return None
    return Agreements(_both_ways(labels), _both_ways(variations), compared)


def _predictions(store: Store, benchmark: Benchmark, fold: int) -> list[tuple[str, int, Kept]]:
    """Return method, seed number and prediction, for the first two seeds of each method."""
    held: list[tuple[str, int, Kept]] = []
    first_targets: Tensor | None = None
    for method, runs in benchmark.runs.items():
        completed = [r for r in runs if r.fold == fold and r.outcome.status == "completed"][:2]
        for number, record in enumerate(completed):
            of_run = _of_run(store, record, benchmark.main)
            if of_run is None:
                continue
            prediction, targets = of_run
            first_targets = targets if first_targets is None else first_targets
            if torch.equal(targets, first_targets):  # the same test rows
                held.append((method, number, prediction))
    return held


def _of_run(store: Store, record: Record, condition: str) -> tuple[Kept, Tensor] | None:
    if (held := prediction_of(store, record, condition)) is None:
        return None
    prediction: Any = held[0]
    targets = held[1]
    if isinstance(prediction, HasProbabilities):
        mixture = prediction.mixture_log_probs
        return CategoricalSummary(mixture, mixture.new_zeros(len(mixture))), targets
    if isinstance(prediction, GaussianPredictive):
        parts = prediction.means[:, :POINTS], prediction.variances[:, :POINTS]
        prediction = GaussianPredictive(*parts)
    whole = isinstance(prediction, RealPredictive) and not isinstance(prediction, RealSummary)
    return (prediction, targets) if whole and prediction.mean.shape[1] == 1 else None


def _compare_classes(
    held: Sequence[tuple[str, int, Kept]],
    labels: dict[Pair, list[float]],
    variations: dict[Pair, list[float]],
) -> None:
    for (first, a), (second, b) in _pairs(held):
        assert isinstance(a, CategoricalSummary)
        assert isinstance(b, CategoricalSummary)
        labels[first, second].append(agreement(a, b).mean().item())
        variations[first, second].append(total_variation(a, b).mean().item())


def _compare_reals(
    held: Sequence[tuple[str, int, Kept]], variations: dict[Pair, list[float]]
) -> None:
    nodes = torch.cat([_nodes(p) for _, _, p in held], 1).sort(1).values
    finite = nodes.isfinite().all(1)
    if finite.any():
        tables = [(m, n, _cdf(p, nodes.nan_to_num())[finite]) for m, n, p in held]
        for (first, a), (second, b) in _pairs(tables):
            variations[first, second].append(total_variation_of_cdfs(a, b).mean().item())


def _pairs(
    held: Sequence[tuple[str, int, Any]],
) -> Iterator[tuple[tuple[str, Any], tuple[str, Any]]]:
    """Yield the first seeds of two methods, and both seeds of one."""
    for (first, i, a), (second, j, b) in combinations(held, 2):
        if (i == j == 0) or first == second:
            yield (first, a), (second, b)


def _nodes(prediction: Kept) -> Tensor:
    assert isinstance(prediction, RealPredictive)
    mean, std = (x[:POINTS].double() for x in (prediction.mean, prediction.variance.sqrt()))
    return mean + std * torch.linspace(-REACH, REACH, NODES, dtype=torch.float64)


def _cdf(prediction: Kept, nodes: Tensor) -> Tensor:
    """Return the cdf at the nodes of the first points; a cdf is evaluated at all points at once."""
    assert isinstance(prediction, RealPredictive)
    asked = torch.zeros(len(prediction), nodes.shape[1], dtype=torch.float64)
    asked[: len(nodes)] = nodes
    columns = [prediction.cdf(column[:, None])[: len(nodes)] for column in asked.unbind(1)]
    return torch.cat(columns, 1).double()


def _both_ways(values: Mapping[Pair, Sequence[float]]) -> dict[Pair, float]:
    means = {pair: sum(numbers) / len(numbers) for pair, numbers in values.items()}
    return means | {(second, first): mean for (first, second), mean in means.items()}
