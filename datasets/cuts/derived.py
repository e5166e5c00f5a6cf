"""The base of sources derived from another source."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from bnnbench.datasets.base import (
    Augmentation,
    Dataset,
    DataSource,
    ImageSource,
    Scaling,
    Table,
    TableSource,
    check_fold,
    has_images,
)
from bnnbench.datasets.origins import Origin, Part, of_subset
from bnnbench.datasets.reading import images, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.images import Labelled


@dataclass(frozen=True)
class Derived:
    """A source with the name of the source from which it is cut; the origin distinguishes them.

    By default, every property equals the source's.
    """

    source: DataSource

    @property
    def name(self) -> str:
        """The source's name."""
        return self.source.name

    @property
    def folds(self) -> int:
        """The source's number of folds."""
        return self.source.folds

    @property
    def licence(self) -> str:
        """The source's licence."""
        return self.source.licence

    @property
    def bytes(self) -> int:
        """The size of the source's download."""
        return self.source.bytes

    @property
    def classes(self) -> int:
        """The number of classes of an image source."""
        return self._image_source.classes

    @property
    def target(self) -> tuple[str, str]:
        """The target of a table source."""
        return self._table_source.target

    @property
    def origin(self) -> Origin:
        """The source's origin."""
        return self.source.origin

    def images(self, part: Part) -> Labelled:
        """Return the source's raw images and labels; raises TypeError for a table source."""
        if not has_images(self.source):
            raise TypeError(f"{self.source.name} is made of rows")
        return self.source.images(part)

    def table(self, fold: int) -> Table:
        """Return the source's raw rows; raises TypeError for an image source."""
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
            return replace(
                dataset, train=train, facts=_with_augmentation(dataset.facts, augmentation)
            )
        return tables.standardised(self.table(fold), self.target, self.origin, self.licence)

    @property
    def fixed_scaling(self) -> Scaling | None:
        """The source's fixed image scaling; None scales by the images' mean and std."""
        return getattr(self.source, "fixed_scaling", None)

    def augmentation(self, scaling: Scaling) -> Augmentation | None:
        """Return the augmentation of training images; by default the source's."""
        return self.source.augmentation(scaling) if isinstance(self.source, Derived) else None

    def missing(self, part: Part | None = None) -> tuple[str, ...]:
        """Return the source's missing files."""
        if part:
            return self._image_source.missing(self._part_of_source(part))
        return self.source.missing()

    def fetch(self, part: Part | None = None) -> None:
        """Download the source's missing files."""
        if part:
            self._image_source.fetch(self._part_of_source(part))
        else:
            self.source.fetch()

    def fallbacks(self, part: Part | None = None) -> "tuple[Derived, ...]":
        """Return the source's fallbacks, cut in the same way."""
        if part:
            sources = self._image_source.fallbacks(self._part_of_source(part))
        else:
            sources = self.source.fallbacks()
        return tuple(replace(self, source=source) for source in sources)

    def _part_of_source(self, part: Part) -> Part:
        """Return the part of the source from which `part` is cut."""
        return part

    @property
    def _origin_of_subset(self) -> Origin:
        """The source's origin, or "subset" if the source is complete."""
        return of_subset(self.source.origin)

    @property
    def _image_source(self) -> ImageSource:
        return cast(ImageSource, self.source)

    @property
    def _table_source(self) -> TableSource:
        return cast(TableSource, self.source)


def require_images(source: DataSource) -> None:
    """Raise ValueError unless the source has images."""
    if not has_images(source):
        raise ValueError(f"needed a source of images; got {source.name}")


def require_table(source: DataSource) -> None:
    """Raise ValueError if the source has images."""
    if has_images(source):
        raise ValueError(f"needed a source of tables; got {source.name}")


def _with_augmentation(
    facts: Mapping[str, object], augmentation: Augmentation | None
) -> Mapping[str, object]:
    """Return the facts with the augmentation added to the transforms."""
    if augmentation is None:
        return facts
    transforms = cast(list[str], facts["transforms"])
    return {
        **facts,
        "transforms": [*transforms, f"training inputs, at random each time: {augmentation}"],
    }
