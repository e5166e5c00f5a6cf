"""Parts of the test split: its first rows, and the rows within the range of the training inputs."""

import dataclasses
from dataclasses import dataclass

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.origins import PUBLISHED, Origin
from bnnbench.datasets.reading.cache import cached_per_dataset


@dataclass(frozen=True)
class First(WithoutSources):
    """The first test rows, for methods that predict slowly."""

    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ValueError(f"needed at least 1 row; got {self.rows}")

    @property
    def name(self) -> str:
        """The name, such as "first_200_rows"."""
        return f"first_{self.rows}_rows"

    @property
    def traits(self) -> Traits:
        """Return the title."""
        return Traits(f"first {self.rows} rows")

    def origin(self, dataset: Dataset) -> Origin:
        """Return the data set's origin, or "subset" if rows are left out."""
        is_whole = dataset.origin in (*PUBLISHED, "generated")
        return "subset" if is_whole and len(dataset.test) > self.rows else dataset.origin

    def select(self, dataset: Dataset) -> Split:
        """Return the first rows; all rows if there are fewer."""
        return dataset.test.rows(slice(self.rows))


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
