"""Conditions after acquisitions of active learning."""

from dataclasses import dataclass

from bnnbench.datasets.base import Dataset, ImageSource, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import Condition, Resolve
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.origins import Origin


@dataclass(frozen=True)
class Acquired:
    """A condition after `count` acquisitions of active learning, with the count in its name.

    It selects from the data set as it is after those acquisitions.
    """

    condition: Condition
    count: int

    @property
    def name(self) -> str:
        """The count after "acquired_", followed by the condition's name unless it is clean."""
        return condition_names.acquired(self.count, self.condition.name)

    @property
    def traits(self) -> Traits:
        """Return the condition's traits with the count."""
        inner = self.condition.traits
        title = f"{inner.title} after {self.count} acquisition{'s' * (self.count != 1)}"
        return Traits(title, clean=inner.clean, acquisitions=self.count)

    def sources(self) -> tuple[ImageSource, ...]:
        """Return the condition's sources."""
        return self.condition.sources()

    def with_sources(self, resolve: Resolve) -> "Acquired":
        """Return the condition on resolved sources."""
        return Acquired(self.condition.with_sources(resolve), self.count)

    def origin(self, dataset: Dataset) -> Origin:
        """Return the condition's origin."""
        return self.condition.origin(dataset)

    def select(self, dataset: Dataset) -> Split:
        """Return the condition's split."""
        return self.condition.select(dataset)
