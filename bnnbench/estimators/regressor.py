"""`bnnbench.BnnRegressor`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.datasets.reading.scales import is_constant
from bnnbench.estimators.base import BnnEstimator, answered, as_array
from bnnbench.estimators.inputs import inputs_of_training
from bnnbench.methods.predictions import inversion
from bnnbench.methods.predictions.base import Predictive, require
from bnnbench.methods.predictions.sampling import sampled


class BnnRegressor(RegressorMixin, BnnEstimator):
    """Regression by any method: a network of `hidden` units, or what the method has in its place.

    `method` is a name that `bnnbench methods` lists, with settings if desired
    ("ensemble(size=3)"), "module:Class", "file.py:Class" or an instance; settings of the method are
    further arguments (`epochs=50`; `training__epochs=50` for a setting of a setting). With
    `tune=True` they are searched on held-out rows as on the board. Inputs and targets are
    standardised inside. `random_state` determines fit and predictions.

    Attributes after `fit`: `posterior_`, `n_features_in_`, `feature_names_in_` (for tables), and
    `preparation_`, how a table with texts or gaps became numbers, else None.
    """

    def fit(self, X: Any, y: Any) -> "BnnRegressor":
        """Fit the method to rows and their targets: one number each, or several.

        Raises ValueError for unusable rows, settings or problems (`Unsupported`), and
        `InferenceDiverged`.
        """
        X, y = inputs_of_training(self, X, y, y_numeric=True, multi_output=True)
        if y.ndim == 1 or y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        targets = np.asarray(y, np.float64).reshape(len(y), -1)
        mean, std = targets.mean(0), targets.std(0)
        if is_constant(mean, std, len(y)).any():
            raise ValueError(
                f"all {len(y)} targets (n_samples = {len(y)}) are equal: there is nothing to learn"
            )
        self.one_output_ = y.ndim == 1
        self.target_mean_, self.target_std_ = mean, std
        scaled = torch.from_numpy((targets - mean) / std).float()
        zero = float(-mean[0] / std[0]) if len(mean) == 1 else None
        self._fit(X, scaled, Gaussian(), outputs=targets.shape[1], target_zero=zero)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the predictive mean of each row, and with `return_std` the standard deviation.

        The deviation includes noise. Of predictions without a mean it is the median, or the middle
        of the interval; a conformal method has the mean and the deviation that it corrects.
        """
        prediction = self._point_distribution(X)
        with answered(self, "predict"):
            centre = self._shaped(_centre(prediction))
            if not return_std:
                return centre
            require(prediction, "variance")
            return centre, self._shaped(prediction.variance.sqrt())

    def predict_quantiles(self, X: Any, levels: Sequence[float]) -> Float64[np.ndarray, "rows ..."]:
        """Return the predictive quantiles of each row, one level per column."""
        prediction = self.predict_distribution(X)
        with answered(self, "predict_quantiles"):
            columns = [self._shaped(inversion.quantile(prediction, float(p))) for p in levels]
        return np.stack(columns, axis=-1)

    def predict_interval(self, X: Any, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of each row's central interval, or of the method's own (conformal)."""
        prediction = self.predict_distribution(X)
        with answered(self, "predict_interval"):
            low, high = inversion.central_interval(prediction, mass)
        return self._shaped(low), self._shaped(high)

    def sample(
        self, X: Any, n: int = 1, random_state: Any = None
    ) -> Float64[np.ndarray, "samples rows ..."]:
        """Return samples of each row's target, including noise."""
        prediction = self.predict_distribution(X)
        seed = int(check_random_state(random_state).randint(2**31))
        with answered(self, "sample"):
            return self._shaped(sampled(prediction, n, torch.Generator().manual_seed(seed)))

    def log_score(self, X: Any, y: Any) -> float:
        """Return the mean log predictive density of targets, in their units."""
        targets = torch.as_tensor(np.asarray(y, np.float64)).reshape(len(y), -1)
        prediction: Any = self.predict_distribution(X)
        with answered(self, "log_score"):
            require(prediction, "log_prob")
            return float(prediction.log_prob(targets.to(self.device)).mean())

    def _in_units(self, prediction: Any) -> Predictive:
        mean, std = torch.from_numpy(self.target_mean_), torch.from_numpy(self.target_std_)
        if len(mean) == 1:
            return prediction.rescaled(float(mean), float(std))
        return prediction.rescaled(mean.to(self.device), std.to(self.device))

    def _shaped(self, values: Tensor) -> np.ndarray:
        """Return numbers with a last axis for outputs if there are several."""
        return as_array(values[..., 0] if self.one_output_ else values)


def _centre(prediction: Any) -> Tensor:
    if hasattr(prediction, "mean"):
        return prediction.mean
    if hasattr(prediction, "low"):
        return (prediction.low + prediction.high) / 2
    return inversion.quantile(prediction, 0.5)
