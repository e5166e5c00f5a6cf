"""A source's training rows alone, part of them held out to choose settings on."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from datasets import images, tables
from datasets.base import (
    Dataset,
    DataSource,
    ImageSource,
    Origin,
    Part,
    Table,
    TableSource,
    check_fold,
    has_images,
)
from datasets.cache import cached
from datasets.images import Labelled


@dataclass(frozen=True)
class HeldOut:
    """The training rows of `source` cut in two; its test rows are out of reach.

    The held-out rows stand where the test rows were, so that a search over settings is a
    suite like any other. Images are held out from the end of the file, rows of a table at
    random. The origin is "subset", or the source's if that is less.
    """

    source: DataSource
    share: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"the held-out share lies between 0 and 1, not at {self.share}")

    @property
    def name(self) -> str:
        """The source's name; the origin tells that its test rows are not used."""
        return self.source.name

    @property
    def folds(self) -> int:
        """The source's."""
        return self.source.folds

    @property
    def origin(self) -> Origin:
        """The source's, or "subset" for original files."""
        return "subset" if self.source.origin == "original" else self.source.origin

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
        return self._images.classes

    @property
    def target(self) -> tuple[str, str]:
        """The source's, of a table."""
        return self._table.target

    @cached(4)
    def load(self, fold: int) -> Dataset:
        """Return the two parts of the fold's training rows, standardised on the first."""
        check_fold(self, fold)
        if has_images(self.source):
            kept, held_out = self.images("train"), self.images("test")
            return images.standardised(kept, held_out, self.classes, self.origin, self.licence)
        return tables.standardised(self.table(fold), self.target, self.origin, self.licence)

    def images(self, part: Part) -> Labelled:
        """Return the first training images, or the held-out last ones as the test part."""
        raw, labels = self._images.images("train")
        cut = self._kept(len(labels))
        return (raw[:cut], labels[:cut]) if part == "train" else (raw[cut:], labels[cut:])

    def table(self, fold: int) -> Table:
        """Return the fold's training rows in two parts."""
        whole = self._table.table(fold)
        order = np.random.default_rng(fold).permutation(len(whole.train_targets))
        cut = self._kept(len(order))
        return tables.split_table(whole.train_inputs, whole.train_targets, order[:cut], order[cut:])

    def missing(self, part: Part | None = None) -> tuple[str, ...]:
        """Return the files that the source lacks; both parts come from its training part."""
        return self._images.missing("train") if part else self.source.missing()

    def fetch(self, part: Part | None = None) -> None:
        """Download what the source lacks."""
        if part:
            self._images.fetch("train")
        else:
            self.source.fetch()

    def fallbacks(self, part: Part | None = None) -> "tuple[HeldOut, ...]":
        """Return the source's, held out likewise."""
        others = self._images.fallbacks("train") if part else self.source.fallbacks()
        return tuple(replace(self, source=other) for other in others)  # type: ignore[arg-type]

    @property
    def _images(self) -> ImageSource:
        return cast(ImageSource, self.source)

    @property
    def _table(self) -> TableSource:
        return cast(TableSource, self.source)

    def _kept(self, rows: int) -> int:
        return rows - round(self.share * rows)
