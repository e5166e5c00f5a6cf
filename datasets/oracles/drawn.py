"""Real inputs with targets from a known distribution: fold k has the targets of function k."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from bnnbench.datasets.base import (
    Categorical,
    Dataset,
    Exact,
    Gaussian,
    Split,
    Table,
    Target,
    check_fold,
)
from bnnbench.datasets.cuts.derived import Derived
from bnnbench.datasets.facts import facts_of
from bnnbench.datasets.oracles import family as families
from bnnbench.datasets.oracles.family import Family, Refused
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.references.certificate import checksum

TRANSFORMS = (
    "inputs: each column less its training mean, over its training deviation",
    "targets: drawn from a law of such inputs, and left on its scale",
)


@dataclass(frozen=True)
class Drawn(Derived):
    """The rows of fold 0 of `source`, with a family's targets instead of their own.

    The noise is known, and so is the posterior under the distribution (`exact` of the data set).
    """

    family: str = ""
    """Name of the family; `bnnbench truth list` shows all."""
    folder: str = ""
    """Folder of families; "" for this project's."""

    @property
    def name(self) -> str:
        """The family's name."""
        return self.family

    @property
    def origin(self) -> Origin:
        """The origin "generated": drawn from a distribution."""
        return "generated"

    @property
    def folds(self) -> int:
        """The number of functions."""
        return len(self._family)

    @property
    def classes(self) -> int:
        """The number of classes; 0 for a real target."""
        return self._family.classes

    @property
    def target(self) -> tuple[str, str]:
        """A placeholder name and no unit: the target has neither."""
        return "y", ""

    def table(self, fold: int) -> Table:
        """Raise TypeError: other rows or another scale would have another distribution."""
        raise TypeError(f"{self.name}: rows of a known distribution cannot be cut or rescaled")

    @cached(20)
    def load(self, fold: int) -> Dataset:
        """Return the rows with the targets of function `fold`.

        Raises `Refused` if the source's inputs differ from the family's.
        """
        check_fold(self, fold)
        family, real = self._family, self.source.load(0)
        require_inputs(family, real)
        targets = family.train_targets[fold], family.test_targets[fold]
        exact = Exact(
            torch.from_numpy(family.mean[fold]),
            torch.from_numpy(family.std[fold]),
            float(family.excess_risk[fold]),
        )
        dataset = Dataset(
            train=_split(real.train, targets[0], family.classes),
            test=_split(real.test, targets[1], family.classes),
            likelihood=Categorical(family.classes)
            if family.classes
            else Gaussian(family.stated["noise_std"]),
            origin=self.origin,
            scaling=real.scaling,
            target=None if family.classes else Target(*self.target, 0.0, 1.0),
            truth=torch.from_numpy(family.truth[fold]),
            exact=exact,
        )
        raw = [(split.inputs.numpy(), split.targets.numpy()) for split in _both(dataset)]
        facts = facts_of(dataset, raw[0], raw[1], self.licence, TRANSFORMS)
        return replace(dataset, facts={**facts, "law": str(family.stated["law"])})

    def fallbacks(self, part: Part | None = None) -> tuple[()]:
        """Return no fallbacks: other inputs would change the data distribution."""
        return ()

    @property
    def _family(self) -> Family:
        return _read(self.family, self.folder)


def require_inputs(family: Family, data: Dataset) -> None:
    """Raise `Refused` unless the functions were drawn at these standardised inputs."""
    inputs = inputs_of(data)
    for key, expected in family.stated["inputs"].items():
        if inputs[key] != expected:
            raise Refused(
                f"{family.name}: {key} does not match: got {inputs[key]}, needed {expected}; is "
                "this the original file?"
            )


def inputs_of(data: Dataset) -> dict[str, object]:
    """Return checksums and sizes of the standardised inputs."""
    return {
        "train": checksum(data.train.inputs),
        "test": checksum(data.test.inputs),
        "rows": len(data.train),
        "test_rows": len(data.test),
    }


@lru_cache(20)
def _read(name: str, folder: str) -> Family:
    return families.read(name, Path(folder) if folder else families.home())


def _split(real: Split, targets: np.ndarray, classes: int) -> Split:
    drawn = torch.from_numpy(targets)
    return Split(real.inputs, drawn.long() if classes else drawn.float()[:, None])


def _both(dataset: Dataset) -> tuple[Split, Split]:
    return dataset.train, dataset.test
