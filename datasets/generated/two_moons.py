"""Two interleaved half circles with noise: scikit-learn's `make_moons`.

Fold k is drawn with seed 456 + k; fold 0 is the training set of paper 003, figure 3. Inputs keep
their scale, in which `Plane` conditions are stated.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from sklearn.datasets import make_moons

from bnnbench.datasets.base import Categorical, Dataset, Scaling, Split, check_fold
from bnnbench.datasets.facts import facts_of
from bnnbench.datasets.generated.base import Generated
from bnnbench.datasets.reading.cache import cached

TRAIN_ROWS, TEST_ROWS, NOISE_STD = 100, 1000, 0.2
FIRST_SEED, FIRST_TEST_SEED = 456, 10_456


@dataclass(frozen=True)
class TwoMoons(Generated):
    """100 training and 1000 test points of two classes in the plane."""

    name = "two_moons"
    folds = 100
    classes = 2

    @cached(20)
    def load(self, fold: int) -> Dataset:
        """Return the fold, unscaled."""
        check_fold(self, fold)
        train = _moons(TRAIN_ROWS, FIRST_SEED + fold)
        test = _moons(TEST_ROWS, FIRST_TEST_SEED + fold)
        dataset = Dataset(
            train=_split(*train),
            test=_split(*test),
            likelihood=Categorical(self.classes),
            origin=self.origin,
            scaling=Scaling(torch.zeros(2), torch.ones(2)),
        )
        return dataclasses.replace(dataset, facts=facts_of(dataset, train, test, self.licence))


def _moons(rows: int, seed: int) -> tuple[Float[ndarray, "rows 2"], Int[ndarray, " rows"]]:
    inputs, labels = make_moons(rows, noise=NOISE_STD, random_state=seed)
    return np.asarray(inputs), np.asarray(labels)


def _split(inputs: Float[ndarray, "rows 2"], labels: Int[ndarray, " rows"]) -> Split:
    return Split(torch.from_numpy(inputs).float(), torch.from_numpy(labels))
