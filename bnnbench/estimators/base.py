"""The common part of regressor and classifier: settings, scaling, the fit and its predictions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import threadpoolctl
import torch
from jaxtyping import Float64
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from bnnbench.datasets.base import Likelihood, Split
from bnnbench.datasets.reading.tables import column_scaling
from bnnbench.engine.declare.streams import stream
from bnnbench.estimators.choice import method_of, tuned
from bnnbench.estimators.inputs import inputs_of
from bnnbench.methods.base import Method, Problem
from bnnbench.methods.compiled.cupy_builds import misfits_explained
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.predictions.base import CannotAnswer, Predictive


class BnnEstimator(BaseEstimator):
    """A method of Bayesian inference for networks, fitted to the rows of a table."""

    _settings: Mapping[str, Any] = {}

    def __init__(
        self,
        method: str | Method = "ivon",
        hidden: int | Sequence[int] = (50,),
        *,
        tune: bool = False,
        random_state: Any = None,
        device: str = "cpu",
        **settings: Any,
    ) -> None:
        self.method = method
        self.hidden = hidden
        self.tune = tune
        self.random_state = random_state
        self.device = device
        if settings:
            self._settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments, with the method's settings that were given."""
        return {**super().get_params(deep), **self._settings}

    def set_params(self, **params: Any) -> "BnnEstimator":
        """Set arguments of the constructor; other names are settings of the method.

        `a__b` is the setting b of the setting a. Unknown settings raise an error in `fit`.
        """
        arguments = {name: params.pop(name) for name in self._get_param_names() if name in params}
        super().set_params(**arguments)
        if params:
            self._settings = {**self._settings, **params}
        return self

    def predict_distribution(self, X: Any) -> Predictive:
        """Return the predictive distribution of each row, in the target's units.

        It has the attributes of its class in `bnnbench.methods.predictions`, such as `mean`,
        `variance`, `cdf` and `log_prob`, as tensors.
        """
        check_is_fitted(self)
        return self._predicted(X, self.posterior_.predict)

    def _point_distribution(self, X: Any) -> Any:
        """Return predictions with a mean or probabilities: those that a conformal method corrects.

        For other methods it is the predictive distribution.
        """
        check_is_fitted(self)
        posterior = self.posterior_
        return self._predicted(X, getattr(posterior, "uncorrected", posterior.predict))

    def _predicted(self, X: Any, predict: Callable[..., Predictive]) -> Predictive:
        inputs = self._tensor(self.scaling_.apply(torch.from_numpy(inputs_of(self, X))))
        with one_thread():
            return self._in_units(predict(inputs, self._stream("predict")))

    def _in_units(self, prediction: Predictive) -> Predictive:
        return prediction

    def _fit(
        self,
        X: Any,
        targets: Tensor,
        likelihood: Likelihood,
        outputs: int,
        target_zero: float | None = None,
    ) -> None:
        """Fit the method to validated inputs, and targets as the method gets them."""
        method = method_of(self.method, self._settings)
        if self.tune:
            method = tuned(method, self._settings, likelihood)
        self.scaling_ = column_scaling(X)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        inputs = self._tensor(self.scaling_.apply(torch.from_numpy(X)))
        train = Split(inputs, targets.to(self.device))
        network = mlp(_widths(self.hidden), outputs)
        problem = Problem(train, likelihood, network, target_zero=target_zero)
        with one_thread(), misfits_explained():
            self.posterior_ = method.fit(problem, self._stream("fit"))

    def _tensor(self, values: Tensor) -> Tensor:
        single = values.float().to(self.device)
        if not single.isfinite().all():
            raise ValueError("X, standardised, has numbers too large for single precision")
        return single

    def _stream(self, use: str) -> torch.Generator:
        return stream(use, self.seed_, device=self.device)


def _widths(hidden: int | Sequence[int]) -> list[int]:
    widths = [hidden] if isinstance(hidden, int | np.integer) else list(hidden)
    if not all(isinstance(n, int | np.integer) and n > 0 for n in widths):
        raise ValueError(f"hidden needs numbers of units, 1 or more per layer; got {hidden!r}")
    return [int(n) for n in widths]


def as_array(values: Tensor) -> Float64[np.ndarray, "..."]:
    """Return numbers in double precision."""
    return values.detach().double().cpu().numpy()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread, so that sums have the same order on every machine.

    Threads of small networks only wait for each other.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpoolctl.threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def answered(estimator: BnnEstimator, asked: str) -> Iterator[None]:
    """Raise ValueError if the predictions of a method cannot answer what is asked."""
    try:
        yield
    except CannotAnswer as error:
        text = f"{asked}: the predictions of {estimator.method} cannot answer this: {error}"
        raise ValueError(text) from error
