"""Test rows mixed with the rows of another file, to be told apart."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.out_of_distribution import shuffled
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.own.reading import digest, require_unchanged
from bnnbench.datasets.own.trained_rows import read_rows
from bnnbench.datasets.reading.cache import cached_per_dataset
from bnnbench.datasets.reading.columns import BadTable


@dataclass(frozen=True)
class OtherRows(WithoutSources):
    """The test inputs mixed with those of a file; the target is 1 for the latter."""

    path: str
    sha256: str
    target_column: str = ""
    """A column of the file that is no input."""

    @classmethod
    def of(cls, path: str, target_column: str = "") -> "OtherRows":
        """Return the condition of a file; raises `BadTable` if it cannot be read."""
        full = os.path.realpath(path)
        read_rows(full, target_column, targets=False)
        return cls(full, digest(full), target_column)

    @property
    def files(self) -> tuple[str, ...]:
        """The file, which is the user's."""
        return (self.path,)

    @property
    def name(self) -> str:
        """The file's name after "ood_"."""
        return condition_names.out_of_distribution(Path(self.path).stem)

    @property
    def traits(self) -> Traits:
        """Return the title and the file's name."""
        outside = Path(self.path).stem
        return Traits(f"out of distribution: {outside}", outside=outside)

    @cached_per_dataset
    def select(self, dataset: Dataset) -> Split:
        """Return both sets.

        Raises `BadTable` if the file has changed, or its inputs differ in shape or names.
        """
        known = dataset.test.inputs
        require_unchanged(self.path, self.sha256)
        rows = read_rows(self.path, self.target_column, targets=False)
        names = cast(Sequence[str], dataset.facts.get("columns", ()))
        other = torch.from_numpy(rows.ordered(names, self.path).inputs)
        if other.shape[1:] != known.shape[1:]:
            raise BadTable(
                f"{self.path} has inputs of shape {tuple(other.shape[1:])}, but the network needs "
                f"{tuple(known.shape[1:])}"
            )
        return shuffled(known, other)
