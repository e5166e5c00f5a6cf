"""Sources whose methods are given the noise of the targets."""

import math
from dataclasses import dataclass, replace

from bnnbench.datasets.base import Dataset, Gaussian, Table
from bnnbench.datasets.cuts.derived import Derived, require_table
from bnnbench.datasets.reading.cache import cached


@dataclass(frozen=True)
class KnownNoise(Derived):
    """A table whose likelihood has a stated standard deviation, in standardised target units.

    The rows are the source's. On real data the noise is a model assumption, not a fact.
    """

    noise_std: float = 1.0

    def __post_init__(self) -> None:
        require_table(self.source)
        if not (math.isfinite(self.noise_std) and self.noise_std > 0):
            raise ValueError(f"needed a noise_std above 0; got {self.noise_std}")

    def table(self, fold: int) -> Table:
        """Return the source's rows, with the noise in original target units."""
        table = self._table_source.table(fold)
        if table.classes:
            raise ValueError(f"needed real targets; {self.source.name} has {table.classes} classes")
        return replace(table, noise_std=self.noise_std * float(table.train_targets.std()))

    @cached(4)
    def load(self, fold: int) -> Dataset:
        """Return the source's fold with this noise in its likelihood."""
        self.table(fold)  # raises ValueError for classes
        return replace(self.source.load(fold), likelihood=Gaussian(self.noise_std))
