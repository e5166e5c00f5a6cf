r"""Six rows of a line that bends at 0, for networks so small that their posterior is known.

$$ y = 0.8 \max(x, 0) - 0.3 \min(x, 0) + N(0, 0.2^2), \quad x = -1, -0.6, \dots, 1. $$

Methods are given a noise of 0.4: the model's posterior is then wide, and for that reason known.
Fold k has its own noise, drawn by NumPy's legacy generator with seed k. Test inputs are the
integers from -3 to 3. Nothing is standardised, and numbers are in double precision.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from bnnbench.datasets.base import Dataset, check_fold
from bnnbench.datasets.generated.base import GeneratedRegression
from bnnbench.datasets.reading.cache import cached

TRAIN = np.linspace(-1, 1, 6)
TEST = np.arange(-3.0, 4.0)
NOISE_STD, STATED_STD = 0.2, 0.4
"""Standard deviation of the targets' noise, and the one given to methods."""


@dataclass(frozen=True)
class Bend(GeneratedRegression):
    """Six training rows and seven test rows with one feature."""

    name = "bend"
    folds = 1000

    @cached(20)
    def load(self, fold: int) -> Dataset:
        """Return the fold, with the true function at the test inputs."""
        check_fold(self, fold)
        rng = np.random.RandomState(fold)
        targets = [function(x) + NOISE_STD * rng.standard_normal(len(x)) for x in (TRAIN, TEST)]
        train, test = (TRAIN[:, None], targets[0]), (TEST[:, None], targets[1])
        law = "y = 0.8 max(x, 0) - 0.3 min(x, 0) + N(0, 0.04); the stated noise is N(0, 0.16)"
        return self.unscaled(train, test, function(TEST), STATED_STD, law, torch.float64)


def function(inputs: Float[ndarray, " points"]) -> Float[ndarray, " points"]:
    """Return the bent line."""
    return 0.8 * np.maximum(inputs, 0) - 0.3 * np.minimum(inputs, 0)
