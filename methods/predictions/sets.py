"""Intervals and sets of a stated level: the whole output of a conformal method."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.quantiles import SAME_LEVEL


@dataclass(frozen=True)
class IntervalPredictive:
    """An interval for each output, intended to contain a share `level` of the targets.

    It includes its ends. Raises ValueError unless 0 < level < 1 and low ≤ high.
    """

    level: float
    low: Float[Tensor, "points outputs"]
    high: Float[Tensor, "points outputs"]

    of_classes: ClassVar[bool] = False
    may_be_infinite: ClassVar[tuple[str, ...]] = ("low", "high")

    def __post_init__(self) -> None:
        _check_level(self.level)
        if self.low.shape != self.high.shape or self.low.ndim != 2:
            shapes = tuple(self.low.shape), tuple(self.high.shape)
            raise ValueError(f"needed a low and a high end for each point and output; got {shapes}")
        if len(inverted := (self.low > self.high).nonzero()):
            point, output = inverted[0].tolist()
            raise ValueError(
                f"needed low ends that are not above the high ones; got point {point}, output "
                f"{output}: {self.low[point, output]:.6g} to {self.high[point, output]:.6g}"
            )

    def __len__(self) -> int:
        return len(self.low)

    def pack(self) -> Mapping[str, Tensor]:
        """Return the level and both ends."""
        level = torch.tensor(self.level, dtype=torch.float64)
        return {"level": level, "low": self.low, "high": self.high}

    @classmethod
    def unpack(cls, arrays: Mapping[str, Tensor]) -> "IntervalPredictive":
        """Return the predictive that was packed."""
        return cls(float(arrays["level"]), arrays["low"], arrays["high"])

    def interval(
        self, mass: float
    ) -> tuple[Float64[Tensor, "points outputs"], Float64[Tensor, "points outputs"]]:
        """Return both ends; raises `CannotAnswer` if `mass` is not the stated level."""
        if abs(mass - self.level) > SAME_LEVEL:
            raise CannotAnswer(f"it states only intervals of {self.level:.6g}, not of {mass:.6g}")
        return self.low.double(), self.high.double()

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "IntervalPredictive":
        """Return the intervals of mean + std * y, numbers or one of each output; std > 0."""
        low, high = (torch.add(mean, std * end.double()) for end in (self.low, self.high))
        return IntervalPredictive(self.level, low, high)


@dataclass(frozen=True)
class SetPredictive:
    """A set of classes for each point, intended to contain a share `level` of the targets.

    Raises ValueError unless 0 < level < 1 and members are true or false.
    """

    level: float
    members: Bool[Tensor, "points classes"]

    of_classes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_level(self.level)
        if self.members.ndim != 2 or self.members.dtype != torch.bool:
            raise ValueError(
                "needed true or false for each point and class; got "
                f"{self.members.dtype} of shape {tuple(self.members.shape)}"
            )

    def __len__(self) -> int:
        return len(self.members)

    def pack(self) -> Mapping[str, Tensor]:
        """Return the level and the members."""
        return {"level": torch.tensor(self.level, dtype=torch.float64), "members": self.members}

    @classmethod
    def unpack(cls, arrays: Mapping[str, Tensor]) -> "SetPredictive":
        """Return the predictive that was packed."""
        return cls(float(arrays["level"]), arrays["members"])


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"needed a level between 0 and 1, such as 0.9; got {level}")
