"""Regressor and classifier beside closed forms and scikit-learn's own models."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bnnbench import BnnClassifier, BnnRegressor
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.estimators import choice
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Unsupported
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.gp.cross_validated import CrossValidatedGp
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.space import space_of
from bnnbench.suites.uci.tuned import LEAGUE
from bnnbench.suites.uci_classification.tuned import TUNED_QUICK
from bnnbench.wording import UsageError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1, 10, 100] + [5, 0, -7]
Y = 50 + X @ [3, 0.2, -0.05] + RNG.normal(size=60)
LABELS = np.where(np.median(Y) < Y, "high", "low")


def reference():
    """Return scikit-learn's model of standardised rows, and its mean and deviation in units."""
    inputs, level, unit = StandardScaler().fit(X), Y.mean(), Y.std()
    ridge = BayesianRidge().fit(inputs.transform(X), (Y - level) / unit)
    mean, std = ridge.predict(inputs.transform(X), return_std=True)
    return level + unit * mean, unit * std


@pytest.fixture(scope="module")
def ridge():
    return BnnRegressor("sklearn_ridge").fit(X, Y)


def test_predictions_are_in_units_of_the_target(ridge):
    mean, std = reference()
    np.testing.assert_allclose(ridge.predict(X), mean, rtol=1e-5)
    np.testing.assert_allclose(ridge.predict(X, return_std=True), (mean, std), rtol=1e-5)
    levels = [0.05, 0.5, 0.9]
    expected = stats.norm.ppf(levels, mean[:, None], std[:, None])
    np.testing.assert_allclose(ridge.predict_quantiles(X, levels), expected, rtol=1e-5)
    ends = stats.norm.interval(0.8, mean, std)
    np.testing.assert_allclose(ridge.predict_interval(X, 0.8), ends, rtol=1e-5)
    distribution = ridge.predict_distribution(X)
    np.testing.assert_allclose(distribution.mean[:, 0], mean, rtol=1e-5)
    expected_score = stats.norm.logpdf(Y, mean, std).mean()
    assert ridge.log_score(X, Y) == pytest.approx(expected_score, rel=1e-5)
    residual, total = ((Y - mean) ** 2).sum(), ((Y - Y.mean()) ** 2).sum()
    assert ridge.score(X, Y) == pytest.approx(1 - residual / total, rel=1e-5)


def test_samples_have_the_distribution_of_the_target(ridge):
    mean, std = reference()
    samples = ridge.sample(X, 4000, random_state=0)
    assert samples.shape == (4000, 60)
    standard = (samples - mean) / std
    assert stats.kstest(standard[:, 0], "norm").pvalue > 1e-3
    np.testing.assert_allclose(standard.mean(0), 0, atol=5 / 4000**0.5)
    np.testing.assert_array_equal(samples[:3], ridge.sample(X, 4000, random_state=0)[:3])


def test_class_frequencies_by_the_rule_of_succession():
    labels = np.array(["c", "a", "c", "b", "c", "a"])
    fitted = BnnClassifier("marginal").fit(X[:6], labels)
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(fitted.predict_proba(X[:2]), [[3 / 9, 2 / 9, 4 / 9]] * 2)
    np.testing.assert_allclose(fitted.predict_log_proba(X[:1]), np.log([[3 / 9, 2 / 9, 4 / 9]]))
    assert fitted.predict(X[:2]).tolist() == ["c", "c"]
    assert fitted.score(X[:6], labels) == 0.5
    expected = np.mean(np.log([4, 3, 4, 2, 4, 3])) - np.log(9)
    assert fitted.log_score(X[:6], labels) == pytest.approx(expected)
    samples = fitted.sample(X[:1], 3000, random_state=0)
    assert np.mean(samples == "c") == pytest.approx(4 / 9, abs=0.04)
    with pytest.raises(ValueError, match="no class 'z'"):
        fitted.log_score(X[:1], ["z"])


