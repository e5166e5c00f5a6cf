"""Schedules of the learning rate by epoch, while iterates are made."""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.checkpoints.parts import Attributes, Part
from bnnbench.methods.fitting.settings import (
    LATER,
    require_between,
    require_count,
    require_positive,
)

FEWEST_EPOCHS = 40
"""Minimum number of epochs before an early stop, if two thirds of all are fewer."""


@dataclass(frozen=True)
class Constant:
    """The peak rate in all epochs."""

    def factor(self, epoch: int, start: int, epochs: int) -> float:
        """Return an epoch's rate as a factor of the peak; `start` epochs precede the iterates."""
        return 1.0


@dataclass(frozen=True)
class Cosine:
    """Half a cosine, reaching 0 after the last epoch."""

    def factor(self, epoch: int, start: int, epochs: int) -> float:
        """Return an epoch's rate as a factor of the peak."""
        return 0.5 * (1 + math.cos(math.pi * epoch / epochs))


@dataclass(frozen=True)
class HighThenLow:
    """The peak rate, then a linear decrease, then `low` times the peak.

    With t as a share of the epochs before iterates are recorded, the decrease lasts from t = 0.5
    to 0.9; if there are none, t is a share of all epochs. Source: the public code of Izmailov et
    al. (2018), "Averaging Weights Leads to Wider Optima and Better Generalization".
    """

    low: float = 0.2

    def __post_init__(self) -> None:
        require_positive(self, "low")

    def factor(self, epoch: int, start: int, epochs: int) -> float:
        """Return an epoch's rate as a factor of the peak; `start` epochs precede the iterates."""
        share = epoch / (start or epochs)
        down = min(max((share - 0.5) / 0.4, 0.0), 1.0)
        return 1 - (1 - self.low) * down


@dataclass(frozen=True)
class Plateau:
    """One more factor `cut` whenever the loss of held-out training rows has stopped improving.

    As in torch's `ReduceLROnPlateau`, a loss improves if it is below the best by a relative 1e-4;
    after more than `patience` epochs without improvement the rate is cut.
    """

    cut: float = 0.8
    patience: int = 40
    validation_share: float = 1 / 9
    """Share of training rows held out for these losses; they are never trained on."""
    early_stop: bool = field(default=False, metadata=LATER)
    """End training by the rule of `EarlyStop`; problems are then fitted one by one."""

    def __post_init__(self) -> None:
        require_positive(self, "cut", "validation_share")
        require_between(self, 0.0, 1.0, "cut", "validation_share")
        require_count(self, "patience", least=0)


Schedule = Constant | Cosine | HighThenLow | Plateau


class PlateauFactors:
    """The factor of each member, updated by its own losses."""

    def __init__(self, rule: Plateau, weights: Float[Tensor, "members parameters"]) -> None:
        self.rule = rule
        self.factors: Float[Tensor, "members 1"] = torch.ones_like(weights[:, :1])
        self._best: Float[Tensor, " members"] = torch.full_like(weights[:, 0], math.inf)
        self._bad: Int[Tensor, " members"] = torch.zeros_like(self._best, dtype=torch.long)

    @property
    def changing(self) -> Part:
        """The parts that `update` changes, for checkpoints."""
        return Attributes(self, "factors", "_best", "_bad")

    def update(self, losses: Float[Tensor, " members"]) -> None:
        """Update the factors by the validation losses at the end of an epoch."""
        # As in torch, if the best is negative, a slightly higher loss also counts as better.
        better = losses < self._best * (1 - 1e-4)
        self._best = torch.where(better, losses, self._best)
        self._bad = torch.where(better, 0, self._bad + 1)
        stalled = self._bad > self.rule.patience
        self.factors = torch.where(stalled[:, None], self.factors * self.rule.cut, self.factors)
        self._bad = torch.where(stalled, 0, self._bad)


class EarlyStop:
    """Early stopping of a descent by its held-out loss, as in the public code of CIBER.

    The descent stops when the lowest loss so far is exactly `patience` epochs old, after more than
    two thirds of the epochs and more than 40. If the lowest loss reaches that age earlier, nothing
    happens until a lower loss restarts the count. The weights are the last epoch's, not those of
    the lowest loss.
    """

    def __init__(self, patience: int, epochs: int) -> None:
        self.patience, self.least = patience, max(2 * epochs / 3, FEWEST_EPOCHS)
        self._lowest, self._age = math.inf, 0

    @property
    def changing(self) -> Part:
        """The parts that `ends` changes, for checkpoints."""
        return Attributes(self, "_lowest", "_age")

    def ends(self, done: int, loss: float) -> bool:
        """Return whether to stop after this many epochs, given the loss after the latest."""
        self._age = 0 if loss < self._lowest else self._age + 1
        self._lowest = loss if not self._age else self._lowest
        return done > self.least and self._age == self.patience
