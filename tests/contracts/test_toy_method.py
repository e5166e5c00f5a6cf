"""The README's example of a method, compared with scikit-learn."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from tests.contracts.toy_method import NearestNeighbours
from tests.methods.problems import classification, regression, stream


def test_class_probabilities_are_neighbour_frequencies_by_the_rule_of_succession():
    problem, inputs = classification(), classification(1).train.inputs
    train = problem.train
    theirs = KNeighborsClassifier(7).fit(train.inputs.numpy(), train.targets.numpy())
    expected = (7 * theirs.predict_proba(inputs.numpy()) + 1) / (7 + 3)
    prediction = NearestNeighbours(7).fit(problem, stream(0)).predict(inputs, stream(0))
    np.testing.assert_allclose(prediction.log_probs[0].exp().numpy(), expected, rtol=1e-5)


def test_a_regression_has_the_neighbours_mean_and_the_leave_one_out_error():
    problem, inputs = regression(), regression(1).train.inputs
    x, y = problem.train.inputs.numpy(), problem.train.targets.numpy()
    theirs = KNeighborsRegressor(4).fit(x, y)
    prediction = NearestNeighbours(4).fit(problem, stream(0)).predict(inputs, stream(0))
    np.testing.assert_allclose(prediction.mean.numpy(), theirs.predict(inputs.numpy()), rtol=1e-4)
    residuals = y - theirs.predict(None)
    np.testing.assert_allclose(prediction.variances[0, 0], (residuals**2).mean(0), rtol=1e-4)


def test_more_neighbours_than_other_rows_are_refused():
    with pytest.raises(ValueError, match="40 neighbours need more rows than 37"):
        NearestNeighbours(40).fit(regression(), stream(0))
