"""The methods as models of ScoringBench, a public board of predictive distributions of tables.

Its runner calls `fit`, `predict` and `predict_distribution` and reads attributes of the prediction;
nothing of it is imported here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float64

from bnnbench.estimators.base import as_array
from bnnbench.estimators.regressor import BnnRegressor
from bnnbench.estimators.scoringbench_names import model_name
from bnnbench.methods.base import Method
from bnnbench.methods.predictions import inversion
from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.binned import binned

BINS = 300


@dataclass(frozen=True)
class DistributionPrediction:
    """A predictive distribution of each row as masses of bins, with the attributes read there."""

    probas: Float64[np.ndarray, "rows bins"]
    bin_edges: Float64[np.ndarray, "rows edges"]
    mean: Float64[np.ndarray, " rows"]
    median: Float64[np.ndarray, " rows"]
    train_range: tuple[float, float]
    """The lowest and the highest training target."""

    is_sample_based = False
    is_grid_native = True
    """The bins sample a density that is known everywhere, so that they are not smoothed again."""

    @property
    def bin_midpoints(self) -> Float64[np.ndarray, "rows bins"]:
        """The middles of the bins."""
        return (self.bin_edges[:, 1:] + self.bin_edges[:, :-1]) / 2

    @property
    def num_equally_sized_bins(self) -> int:
        """The number of bins."""
        return self.probas.shape[1]

    @property
    def native(self) -> "DistributionPrediction":
        """The bins by which scores of the cdf are computed."""
        return self

    @property
    def resampled(self) -> "DistributionPrediction":
        """The bins by which scores of the density are computed; the same."""
        return self


class ScoringBenchRegressor:
    """A method on rows of a DataFrame, which may have categories and missing values.

    `method`, `hidden` and further settings are those of `bnnbench.BnnRegressor`.
    """

    def __init__(
        self,
        method: str | Method = "ivon",
        *,
        bins: int = BINS,
        random_state: Any = 0,
        **settings: Any,
    ) -> None:
        self.bins = bins
        self.model = BnnRegressor(method, random_state=random_state, **settings)

    def fit(self, X: Any, y: Any) -> "ScoringBenchRegressor":
        """Fit the method to rows and their targets; raises the errors of `BnnRegressor.fit`."""
        targets = np.asarray(y, np.float64).reshape(-1)
        self.train_range_ = (float(targets.min()), float(targets.max()))
        self.model.fit(X, targets)
        return self

    def predict(self, X: Any) -> Float64[np.ndarray, " rows"]:
        """Return the predictive mean of each row."""
        return self.model.predict(X)

    def predict_distribution(self, X: Any) -> DistributionPrediction:
        """Return the predictive distribution of each row.

        Raises NotImplementedError for predictions without one, such as intervals of a stated level;
        the runner then scores `predict` alone.
        """
        prediction: Any = self.model.predict_distribution(X)
        try:
            bins = binned(prediction, self.bins)
            median = as_array(inversion.quantile(prediction, 0.5)[:, 0])
        except CannotAnswer as error:
            raise NotImplementedError(f"{self.model.method}: {error}") from error
        has_mean = hasattr(prediction, "mean")
        mean = as_array(prediction.mean[:, 0]) if has_mean else self.model.predict(X)
        return DistributionPrediction(bins.masses, bins.edges, mean, median, self.train_range_)


def entries() -> dict[str, Callable[[], ScoringBenchRegressor]]:
    """Return name → function that makes an unfitted model, for every method of the UCI league.

    Each searches its settings on held-out training rows, with the league's budget.
    """
    from bnnbench.suites.uci.tuned import LEAGUE

    return {
        model_name(label): partial(ScoringBenchRegressor, method)
        for label, method in LEAGUE.methods.items()
    }
