"""What sources share whose rows are some of another source's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from bnnbench.datasets.base import (
    Augmentation,
    Dataset,
    DataSource,
    ImageSource,
    Origin,
    Part,
    Scaling,
    Table,
    TableSource,
    check_fold,
    has_images,
)
from bnnbench.datasets.reading import images, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.images import Labelled


@dataclass(frozen=True)
class Derived:
    """A source that goes by the name of the one it is cut from; the origin tells them apart.

    Whatever a subclass does not say is as in the source.
    """

    source: DataSource

    @property
    def name(self) -> str:
        """The source's."""
        return self.source.name

    @property
    def folds(self) -> int:
        """The source's."""
        return self.source.folds

    @property
    def licence(self) -> str:
        """The source's."""
        return self.source.licence

    @property
    def bytes(self) -> int:
        """The source's."""
        return self.source.bytes

    @property
    def classes(self) -> int:
        """The source's, of images."""
        return self._image_source.classes

    @property
    def target(self) -> tuple[str, str]:
        """The source's, of a table."""
        return self._table_source.target

    @property
    def origin(self) -> Origin:
        """The source's."""
        return self.source.origin

    def images(self, part: Part) -> Labelled:
        """Return the source's raw images and labels; raises TypeError where it has rows."""
        if not has_images(self.source):
            raise TypeError(f"{self.source.name} is made of rows")
        return self.source.images(part)

    def table(self, fold: int) -> Table:
        """Return the source's raw rows; raises TypeError where it has images."""
        if has_images(self.source):
            raise TypeError(f"{self.source.name} is made of images")
        return self._table_source.table(fold)

    @cached(4)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised on its own training rows."""
        check_fold(self, fold)
        if has_images(self.source):
            parts = self.images("train"), self.images("test")
            dataset = images.standardised(
                *parts, self.classes, self.origin, self.licence, self.fixed_scaling
            )
            augmentation = self.augmentation(dataset.scaling)
            train = replace(dataset.train, augmentation=augmentation)
            return replace(dataset, train=train, facts=_told(dataset.facts, augmentation))
        return tables.standardised(self.table(fold), self.target, self.origin, self.licence)

    @property
    def fixed_scaling(self) -> Scaling | None:
        """How images are scaled, the source's, where that is not by their mean and deviation."""
        return getattr(self.source, "fixed_scaling", None)

    def augmentation(self, scaling: Scaling) -> Augmentation | None:
        """Return how training images are changed, the source's way if it has one."""
        return self.source.augmentation(scaling) if isinstance(self.source, Derived) else None

    def missing(self, part: Part | None = None) -> tuple[str, ...]:
        """Return what the source lacks."""
        if part:
            return self._image_source.missing(self._part_of_source(part))
        return self.source.missing()

    def fetch(self, part: Part | None = None) -> None:
        """Download what the source lacks."""
        if part:
            self._image_source.fetch(self._part_of_source(part))
        else:
            self.source.fetch()

    def fallbacks(self, part: Part | None = None) -> "tuple[Derived, ...]":
        """Return the source's, cut likewise."""
        if part:
            others = self._image_source.fallbacks(self._part_of_source(part))
        else:
            others = self.source.fallbacks()
        return tuple(replace(self, source=other) for other in others)

    def _part_of_source(self, part: Part) -> Part:
        """Return which part of the source a part of this one is cut from."""
        return part

    @property
    def _origin_of_subset(self) -> Origin:
        """The source's, or "subset" where that is whole."""
        whole = self.source.origin
        return "subset" if whole in ("original", "generated") else whole

    @property
    def _image_source(self) -> ImageSource:
        return cast(ImageSource, self.source)

    @property
    def _table_source(self) -> TableSource:
        return cast(TableSource, self.source)


def require_images(source: DataSource) -> None:
    """Raise ValueError for a source of rows."""
    if not has_images(source):
        raise ValueError(f"needed a source of images; got {source.name}")


def require_table(source: DataSource) -> None:
    """Raise ValueError for a source of images."""
    if has_images(source):
        raise ValueError(f"needed a source of tables; got {source.name}")


def _told(facts: Mapping[str, object], augmentation: Augmentation | None) -> Mapping[str, object]:
    """Return the facts with the augmentation among the transforms."""
    if augmentation is None:
        return facts
    done = cast(list[str], facts["transforms"])
    return {**facts, "transforms": [*done, f"training inputs, at random each time: {augmentation}"]}
