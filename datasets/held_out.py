"""A source's training rows alone, part of them held out to choose settings on."""

from dataclasses import dataclass, replace

import numpy as np

from datasets import images, tables
from datasets.base import Dataset, ImageSource, Origin, Part, Table, TableSource, check_fold
from datasets.cache import cached
from datasets.images import Labelled


@dataclass(frozen=True)
class HeldOut:
    """The training rows of `source` cut in two; its test rows are out of reach.

    The held-out rows stand where the test rows were, so that a search over settings is a
    suite like any other. Images are held out from the end of the file, rows of a table at
    random. The origin is "subset", or the source's if that is less.
    """

    source: ImageSource | TableSource
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

    @cached(4)
    def load(self, fold: int) -> Dataset:
        """Return the two parts of the fold's training rows, standardised on the first."""
        check_fold(self, fold)
        if isinstance(self.source, TableSource):
            return tables.standardised(
                self.table(fold), self.source.target, self.origin, self.licence
            )
        kept, held_out = self.images("train"), self.images("test")
        return images.standardised(
            kept, held_out, self.source.classes, self.origin, self.licence
        )

    def images(self, part: Part) -> Labelled:
        """Return the first training images, or the held-out last ones as the test part."""
        assert isinstance(self.source, ImageSource)
        raw, labels = self.source.images("train")
        cut = self._kept(len(labels))
        return (raw[:cut], labels[:cut]) if part == "train" else (raw[cut:], labels[cut:])

    def table(self, fold: int) -> Table:
        """Return the fold's training rows in two parts."""
        assert isinstance(self.source, TableSource)
        whole = self.source.table(fold)
        order = np.random.default_rng(fold).permutation(len(whole.train_targets))
        cut = self._kept(len(order))
        return tables.split_table(
            whole.train_inputs, whole.train_targets, order[:cut], order[cut:]
        )

    def missing(self) -> tuple[str, ...]:
        """Return the files that the source lacks."""
        return self.source.missing()

    def fetch(self) -> None:
        """Download what the source lacks."""
        self.source.fetch()

    def fallbacks(self) -> "tuple[HeldOut, ...]":
        """Return the source's, held out likewise."""
        return tuple(replace(self, source=other) for other in self.source.fallbacks())  # type: ignore[arg-type]

    def _kept(self, rows: int) -> int:
        return rows - round(self.share * rows)
