"""Test rows mixed with the rows of another file, to be told apart."""

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.base import WithoutSources
from bnnbench.datasets.conditions.out_of_distribution import shuffled
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.own.reading import digest
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
        """Return both sets; raises `BadTable` if their inputs differ in shape."""
        known = dataset.test.inputs
        other = torch.from_numpy(read_rows(self.path, self.target_column, targets=False).inputs)
        if other.shape[1:] != known.shape[1:]:
            raise BadTable(
                f"{self.path} has inputs of shape {tuple(other.shape[1:])}, but the network needs "
                f"{tuple(known.shape[1:])}"
            )
        return shuffled(known, other)
