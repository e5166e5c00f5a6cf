"""Test images of another source under the labels of the training data, without training on it."""

import dataclasses
from dataclasses import dataclass

from bnnbench.datasets.base import Categorical, Dataset, ImageSource, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import Resolve
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.names import title_of, uncut_name
from bnnbench.datasets.origins import Origin, least_official
from bnnbench.datasets.reading.cache import cached_per_dataset
from bnnbench.datasets.reading.images import as_inputs


@dataclass(frozen=True)
class Transfer:
    """The test images of `source`, whose labels are those of the data set that was learned.

    They go through that data set's preprocessing. A prediction stays what it is over all
    classes learned: mass on a class that `source` does not have is mass on a wrong one.
    """

    source: ImageSource

    @property
    def name(self) -> str:
        """The name of the other source, after "transfer_"."""
        return condition_names.transfer(self.source.name)

    @property
    def traits(self) -> Traits:
        """Return the title, and the condition that this is a variant of."""
        variant_of = condition_names.transfer(uncut_name(self.source))
        return Traits(
            f"transfer to {title_of(self.source.name)}",
            variant_of=variant_of if variant_of != self.name else "",
        )

    def sources(self) -> tuple[ImageSource, ...]:
        """Return the other source."""
        return (self.source,)

    def with_sources(self, resolve: Resolve) -> "Transfer":
        """Return the condition with the other source resolved."""
        return dataclasses.replace(self, source=resolve(self.source))

    def origin(self, dataset: Dataset) -> Origin:
        """Return the less official origin of the two.

        Raises DataUnavailable if one is a stand-in and the other is not: their labels then have
        nothing to do with one another.
        """
        ours, theirs = dataset.origin, self.source.origin
        if (ours == "stand-in") != (theirs == "stand-in"):
            missing = "learn" if ours == "stand-in" else "test on"
            raise DataUnavailable(
                f"the data to {missing} are missing, and the labels of what would take their "
                "place mean other things. To get what a suite needs: bnnbench data fetch "
                "NAME (`bnnbench data` lists them); or stand-ins for all: --data stand-in"
            )
        return least_official(ours, theirs)

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return the images; raises ValueError where they or their labels are of another kind."""
        split = dataset.test
        images, labels = self.source.images("test")
        shape = (images.shape[3], *images.shape[1:3])
        if tuple(split.inputs.shape[1:]) != shape:
            raise ValueError(
                f"{self.source.name} has images of shape {shape}, but the network sees "
                f"{tuple(split.inputs.shape[1:])}"
            )
        likelihood = dataset.likelihood
        classes = likelihood.classes if isinstance(likelihood, Categorical) else 0
        if labels.min() < 0 or labels.max() >= classes:
            raise ValueError(
                f"needed labels of {classes} classes; {self.source.name} has "
                f"{labels.min()} to {labels.max()}"
            )
        return Split(as_inputs(images, dataset.scaling), split.targets.new_tensor(labels))
