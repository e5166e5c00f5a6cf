"""scikit-learn's own checks of its conventions, and every method as an estimator."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from bnnbench import BnnClassifier, BnnRegressor
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import Unsupported
from bnnbench.methods.card import card_of
from bnnbench.suites.check.small import small
from tests.contracts.test_every_method import MISSING

TOO_SHORT = {
    "check_regressors_train": "asks for an R² above 0.5 after the default 25 epochs on 200 rows"
}
"""Checks that fail with a method's default settings, and why they should."""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "exceptions"),
    [
        (BnnRegressor("pbp"), {}),
        (BnnRegressor("ivon"), {}),
        (BnnRegressor("adamw"), TOO_SHORT),
        (BnnRegressor("adamw", epochs=100), {}),
        (BnnRegressor("sklearn_ridge"), {}),
        (BnnClassifier("adamw"), {}),
        (BnnClassifier("laplace"), {}),
    ],
    ids=str,
)
def test_scikit_learn_finds_its_conventions(estimator, exceptions):
    results = check_estimator(estimator, expected_failed_checks=exceptions, on_skip=None)
    failed = {one["check_name"] for one in results if one["status"] == "xfail"}
    assert failed == exceptions.keys()
    skipped = {one["check_name"] for one in results if one["status"] == "skipped"}
    assert skipped == {"check_array_api_input"}, "which needs a variable of the environment"


NEEDED = "needed a trained network"
"""Methods that train no network of their own say so: an estimator has none to give."""


def rows(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    signal = X[:, 0] + 0.3 * rng.normal(size=40)
    return X, signal if kind == "regression" else np.where(signal > 0, "high", "low")


def refusal(estimator, X, y):
    """Fit the estimator, or return why its method does not cover the problem."""
    try:
        estimator.fit(X, y)
    except Unsupported as reason:
        return str(reason)
    return ""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["regression", "classification"])
@pytest.mark.parametrize("name", [name for name in METHODS if name not in MISSING])
def test_every_method_is_an_estimator(name, kind):
    X, y = rows(kind)
    estimator = BnnRegressor if kind == "regression" else BnnClassifier
    fitted = estimator(small(method_type(METHODS[name])()), hidden=[4], random_state=0)
    reason = refusal(fitted, X, y)
    if reason:
        assert f"mlp {kind}" not in card_of(name).problems or NEEDED in reason
        return
    assert fitted.predict(X[:5]).shape == (5,)
    assert np.isfinite(fitted.score(X, y))
    if kind == "classification":
        np.testing.assert_allclose(fitted.predict_proba(X[:5]).sum(1), 1)
        assert set(fitted.predict(X)) <= {"high", "low"}
    else:
        assert np.isfinite(fitted.predict(X[:5])).all()
    low, high = fitted.predict_interval(X[:5], 0.5) if kind == "regression" else (0, 1)
    assert np.all(low <= high)