def test_settings_are_arguments_that_clones_keep():
    estimator = BnnRegressor("ensemble", [5, 4], size=2, member__epochs=3, random_state=1)
    settings = {"method": "ensemble", "hidden": [5, 4], "size": 2, "member__epochs": 3}
    assert settings.items() <= estimator.get_params().items()
    assert clone(estimator).get_params() == estimator.get_params()
    assert "member__epochs=3" in repr(estimator)
    estimator.set_params(size=4, hidden=7)
    method = choice.method_of("ensemble", {"size": 4, "member__epochs": np.int64(3)})
    assert method == Ensemble(4, AdamW(epochs=3))
    assert (estimator.get_params()["size"], estimator.hidden) == (4, 7)
    assert choice.method_of("adamw(epochs=3)", {"batch_size": 5}) == AdamW(epochs=3, batch_size=5)
    assert choice.method_of(AdamW(epochs=3), {"batch_size": 5}) == AdamW(epochs=3, batch_size=5)


@pytest.mark.parametrize(
    ("estimator", "text"),
    [
        (BnnRegressor("ivon", epoch=3), "no setting 'epoch', did you mean 'epochs'"),
        (BnnRegressor("ivno"), "did you mean 'ivon'"),
        (BnnRegressor("ivon", epochs="many"), "epochs: needed a whole number"),
        (BnnRegressor(AdamW), "method is the class AdamW: give its name"),
        (BnnRegressor("adamw", hidden=[0]), "hidden needs numbers of units"),
        (BnnRegressor("adamw", tune=True, learning_rate=0.1), "tune=True searches for it"),
        (BnnRegressor("exact_linear"), "needed a linear model"),
    ],
    ids=str,
)
def test_mistakes_are_found_at_fit(estimator, text):
    with pytest.raises((UsageError, ValueError, Unsupported), match=text):
        estimator.fit(X, Y)


def test_what_cannot_be_fitted_is_said():
    with pytest.raises(NotFittedError):
        BnnRegressor().predict(X)
    with pytest.raises(ValueError, match="nothing to learn"):
        BnnRegressor("marginal").fit(X, np.ones(60))
    with pytest.raises(ValueError, match="at least two classes"):
        BnnClassifier("marginal").fit(X, ["a"] * 60)
    with pytest.raises(ValueError, match="too large for single precision"):
        BnnRegressor("marginal").fit(X, Y).predict(X * 1e300)


def test_it_works_in_pipelines_searches_and_after_pickling():
    pipeline = make_pipeline(StandardScaler(), BnnRegressor("sklearn_ridge"))
    scores = cross_val_score(pipeline, X, Y, cv=3)
    ridge = make_pipeline(StandardScaler(), BayesianRidge())
    np.testing.assert_allclose(scores, cross_val_score(ridge, X, Y, cv=3), atol=0.02)
    grid = {"bnnclassifier__learning_rate": np.array([1e-5, 1e-1]), "bnnclassifier__hidden": [[3]]}
    classifier = BnnClassifier("adamw", epochs=5, random_state=0)
    search = GridSearchCV(make_pipeline(StandardScaler(), classifier), grid, cv=2).fit(X, LABELS)
    assert search.best_params_["bnnclassifier__learning_rate"] == 0.1
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))


def test_a_random_state_determines_fit_and_predictions():
    def draws(state):
        fitted = BnnRegressor("mc_dropout", hidden=4, training__epochs=1, random_state=state)
        return fitted.fit(X, Y).predict(X[:3])

    np.testing.assert_array_equal(draws(1), draws(1))
    assert (draws(1) != draws(2)).any()
    fitted = BnnRegressor("mc_dropout", hidden=4, training__epochs=1).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict(X))


def test_several_targets_are_fitted_at_once_where_the_method_has_them():
    targets = np.column_stack([Y, -3 * Y + 7])
    fitted = BnnRegressor("marginal").fit(X, targets)
    mean, std = fitted.predict(X[:2], return_std=True)
    np.testing.assert_allclose(mean, [targets.mean(0)] * 2, rtol=1e-6)
    np.testing.assert_allclose(std[:, 1], 3 * std[:, 0], rtol=1e-6)
    assert fitted.predict_quantiles(X[:4], [0.1, 0.5, 0.9]).shape == (4, 2, 3)
    assert fitted.sample(X[:4], 5).shape == (5, 4, 2)
    expected = stats.norm.logpdf(targets, targets.mean(0), std[0]).sum(1).mean()
    assert fitted.log_score(X, targets) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(Unsupported):
        BnnRegressor("sklearn_ridge").fit(X, targets)
    with pytest.warns(DataConversionWarning):
        assert BnnRegressor("marginal").fit(X, Y[:, None]).predict(X[:2]).shape == (2,)


