"""Schedules of the learning rate while iterates are made, epoch by epoch."""

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
"""Epochs before an early stop, if two thirds of all are fewer."""


@dataclass(frozen=True)
class Constant:
    """The peak in all epochs."""

    def factor(self, epoch: int, start: int, epochs: int) -> float:
        """Return the factor of the peak in epoch 0, 1, ..., of which `start` come first."""
        return 1.0


@dataclass(frozen=True)
class Cosine:
    """Half a cosine, to 0 after the last epoch."""

    def factor(self, epoch: int, start: int, epochs: int) -> float:
        """Return the factor of the peak in an epoch."""
        return 0.5 * (1 + math.cos(math.pi * epoch / epochs))


@dataclass(frozen=True)
class HighThenLow:
    """The peak, a straight line down, and `low` times the peak from then on.

    With t the share of the epochs before iterates are kept, the line goes from t = 0.5 to 0.9;
    where none come before, t is the share of all epochs. Source: the public code of Izmailov et
    al. (2018), "Averaging Weights Leads to Wider Optima and Better Generalization".
    """

    low: float = 0.2

    def __post_init__(self) -> None:
        require_positive(self, "low")

    def factor(self, epoch: int, start: int, epochs: int) -> float:
        """Return the factor of the peak in epoch 0, 1, ..., of which `start` come first."""
        share = epoch / (start or epochs)
        down = min(max((share - 0.5) / 0.4, 0.0), 1.0)
        return 1 - (1 - self.low) * down


@dataclass(frozen=True)
class Plateau:
    """A factor more whenever the loss of held-out training rows has not improved for long.

    As `ReduceLROnPlateau` of torch: a loss is better if it is less than the best by a relative
    1e-4, and the epoch after `patience` others without a better one cuts the rate.
    """

    cut: float = 0.8
    patience: int = 40
    validation_share: float = 1 / 9
    """Share of training rows held out for the losses; they are never trained on."""
    early_stop: bool = field(default=False, metadata=LATER)
    """End training by the rule of `EarlyStop`; each problem is then fitted alone."""

    def __post_init__(self) -> None:
        require_positive(self, "cut", "validation_share")
        require_between(self, 0.0, 1.0, "cut", "validation_share")
        require_count(self, "patience", least=0)


Schedule = Constant | Cosine | HighThenLow | Plateau


class PlateauFactors:
    """The factor of each member, which its own losses move."""

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
        # As in torch, a loss slightly above a best that is negative counts as better too.
        better = losses < self._best * (1 - 1e-4)
        self._best = torch.where(better, losses, self._best)
        self._bad = torch.where(better, 0, self._bad + 1)
        stalled = self._bad > self.rule.patience
        self.factors = torch.where(stalled[:, None], self.factors * self.rule.cut, self.factors)
        self._bad = torch.where(stalled, 0, self._bad)


class EarlyStop:
    """The end of a descent whose held-out loss has not improved, by the public code of CIBER.

    It ends when the lowest loss so far is exactly `patience` epochs old, after more than two thirds
    of the epochs and more than 40. A loss that gets too old before then ends nothing, until a lower
    one starts the count anew. Weights stay those of the last epoch, not of the lowest loss.
    """

    def __init__(self, patience: int, epochs: int) -> None:
        self.patience, self.least = patience, max(2 * epochs / 3, FEWEST_EPOCHS)
        self._lowest, self._age = math.inf, 0

    @property
    def changing(self) -> Part:
        """The parts that `ends` changes, for checkpoints."""
        return Attributes(self, "_lowest", "_age")

    def ends(self, done: int, loss: float) -> bool:
        """Return whether to end after this many epochs, with the loss at the end of the latest."""
        self._age = 0 if loss < self._lowest else self._age + 1
        self._lowest = loss if not self._age else self._lowest
        return done > self.least and self._age == self.patience
