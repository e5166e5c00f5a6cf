"""`bnnbench.BnnClassifier`."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.estimators.base import BnnEstimator, answered, as_array
from bnnbench.estimators.inputs import inputs_of_training
from bnnbench.methods.predictions.base import HasProbabilities, require
from bnnbench.methods.predictions.sampling import sampled


class BnnClassifier(ClassifierMixin, BnnEstimator):
    """Classification by any method, with the arguments and attributes of `BnnRegressor`.

    After `fit`, `classes_` has the labels in the order of the columns of probabilities.
    """

    def fit(self, X: Any, y: Any) -> "BnnClassifier":
        """Fit the method to rows and their labels, of which there are at least two.

        Raises ValueError for unusable rows, settings or problems (`Unsupported`), and
        `InferenceDiverged`.
        """
        X, y = inputs_of_training(self, X, y)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"needed at least two classes; got one class, {self.classes_[0]!r}, "
                f"in {len(y)} rows (n_samples = {len(y)})"
            )
        likelihood = Categorical(len(self.classes_))
        self._fit(X, torch.from_numpy(numbers), likelihood, outputs=likelihood.classes)
        return self

    def predict_proba(self, X: Any) -> Float64[np.ndarray, "rows classes"]:
        """Return the probability of each class, in the order of `classes_`.

        Those of a conformal method, whose predictive distribution is a set, are uncorrected.
        """
        probabilities = self._log_probs(X, "predict_proba").exp()
        return as_array(probabilities / probabilities.sum(1, keepdim=True))

    def predict_log_proba(self, X: Any) -> Float64[np.ndarray, "rows classes"]:
        """Return the log of the probability of each class."""
        return as_array(self._log_probs(X, "predict_log_proba").log_softmax(1))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        numbers = self._log_probs(X, "predict").argmax(1)
        return self.classes_[numbers.cpu().numpy()]

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Return samples of each row's class, of shape (n, rows)."""
        prediction = self.predict_distribution(X)
        seed = int(check_random_state(random_state).randint(2**31))
        with answered(self, "sample"):
            numbers = sampled(prediction, n, torch.Generator().manual_seed(seed))
        return self.classes_[numbers.cpu().numpy()]

    def log_score(self, X: Any, y: Any) -> float:
        """Return the mean log predictive probability of labels.

        Raises ValueError for a label that the training rows did not have.
        """
        labels = np.asarray(y)
        if strangers := set(labels.tolist()) - set(self.classes_.tolist()):
            raise ValueError(f"there is no class {next(iter(strangers))!r} among the training rows")
        numbers = torch.from_numpy(np.searchsorted(self.classes_, labels))
        log_probs = self._log_probs(X, "log_score").cpu()
        return float(log_probs.gather(1, numbers[:, None]).mean())

    def _log_probs(self, X: Any, asked: str) -> Tensor:
        prediction = self._point_distribution(X)
        with answered(self, asked):
            require(prediction, "mixture_log_probs")
            assert isinstance(prediction, HasProbabilities)
            return prediction.mixture_log_probs.double()
