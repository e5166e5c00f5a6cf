"""A source cut into few labelled rows, test rows, and a pool from which further rows are chosen."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from bnnbench.datasets.base import Dataset, Scaling, Table, check_fold, has_images
from bnnbench.datasets.cuts.derived import Derived
from bnnbench.datasets.errors import PoolTooSmall
from bnnbench.datasets.origins import PUBLISHED, Origin, Part
from bnnbench.datasets.reading import images, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.images import Labelled


class Partition(NamedTuple):
    """Row numbers of one repeat, in random order.

    Table rows are numbered over fold 0 of the source, training rows first; images over the source's
    training part. `test` is empty for images, whose test part is the source's.
    """

    train: Int[np.ndarray, " train"]
    test: Int[np.ndarray, " test"]
    pool: Int[np.ndarray, " pool"]


@dataclass(frozen=True)
class ActivePool(Derived):
    """Active learning on a source: its folds are `repeats` random partitions.

    Of a table's rows, `train` are labelled, `test` are scored and all others form the pool. For
    images, `train` of the training part are labelled, the first `test` (None: all) of the test part
    are scored, and the other training images form the pool. Every data set is standardised on its
    labelled rows. Source: Hernández-Lobato and Adams (2015), section 5.4.
    """

    train: int = 20
    test: int | None = 100
    repeats: int = 40
    limit: int | None = None
    """Maximum number of labelled rows and of test rows, for smoke tests."""

    def __post_init__(self) -> None:
        for name in ("train", "test", "repeats", "limit"):
            if (rows := getattr(self, name)) is not None and rows < 1:
                raise ValueError(f"{name} must be at least 1; got {rows}")
        if self.test is None and not has_images(self.source):
            raise ValueError("a table has no test part: give the number of test rows")

    @property
    def folds(self) -> int:
        """The number of repeats."""
        return self.repeats

    @property
    def origin(self) -> Origin:
        """The source's origin, or "subset" if `limit` or `test` leaves official rows out."""
        origin = self.source.origin
        return "subset" if origin in PUBLISHED and self._cuts() else origin

    def images(self, part: Part) -> Labelled:
        """Return the raw images and labels of the source part from which a part is drawn."""
        raw, labels = self._image_source.images(part)
        rows = slice(self._limited(self.test) if part == "test" else None)
        return raw[rows], labels[rows]

    def table(self, fold: int) -> Table:
        """Return the raw rows labelled initially, and the test rows."""
        return self._table(self.partition(fold), ())

    @cached(4)
    def load(self, fold: int) -> Dataset:
        """Return the data set of a repeat before any acquisition."""
        return self.with_acquired(fold, ())

    def with_acquired(self, fold: int, acquired: Sequence[int]) -> Dataset:
        """Return the data set of a repeat with these pool rows labelled as well, in that order.

        Raises ValueError for a row that is not in the pool or is given twice.
        """
        parts = self.partition(fold)
        if len(set(acquired)) < len(acquired) or not set(acquired) <= set(parts.pool.tolist()):
            raise ValueError(f"needed distinct rows of the pool; got {list(acquired)}")
        if has_images(self.source):
            labelled = np.append(parts.train, np.array(acquired, int))
            raw, labels = self.images("train")
            rows = (raw[labelled], labels[labelled]), self.images("test")
            data = images.standardised(*rows, self.classes, self.origin, self.licence)
        else:
            table = self._table(parts, acquired)
            data = tables.standardised(table, self.target, self.origin, self.licence)
        remaining = len(parts.pool) - len(acquired)
        return dataclasses.replace(data, facts={**data.facts, "pool_rows": remaining})

    def candidates(self, fold: int, acquired: Sequence[int]) -> Int[np.ndarray, " candidates"]:
        """Return the rows still in the pool, in random order."""
        pool = self.partition(fold).pool
        return pool[~np.isin(pool, np.array(acquired, int))]

    def inputs(
        self, rows: Int[np.ndarray, " rows"], scaling: Scaling
    ) -> Float[Tensor, "rows *features"]:
        """Return the rows' inputs for a network that was trained under `scaling`."""
        if has_images(self.source):
            return images.as_inputs(self.images("train")[0][rows], scaling)
        return scaling.apply(torch.from_numpy(self._rows()[0][rows])).float()

    def limited(self, rows: int) -> "ActivePool":
        """Return the source with at most this many labelled and test rows; the pool stays."""
        return replace(self, limit=self._limited(rows))

    @cached(40)
    def partition(self, fold: int) -> Partition:
        """Return the row numbers of the repeat; raises PoolTooSmall if there are too few rows."""
        check_fold(self, fold)
        train = self._limited(self.train) or 0
        test = 0 if has_images(self.source) else self._limited(self.test) or 0
        rows = len(self.images("train")[1] if has_images(self.source) else self._rows()[1])
        if rows <= train + test:
            raise PoolTooSmall(f"{self.name} has {rows} rows; a pool needs over {train + test}")
        order = np.random.default_rng(fold).permutation(rows)
        return Partition(*np.split(order, [train, train + test]))

    def _table(self, parts: Partition, acquired: Sequence[int]) -> Table:
        labelled = np.append(parts.train, np.array(acquired, int))
        whole = self._table_source.table(0)
        return tables.split_table(*self._rows(), labelled, parts.test, whole.classes, whole.names)

    @cached(2)
    def _rows(self) -> tuple[Shaped[np.ndarray, "rows features"], Shaped[np.ndarray, " rows"]]:
        table = self._table_source.table(0)
        return (
            np.concatenate([table.train_inputs, table.test_inputs]),
            np.concatenate([table.train_targets, table.test_targets]),
        )

    def _limited(self, rows: int | None) -> int | None:
        return min((n for n in (rows, self.limit) if n is not None), default=None)

    def _cuts(self) -> bool:
        if self.limit is not None or not has_images(self.source):
            return self.limit is not None
        test_is_here = not self._image_source.missing("test")
        return test_is_here and len(self.images("test")[1]) < len(
            self._image_source.images("test")[1]
        )
