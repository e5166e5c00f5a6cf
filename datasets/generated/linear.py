r"""A linear function of ten features, so that posterior and predictive are known exactly.

$$ y = w^T x + N(0, 1), \qquad w \sim N(0, I / 10). $$

Fold k is an independent data set, drawn by NumPy's legacy generator with seed k. The 20 training
inputs satisfy $X^T X / 20 = \Sigma$, $\Sigma_{ij} = c^{|i - j|}$, to rounding: with c = 0 the
posterior under the true prior of w has equal variances and no correlations. A test input points in
the direction of a draw from $N(0, \Sigma)$; its length makes the posterior standard deviation of
$w^T x$ 1.5 times the noise's. Nothing is standardised.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from bnnbench.datasets.base import Dataset, check_fold
from bnnbench.datasets.generated.base import GeneratedRegression
from bnnbench.datasets.reading.cache import cached

FEATURES, TRAIN_ROWS, TEST_ROWS = 10, 20, 10
PRIOR_STD = FEATURES**-0.5
"""Standard deviation of the weights."""
NOISE_STD = 1.0
SPREAD = 1.5
"""Posterior standard deviation at test inputs, relative to the noise's."""


@dataclass(frozen=True)
class LinearTruth(GeneratedRegression):
    """20 training rows and 10 test inputs; `correlation` is between neighbouring features."""

    correlation: float = 0.0
    folds = 1000

    def __post_init__(self) -> None:
        if not -1 < self.correlation < 1:
            raise ValueError(f"a correlation must lie between -1 and 1; got {self.correlation}")

    @property
    def name(self) -> str:
        """The name in tables."""
        return f"linear_correlation_{self.correlation:g}"

    @cached(20)
    def load(self, fold: int) -> Dataset:
        """Return the fold, with the true function at the test inputs."""
        check_fold(self, fold)
        rng = np.random.RandomState(fold)
        weights = PRIOR_STD * rng.standard_normal(FEATURES)
        train, test = self._inputs(rng)
        truths = train @ weights, test @ weights
        targets = [f + NOISE_STD * rng.standard_normal(len(f)) for f in truths]
        rows = (train, targets[0]), (test, targets[1])
        law = f"correlation of neighbours {self.correlation:g}, y = w·x + N(0, 1), w ~ N(0, I/10)"
        return self.unscaled(*rows, truths[1], NOISE_STD, law, torch.float32)

    def _inputs(
        self, rng: np.random.RandomState
    ) -> tuple[Float[ndarray, "rows features"], Float[ndarray, "points features"]]:
        places = np.arange(FEATURES)
        covariance = self.correlation ** np.abs(places[:, None] - places)
        root = np.linalg.cholesky(covariance)
        orthonormal, _ = np.linalg.qr(rng.standard_normal((TRAIN_ROWS, FEATURES)))
        train = TRAIN_ROWS**0.5 * orthonormal @ root.T
        directions = rng.standard_normal((TEST_ROWS, FEATURES)) @ root.T
        precision = TRAIN_ROWS * covariance / NOISE_STD**2 + np.eye(FEATURES) / PRIOR_STD**2
        spread = np.sqrt((directions * np.linalg.solve(precision, directions.T).T).sum(1))
        return train, directions * (SPREAD * NOISE_STD / spread)[:, None]
