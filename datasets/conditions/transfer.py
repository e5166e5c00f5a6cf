"""Another source's test images with the training data's labels, without training on them."""

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
    """Test images of `source`, labelled with the training data set's classes.

    They go through that data set's preprocessing. Predictions still cover all training classes:
    mass on a class that `source` lacks counts as mass on a wrong class.
    """

    source: ImageSource

    @property
    def name(self) -> str:
        """The name of the other source, after "transfer_"."""
        return condition_names.transfer(self.source.name)

    @property
    def traits(self) -> Traits:
        """Return the title, and the condition of which this is a variant."""
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

        Raises DataUnavailable if only one is a stand-in: their labels are then unrelated.
        """
        ours, theirs = dataset.origin, self.source.origin
        if (ours == "stand-in") != (theirs == "stand-in"):
            missing = "learn" if ours == "stand-in" else "test on"
            raise DataUnavailable(
                f"the data to {missing} are missing, and their stand-in has unrelated labels. "
                "To get a suite's data: bnnbench data fetch NAME (`bnnbench data` lists the "
                "names); or use stand-ins for all: --data stand-in"
            )
        return least_official(ours, theirs)

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return the images; raises ValueError if image shapes or labels do not match."""
        split = dataset.test
        images, labels = self.source.images("test")
        shape = (images.shape[3], *images.shape[1:3])
        if tuple(split.inputs.shape[1:]) != shape:
            raise ValueError(
                f"{self.source.name} has images of shape {shape}, but the network needs "
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
