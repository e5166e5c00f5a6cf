"""Disjoint training sets cut from a source's training images, with its test images."""

from dataclasses import dataclass, replace

from bnnbench.datasets.base import Dataset, check_fold
from bnnbench.datasets.cuts.derived import Derived, require_images
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading.images import Labelled


@dataclass(frozen=True)
class Disjoint(Derived):
    """Folds without common training images: consecutive blocks in the source's order.

    A block has `train` images, or fewer if there are not enough for all blocks. All folds have the
    first `test` test images, or all of them if None.
    """

    train: int = 1000
    blocks: int = 10
    test: int | None = None

    def __post_init__(self) -> None:
        require_images(self.source)
        for name, count in (("train", self.train), ("blocks", self.blocks), ("test", self.test)):
            if count is not None and count < 1:
                raise ValueError(f"Disjoint needs {name} to be at least 1; got {count}")

    @property
    def folds(self) -> int:
        """The number of blocks."""
        return self.blocks

    @property
    def origin(self) -> Origin:
        """The source's origin, or "subset" if the source is complete."""
        return self._origin_of_subset

    def images(self, part: Part) -> Labelled:
        """Return the images of the first block, or the test images."""
        return self.block(0).images(part)

    def load(self, fold: int) -> Dataset:
        """Return a block, standardised on its own training images."""
        check_fold(self, fold)
        dataset = self.block(fold).load(0)
        return replace(dataset, facts={**dataset.facts, "disjoint_training_sets": self.blocks})

    def block(self, number: int) -> "Block":
        """Return the source of one block."""
        return Block(self.source, self.train, self.blocks, number, self.test)


@dataclass(frozen=True)
class Block(Derived):
    """One training set of `Disjoint`, a source with one fold."""

    train: int
    blocks: int
    number: int
    test: int | None

    @property
    def folds(self) -> int:
        """The number of folds: one."""
        return 1

    @property
    def origin(self) -> Origin:
        """The source's origin, or "subset" if the source is complete."""
        return self._origin_of_subset

    def images(self, part: Part) -> Labelled:
        """Return the block's training images, or the test images."""
        raw, labels = self._image_source.images(part)
        if part == "test":
            return raw[: self.test], labels[: self.test]
        size = min(self.train, len(labels) // self.blocks)
        if size < 1:
            raise ValueError(
                f"{self.name} has {len(labels)} training images, too few for {self.blocks} blocks"
            )
        rows = slice(self.number * size, (self.number + 1) * size)
        return raw[rows], labels[rows]
