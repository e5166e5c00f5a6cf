"""Test images mixed with another source's, to be distinguished."""

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.datasets.base import Dataset, ImageSource, Scaling, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import Resolve
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.cuts import backbone
from bnnbench.datasets.names import title_of, uncut_name
from bnnbench.datasets.origins import Origin, least_official
from bnnbench.datasets.reading.cache import cached_per_dataset
from bnnbench.datasets.reading.images import as_inputs

INTENSITIES = Scaling(torch.zeros(()), torch.ones(()))
"""Leaves an image unchanged, on the scale of [0, 1]."""


@dataclass(frozen=True)
class OutOfDistribution:
    """The test inputs mixed with another source's test images; the target is 1 for the latter.

    All images go through the training data set's preprocessing. Without `normalised`, the other
    source's images stay intensities in [0, 1] although the network was trained on standardised
    ones. Grey images are repeated for a network with colour inputs.
    """

    source: ImageSource
    normalised: bool = True

    @property
    def name(self) -> str:
        """The other source's name after "ood_", with a suffix if it is not normalised."""
        return condition_names.out_of_distribution(self.source.name, self.normalised)

    @property
    def traits(self) -> Traits:
        """Return the title and the other source's title."""
        outside = title_of(self.source.name) + ("" if self.normalised else " without normalisation")
        variant_of = condition_names.out_of_distribution(uncut_name(self.source))
        return Traits(
            f"out of distribution: {outside}",
            outside=outside,
            variant_of=variant_of if variant_of != self.name else "",
        )

    def sources(self) -> tuple[ImageSource, ...]:
        """Return the other source."""
        return (self.source,)

    def with_sources(self, resolve: Resolve) -> "OutOfDistribution":
        """Return the condition with the other source resolved."""
        return dataclasses.replace(self, source=resolve(self.source))

    def origin(self, dataset: Dataset) -> Origin:
        """Return the less official origin of the two."""
        return least_official(dataset.origin, self.source.origin)

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return both sets; raises ValueError if their images differ in shape."""
        return shuffled(dataset.test.inputs, self._foreign(dataset))

    def _foreign(self, dataset: Dataset) -> Tensor:
        """Return the other source's test inputs, as the network needs them."""
        known = dataset.test.inputs
        images, _ = self.source.images("test")
        if images.shape[-1] == 1 and known.ndim == 4 and known.shape[1] == 3:
            images = images.repeat(3, axis=-1)
        shape = (images.shape[3], *images.shape[1:3])
        if tuple(known.shape[1:]) != shape:
            raise ValueError(
                f"{self.source.name} has images of shape {shape}, but the network needs "
                f"{tuple(known.shape[1:])}: choose another source for the condition {self.name}"
            )
        return as_inputs(images, dataset.scaling if self.normalised else INTENSITIES)


@dataclass(frozen=True)
class FeaturesOutOfDistribution(OutOfDistribution):
    """The same for `cuts.features.Features`: features of both sources' images."""

    def with_sources(self, resolve: Resolve) -> "FeaturesOutOfDistribution":
        """Return the condition with the other source resolved."""
        return dataclasses.replace(self, source=resolve(self.source))

    def _foreign(self, dataset: Dataset) -> Tensor:
        features = torch.from_numpy(backbone.features_of(self.source.images("test")[0]))
        return dataset.scaling.apply(features).to(dataset.test.inputs)


def shuffled(known: Tensor, foreign: Tensor) -> Split:
    """Return both sets of inputs in one random order, with target 1 for the latter.

    A row's number must not reveal its source.
    """
    rng = torch.Generator().manual_seed(0x0DD)
    order = torch.randperm(len(known) + len(foreign), generator=rng)
    return Split(torch.cat([known, foreign])[order], (order >= len(known)).long())
