"""The unchanged test split."""

import dataclasses
from dataclasses import dataclass

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.condition_names import CLEAN
from bnnbench.datasets.conditions.traits import Traits


@dataclass(frozen=True)
class Clean(WithoutSources):
    """The unchanged test split."""

    name: str = dataclasses.field(default=CLEAN, init=False)

    @property
    def traits(self) -> Traits:
        """Return the title."""
        return Traits("test data", clean=True)

    def select(self, dataset: Dataset) -> Split:
        """Return the test split."""
        return dataset.test