def test_a_conformal_method_has_intervals_around_what_it_corrects():
    fitted = BnnRegressor("conformal(method=marginal)", level=0.5).fit(X, Y)
    low, high = fitted.predict_interval(X, 0.5)
    assert 0.3 < np.mean((low <= Y) & (high >= Y)) < 0.7
    mean, std = fitted.predict(X, return_std=True)
    assert (std > 0).all()
    assert ((low < mean) & (mean < high)).all()
    with pytest.raises(ValueError, match=r"only intervals of 0\.5"):
        fitted.predict_interval(X, 0.9)
    with pytest.raises(ValueError, match="log_score"):
        fitted.log_score(X, Y)
    classes = BnnClassifier("conformal(method=marginal)").fit(X, LABELS)
    assert classes.predict_distribution(X).members.shape == (60, 2)
    assert classes.predict(X).shape == (60,)


def table(**changes):
    columns = {"size": X[:, 0], "colour": np.tile(["red", "green", "blue"], 20)}
    return pd.DataFrame({**columns, "age": np.where(X[:, 1] > 15, np.nan, X[:, 1]), **changes})


def test_tables_with_categories_and_gaps_become_features():
    frame = table()
    fitted = BnnRegressor("sklearn_ridge").fit(frame, Y + 5 * (frame["colour"] == "red"))
    assert fitted.feature_names_in_.tolist() == ["size", "colour", "age"]
    assert fitted.n_features_in_ == 3
    assert "colour=red" in fitted.preparation_.names
    expected = fitted.predict(frame)
    shuffled = frame[["age", "size", "colour"]].sample(frac=1, random_state=0)
    np.testing.assert_allclose(fitted.predict(shuffled), expected[shuffled.index], rtol=1e-9)
    assert np.isfinite(fitted.predict(table(colour="violet"))).all()
    with pytest.raises(BadTable, match=r"lacks.*'age'"):
        fitted.predict(frame.drop(columns="age"))
    with pytest.raises(ValueError, match="needed a DataFrame with the columns size, colour, age"):
        fitted.predict(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        BnnRegressor("sklearn_ridge").fit(frame, Y[:10])


def test_tune_searches_as_the_board_does(monkeypatch):
    searches = []

    def fit(search, problem, rng):
        searches.append(search)
        return Marginal().fit(problem, rng)

    monkeypatch.setattr(Tuned, "fit", fit)
    BnnRegressor("adamw", tune=True).fit(X, Y)
    BnnClassifier("adamw", tune=True).fit(X, LABELS)
    of_the_board = [league.methods["AdamW"] for league in (LEAGUE, TUNED_QUICK)]
    for made, expected in zip(searches, of_the_board, strict=True):
        assert replace(made, method=expected.method) == expected
        assert space_of(made.method) == space_of(expected.method)


def test_tune_leaves_a_method_without_settings_as_it_is():
    fitted = BnnRegressor("marginal", tune=True).fit(X, Y)
    np.testing.assert_allclose(fitted.predict(X[:1]), Y.mean())


def test_tuned_settings_are_chosen_by_held_out_rows(monkeypatch):
    budget = Tuned(trials=2, blocks=1, lengths=(1, 2))
    monkeypatch.setattr(choice, "_budgets", lambda of_classes: [budget])
    fitted = BnnRegressor("adamw", hidden=3, tune=True, batch_size=16).fit(X, Y)
    assert fitted.posterior_.diagnostics["chosen_length"] in (1, 2)
    assert fitted.posterior_.diagnostics["chosen_trial"] in (0, 1)


def test_the_logarithm_of_a_target_is_that_in_its_own_unit():
    positive = np.exp(0.5 * (X[:, 0] - 5) + 0.2 * RNG.normal(size=60))
    method = CrossValidatedGp(kernels=("rbf",), target="log")
    first, other = (BnnRegressor(method, random_state=0) for _ in range(2))
    first.fit(X, positive)
    other.fit(X, 1000 * positive)
    assert (first.predict_quantiles(X, [1e-12]) > 0).all()
    score = other.log_score(X, 1000 * positive)
    assert score == pytest.approx(first.log_score(X, positive) - np.log(1000), abs=1e-3)
    with pytest.raises(Unsupported, match="positive targets"):
        first.fit(X, positive - positive.min())


def test_threads_are_as_before():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        BnnRegressor("marginal").fit(X, Y).predict(X)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
