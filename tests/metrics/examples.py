"""The worked examples of the metrics' specification, which contains no random numbers."""

import torch
from torch import Tensor

from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive


def _labelled() -> tuple[CategoricalPredictive, Tensor]:
    n, m, k = torch.meshgrid(
        *(torch.arange(size, dtype=torch.float64) for size in (12, 3, 4)), indexing="ij"
    )
    logits = 3 * torch.sin(1 + 0.7 * n + 1.9 * k + 0.31 * m * (1 + k))
    logits += 0.5 * torch.cos(2.3 * n * k + m)
    labels = torch.tensor([0, 0, 2, 1, 2, 1, 3, 1, 3, 2, 0, 0])
    return CategoricalPredictive(logits.log_softmax(2).transpose(0, 1)), labels


def _real() -> tuple[GaussianPredictive, Tensor]:
    i = torch.arange(8, dtype=torch.float64)[:, None]
    target = i.sin() + 0.1 * i
    mean, std = target + 0.3 * torch.cos(3 * i), 0.2 + 0.05 * i
    return GaussianPredictive(mean[None], std[None] ** 2), target


CLASSES, LABELS = _labelled()
OUTLIERS = torch.tensor([0] * 6 + [1] * 6)
REAL, TARGETS = _real()


def categorical(probs: Tensor) -> CategoricalPredictive:
    """Return a prediction of one draw."""
    return CategoricalPredictive(probs.double().log()[None])


def certain(confidences: list[float]) -> CategoricalPredictive:
    """Return a prediction of two classes with these probabilities of the first class."""
    first = torch.tensor(confidences, dtype=torch.float64)
    return categorical(torch.stack([first, 1 - first], 1))


def random_prediction(
    rng: torch.Generator, points: int, classes: int, draws: int = 1, scale: float = 2.0
) -> CategoricalPredictive:
    """Return a prediction with Gaussian logits."""
    logits = scale * torch.randn(draws, points, classes, generator=rng, dtype=torch.float64)
    return CategoricalPredictive(logits.log_softmax(-1))


def mixture(
    weights: list[float], means: list[float], variances: list[float], repeats: int = 10
) -> GaussianPredictive:
    """Return a mixture whose weights are tenths, as equally weighted draws."""
    counts = torch.tensor([round(weight * repeats) for weight in weights])
    mean, variance = (
        torch.tensor(values, dtype=torch.float64).repeat_interleave(counts)[:, None, None]
        for values in (means, variances)
    )
    return GaussianPredictive(mean, variance)
