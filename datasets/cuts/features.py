"""Features of images by a network that was trained on others, as a table to train small heads."""

from dataclasses import dataclass, field, replace

import numpy as np

from bnnbench.datasets.base import Dataset, ImageSource, Table, check_fold
from bnnbench.datasets.cuts import backbone
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.origins import Origin, least_official
from bnnbench.datasets.reading import tables
from bnnbench.datasets.reading.cache import cached


@dataclass(frozen=True)
class Features:
    """The last hidden layer of `backbone`, for images that it was not trained on.

    The table holds at most the first `train` training images and `test` test images.
    """

    pictures: ImageSource = field(default_factory=Cifar10)
    train: int = backbone.UNSEEN
    test: int = 10_000

    folds = 1

    def __post_init__(self) -> None:
        if self.train > backbone.UNSEEN:
            raise ValueError(
                f"Features has at most {backbone.UNSEEN} training rows, since the network was "
                f"trained on the other images; got train={self.train}"
            )

    @property
    def name(self) -> str:
        """The image source's name with "_features"."""
        return f"{self.pictures.name}_features"

    @property
    def classes(self) -> int:
        """The number of labels."""
        return self.pictures.classes

    @property
    def origin(self) -> Origin:
        """The images' origin, but at best "subset", since not all images are used."""
        return least_official(self.pictures.origin, "subset")

    @property
    def licence(self) -> str:
        """The images' licence."""
        return self.pictures.licence

    @property
    def bytes(self) -> int:
        """The size of the images' download."""
        return self.pictures.bytes

    @property
    def target(self) -> tuple[str, str]:
        """The target's name; it has no unit."""
        return "class", ""

    @cached(2)
    def table(self, fold: int) -> Table:
        """Return features and labels."""
        check_fold(self, fold)
        inputs, labels = self.pictures.images("train")
        test_inputs, test_labels = self.pictures.images("test")
        rows = min(self.train, len(labels))
        return Table(
            backbone.features_of(inputs[:rows]),
            labels[:rows].astype(np.float64),
            backbone.features_of(test_inputs[: self.test]),
            test_labels[: self.test].astype(np.float64),
            classes=self.classes,
        )

    @cached(2)
    def load(self, fold: int) -> Dataset:
        """Return the features, standardised on the training rows."""
        return tables.standardised(self.table(fold), ("class", ""), self.origin, self.licence)

    def missing(self) -> tuple[str, ...]:
        """Return the images' missing files."""
        return self.pictures.missing()

    def fetch(self) -> None:
        """Download the images' missing files."""
        self.pictures.fetch()

    def fallbacks(self) -> "tuple[Features, ...]":
        """Return the features of the images' fallbacks."""
        return tuple(replace(self, pictures=pictures) for pictures in self.pictures.fallbacks())
