"""Quantiles on a grid of levels: the whole output of quantile regression or a conformal method."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, Packed

LEVELS = (0.025, *(round(0.05 * step, 2) for step in range(1, 20)), 0.975)
"""Levels in steps of 0.05, and those of 95 % intervals, for methods that can give any."""
SAME_LEVEL = 1e-6
"""Levels closer than this are equal, such as 0.05 in single and (1 - 0.9) / 2 in double precision.
"""


@dataclass(frozen=True)
class QuantilePredictive(Packed):
    """Quantiles of each output at levels shared by all points.

    Raises ValueError unless levels strictly increase within (0, 1) and values do not decrease.
    """

    levels: Float[Tensor, " levels"]
    values: Float[Tensor, "points outputs levels"]

    of_classes: ClassVar[bool] = False
    may_be_infinite: ClassVar[tuple[str, ...]] = ("values",)

    def __post_init__(self) -> None:
        shape, count = tuple(self.values.shape), tuple(self.levels.shape)
        if len(count) != 1 or count[0] == 0 or len(shape) != 3 or shape[2:] != count:
            raise ValueError(
                "needed levels, and a value for each point, output and level; got levels of shape "
                f"{count} and values of shape {shape}"
            )
        levels = self.levels.double()
        if not (levels[0] > 0 and levels[-1] < 1 and (levels.diff() > 0).all()):
            raise ValueError(
                "needed levels that strictly increase between 0 and 1; "
                f"got {[round(level, 6) for level in levels.tolist()]}"
            )
        crossing = (self.values.diff(dim=2) < 0).nonzero()
        if len(crossing):
            point, output, at = crossing[0].tolist()
            pair = self.values[point, output, at : at + 2].tolist()
            raise ValueError(
                "needed quantiles that do not decrease with their level; got "
                f"{pair[0]:.6g} at {levels[at]:.6g} and {pair[1]:.6g} at {levels[at + 1]:.6g} "
                f"for point {point}, output {output}: sort them along the last axis"
            )

    def __len__(self) -> int:
        return len(self.values)

    def quantile(self, level: float) -> Float64[Tensor, "points outputs"]:
        """Return the quantiles at a level of the grid; raises `CannotAnswer` at any other level."""
        distances = (self.levels.double() - level).abs()
        nearest = int(distances.argmin())
        if distances[nearest] > SAME_LEVEL:
            grid = ", ".join(f"{one:.6g}" for one in self.levels.tolist())
            raise CannotAnswer(
                f"it has no quantile at {level:.6g}; its levels are {grid}: predict that one, too"
            )
        return self.values[..., nearest].double()

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "QuantilePredictive":
        """Return the quantiles of mean + std * y, numbers or one of each output; std > 0."""
        values = self.values.double()
        level, unit = (torch.as_tensor(n).to(values)[..., None] for n in (mean, std))
        return QuantilePredictive(self.levels, level + unit * values)
