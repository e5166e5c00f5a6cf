"""Training rows of a source, part of them held out for choosing settings."""

from dataclasses import dataclass, replace

import numpy as np

from bnnbench.datasets.base import Table
from bnnbench.datasets.cuts.derived import Derived
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading import tables
from bnnbench.datasets.reading.images import Labelled


@dataclass(frozen=True)
class HeldOut(Derived):
    """The training rows of `source` cut in two; its test rows are not used.

    The held-out rows replace the test rows, so that a search over settings is an ordinary suite.
    Images are held out from the end of the file, table rows at random. The origin is "subset", or
    the source's if that is less official.
    """

    share: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"the held-out share must lie between 0 and 1; got {self.share}")

    @property
    def origin(self) -> Origin:
        """The source's origin, or "subset" if the source is complete."""
        return self._origin_of_subset

    def images(self, part: Part) -> Labelled:
        """Return the first training images, or the held-out last ones as the test part."""
        raw, labels = self._image_source.images("train")
        cut = self._training_rows(len(labels))
        return (raw[:cut], labels[:cut]) if part == "train" else (raw[cut:], labels[cut:])

    def table(self, fold: int) -> Table:
        """Return the fold's training rows in two parts."""
        source_rows = self._table_source.table(fold)
        order = np.random.default_rng(fold).permutation(len(source_rows.train_targets))
        cut = self._training_rows(len(order))
        parts = order[:cut], order[cut:]
        table = tables.split_table(source_rows.train_inputs, source_rows.train_targets, *parts)
        return replace(
            table,
            ones=source_rows.ones,
            noise_std=source_rows.noise_std,
            classes=source_rows.classes,
            names=source_rows.names,
        )

    def _part_of_source(self, part: Part) -> Part:
        return "train"

    def _training_rows(self, rows: int) -> int:
        return rows - round(self.share * rows)
