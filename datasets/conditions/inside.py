"""Test rows within the range of the training inputs, where a network need not extrapolate."""

import dataclasses
from dataclasses import dataclass

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.reading.cache import cached_per_dataset


@dataclass(frozen=True)
class Inside(WithoutSources):
    """The test rows whose every feature lies between its training minimum and maximum."""

    name: str = dataclasses.field(default="inside", init=False)

    @property
    def traits(self) -> Traits:
        """Return the title."""
        return Traits("test data inside the range of the training inputs")

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return the rows; raises ValueError if there are none."""
        train, test = dataset.train.inputs.flatten(1), dataset.test.inputs.flatten(1)
        within = ((test >= train.amin(0)) & (test <= train.amax(0))).all(1)
        if not within.any():
            raise ValueError("no test row lies inside the range of the training inputs")
        return dataset.test.rows(within.nonzero().squeeze(1))
