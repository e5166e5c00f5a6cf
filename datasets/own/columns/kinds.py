"""Kinds of columns that become numbers: numbers, and texts as categories."""

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from jaxtyping import Float

from bnnbench.datasets.own.columns.dates import Dates
from bnnbench.datasets.own.columns.notation import Notation
from bnnbench.datasets.reading.columns import MISSING, texts_of

REST = "other texts"
"""The category of texts that are not frequent."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; missing ones become `fill`, and 1 in a second feature if `marked`."""

    name: str
    fill: float = 0.0
    """The median of the training rows; 0 if none of them has a number."""
    marked: bool = False
    """Whether any row of the file lacks a number."""
    notation: Notation = field(default_factory=Notation)
    """How the file writes the numbers, if it has texts."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return (self.name, f"{self.name} {MISSING}") if self.marked else (self.name,)

    def fitted(self, column: pd.Series) -> "Numbers":
        """Return the column with the fill value of these training rows."""
        numbers = self.notation.numbers(column)
        known = numbers[~np.isnan(numbers)]
        return replace(self, fill=float(np.median(known)) if len(known) else 0.0)

    def values(self, column: pd.Series) -> Float[np.ndarray, "rows features"]:
        """Return the features of a column; raises `BadTable` for texts that are no numbers."""
        numbers = self.notation.numbers(column)
        gaps = np.isnan(numbers)
        filled = np.where(gaps, self.fill, numbers)
        return np.column_stack([filled, gaps * 1.0] if self.marked else [filled])


@dataclass(frozen=True)
class Categories:
    """A column of texts, with a feature for each level; an unknown text is 0 in all of them."""

    name: str
    levels: tuple[str, ...] = ()
    frequent: int = 0
    """The number of levels if they are the most frequent texts of the training rows, with one more
    feature for all other texts; 0 if all texts of the file are levels."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        rest = (REST,) if self.frequent else ()
        return tuple(f"{self.name}={level}" for level in (*self.levels, *rest))

    def fitted(self, column: pd.Series) -> "Categories":
        """Return the column with its frequent texts among these training rows."""
        if not self.frequent:
            return self
        counts = texts_of(column).value_counts()
        order = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
        return replace(self, levels=tuple(sorted(str(text) for text, _ in order[: self.frequent])))

    def values(self, column: pd.Series) -> Float[np.ndarray, "rows features"]:
        """Return the features of a column."""
        texts = texts_of(column).to_numpy()
        features = [texts == level for level in self.levels]
        if self.frequent:
            features.append(~np.isin(texts.astype(str), self.levels))
        return np.column_stack(features).astype(np.float64)


Column = Numbers | Categories | Dates
