"""The first rows of a source, for quick profiles and smoke tests."""

from dataclasses import dataclass, replace

from bnnbench.datasets.base import Table, has_images
from bnnbench.datasets.cuts.derived import Derived
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading.images import Labelled


@dataclass(frozen=True)
class Limited(Derived):
    """A source with at most the first `train` and `test` rows of another; None keeps all rows.

    The first rows are as good as any: publishers shuffled the images, and most folds are random
    permutations. Everything is standardised on the remaining training rows. Nested limits combine
    to the smaller one.
    """

    train: int | None = None
    test: int | None = None

    def __post_init__(self) -> None:
        for limit in (self.train, self.test):
            if limit is not None and limit < 1:
                raise ValueError(f"a limit must be at least 1 row; got {limit}")
        if isinstance(inner := self.source, Limited):
            object.__setattr__(self, "source", inner.source)
            object.__setattr__(self, "train", _smaller(self.train, inner.train))
            object.__setattr__(self, "test", _smaller(self.test, inner.test))

    @property
    def origin(self) -> Origin:
        """The source's origin, or "subset" if rows are left out."""
        origin, subset = self.source.origin, self._origin_of_subset
        return subset if subset != origin and self._cuts() else origin

    def images(self, part: Part) -> Labelled:
        """Return the first raw images and labels of a part."""
        raw, labels = self._image_source.images(part)
        limit = self.train if part == "train" else self.test
        return raw[:limit], labels[:limit]

    def table(self, fold: int) -> Table:
        """Return the first raw rows of a fold's parts."""
        rows = self._table_source.table(fold)
        return replace(
            rows,
            train_inputs=rows.train_inputs[: self.train],
            train_targets=rows.train_targets[: self.train],
            test_inputs=rows.test_inputs[: self.test],
            test_targets=rows.test_targets[: self.test],
        )

    def _cuts(self) -> bool:
        """Return whether rows are left out of the parts that are available here."""
        if has_images(self.source):
            limits: tuple[tuple[Part, int | None], ...] = (
                ("train", self.train),
                ("test", self.test),
            )
            return any(
                limit is not None and limit < len(self.source.images(part)[1])
                for part, limit in limits
                if not self.source.missing(part)
            )
        if self.source.missing():
            return False
        rows = self._table_source.table(0)
        counts = len(rows.train_targets), len(rows.test_targets)
        return any(
            limit is not None and limit < count
            for limit, count in zip((self.train, self.test), counts, strict=True)
        )


def _smaller(a: int | None, b: int | None) -> int | None:
    return min((limit for limit in (a, b) if limit is not None), default=None)
