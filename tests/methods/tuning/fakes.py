"""Methods whose best setting is known, for tests of searches."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.space import Integers, Log, Space


@dataclass(frozen=True)
class Level:
    """Predicts the training mean, too high by `offset`."""

    mean: float
    offset: float
    diagnostics: ClassVar = {"noise_std": 1.0}

    def predict(self, inputs, rng):
        means = torch.full((1, len(inputs), 1), self.mean + self.offset)
        return GaussianPredictive(means, torch.ones_like(means))


@dataclass(frozen=True)
class Fallen(Level):
    """Notices in prediction that it has diverged."""

    def predict(self, inputs, rng):
        raise InferenceDiverged("no Cholesky factor")


@dataclass(frozen=True)
class Parabola(Batched):
    """The error grows with the distance of rate from .1, width from 8 and length from 50.

    By a decade, .3 an octave and a multiple; and by noise from its stream.
    """

    space: ClassVar[Space] = Space(
        {"rate": Log(1e-3, 10.0), "width": Integers(1, 64)}, length="epochs", lengths=(25, 50, 100)
    )

    rate: float = 1.0
    width: int = 1
    epochs: int = 25
    noise: float = 0.0
    diverges_above: float = float("inf")
    diverges_with_rows: int = 0
    """On this many rows it diverges within a decade of the best rate."""
    falls_above: float = float("inf")
    """At higher rates the fit succeeds and the prediction diverges."""

    def fit_many(self, problems, rngs):
        return [self._fit(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]

    def _fit(self, problem, rng):
        if self.rate > self.diverges_above:
            return InferenceDiverged("too fast")
        decades = abs(torch.tensor(self.rate / 0.1).log10())
        if len(problem.train) == self.diverges_with_rows and decades < 1:
            return InferenceDiverged("too many rows")
        octaves = abs(torch.tensor(self.width / 8.0).log2())
        length = abs(self.epochs - 50) / 50
        luck = self.noise * torch.randn((), generator=rng)
        offset = float(decades + 0.3 * octaves + length + luck)
        kind = Fallen if self.rate > self.falls_above else Level
        return kind(float(problem.train.targets.mean()), offset)
