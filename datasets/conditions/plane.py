"""A grid over a plane of inputs, for decision regions and uncertainty away from the data."""

from dataclasses import dataclass

import torch

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.reading.cache import cached_per_dataset


@dataclass(frozen=True)
class Plane(WithoutSources):
    """Points low, low + step, ... up to high in two dimensions, on the network's scale.

    The target is 1 if a point is farther than `distance` from every training point, else 0.
    """

    low: tuple[float, float]
    high: tuple[float, float]
    step: float
    distance: float

    def __post_init__(self) -> None:
        smallest = min(self.high[0] - self.low[0], self.high[1] - self.low[1])
        if not (0 < self.step <= smallest and self.distance > 0):
            raise ValueError(f"a Plane needs 0 < step <= high - low and a distance; got {self}")

    @property
    def name(self) -> str:
        """The name, always "plane": a suite has only one."""
        return "plane"

    @property
    def traits(self) -> Traits:
        """Return the title."""
        return Traits("plane")

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return the grid, second coordinate fastest; raises ValueError unless inputs are 2-D."""
        train = dataset.train.inputs
        if train.shape[1:] != (2,):
            raise ValueError(f"a Plane needs inputs of two features; got {tuple(train.shape[1:])}")
        axes = (
            torch.arange(int((high - low) / self.step + 1e-9) + 1, dtype=torch.float64)
            for low, high in zip(self.low, self.high, strict=True)
        )
        grid = torch.tensor(self.low) + self.step * torch.cartesian_prod(*axes)
        far = torch.cdist(grid, train.double()).amin(1) > self.distance
        return Split(grid.to(train), far.long())
