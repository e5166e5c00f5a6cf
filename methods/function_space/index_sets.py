"""Index sets: the points at which functions are compared with their prior.

Several sets are used as the union of their points, all with equal weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import DataSource
from bnnbench.datasets.conditions.rotated import rotate
from bnnbench.methods.base import Problem, Unsupported

Points = Callable[[Float[Tensor, "problems batch *features"], Sequence[torch.Generator]], Tensor]
"""Function of each problem's batch and stream that returns points, `problems points *features`.
"""


@dataclass(frozen=True)
class TrainingData:
    """The training batch; its forward pass is shared with the likelihood."""

    def points(self, problems: Sequence[Problem]) -> Points:
        """Return the batch unchanged."""
        return lambda inputs, _: inputs


@dataclass(frozen=True)
class RotatedCopies:
    """The images of the training batch, rotated counter-clockwise by each angle in degrees.

    Corners from outside the image get the channel's minimum training intensity.
    """

    angles: tuple[int | float, ...] = (90,)

    def __post_init__(self) -> None:
        if not self.angles:
            raise ValueError("RotatedCopies needs at least one angle; got none")

    def points(self, problems: Sequence[Problem]) -> Points:
        """Return the function that rotates a batch; raises `Unsupported` without images."""
        if len(problems[0].input_shape) != 3:
            raise Unsupported(f"needed images to rotate; got inputs of {problems[0].input_shape}")
        least = torch.stack([problem.train.inputs.amin((0, 2, 3)) for problem in problems])
        ground = least[:, None, :, None, None]

        def rotated_copies(inputs: Tensor, _: Sequence[torch.Generator]) -> Tensor:
            raised = inputs - ground
            return torch.cat([_rotated(raised, angle) for angle in self.angles], 1) + ground

        return rotated_copies


def _rotated(images: Float[Tensor, "problems batch channels height width"], angle: float) -> Tensor:
    if angle % 90 == 0 and images.shape[-1] == images.shape[-2]:
        return images.rot90(int(angle // 90), (-2, -1))
    return rotate(images.flatten(0, 1), angle).unflatten(0, images.shape[:2])


@dataclass(frozen=True)
class Grid:
    """All points low, low + step, ... up to high along every feature, on the network's scale."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    step: float

    def __post_init__(self) -> None:
        sides = zip(self.low, self.high, strict=False)
        if len(self.low) != len(self.high) or self.step <= 0 or any(b < a for a, b in sides):
            raise ValueError(f"Grid needs low <= high of equal length and a step > 0; got {self}")

    def points(self, problems: Sequence[Problem]) -> Points:
        """Return the whole grid; raises `Unsupported` for another number of features."""
        if problems[0].input_shape != (len(self.low),):
            raise Unsupported(
                f"needed inputs with {len(self.low)} features; got {problems[0].input_shape}"
            )
        inputs = problems[0].train.inputs
        sides = zip(self.low, self.high, strict=True)
        counts = (int((b - a) / self.step + 1e-9) + 1 for a, b in sides)
        axes = [
            low + self.step * torch.arange(count, dtype=torch.float64)
            for low, count in zip(self.low, counts, strict=True)
        ]
        grid = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).flatten(0, -2).to(inputs)
        points = grid.expand(len(problems), *grid.shape)
        return lambda batch, _: points


@dataclass(frozen=True)
class OtherData:
    """Random training inputs from another source's first fold, as many as the batch has rows.

    They are standardised by that source.
    """

    source: DataSource

    def points(self, problems: Sequence[Problem]) -> Points:
        """Return the function that draws them; raises `Unsupported` for inputs of another shape."""
        pool = self.source.load(0).train.inputs.to(problems[0].train.inputs)
        if tuple(pool.shape[1:]) != problems[0].input_shape:
            raise Unsupported(
                f"needed index points of shape {problems[0].input_shape}; "
                f"{self.source.name} has points of shape {tuple(pool.shape[1:])}"
            )

        def drawn(inputs: Tensor, rngs: Sequence[torch.Generator]) -> Tensor:
            size = inputs.shape[1:2]
            rows = [torch.randint(len(pool), size, generator=r, device=r.device) for r in rngs]
            return pool[torch.stack(rows)]

        return drawn


IndexSet = TrainingData | RotatedCopies | Grid | OtherData
