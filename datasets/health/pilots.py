"""Simple models on the splits of a table: whether there is something to learn, and how much.

A constant, ridge or logistic regression, gradient boosting, and a tree on each column alone; at
most 3,000 training rows. None is tuned but the ridge penalty.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.base import Table
from bnnbench.datasets.reading.tables import column_scaling

MOST_TRAIN_ROWS, MOST_TEST_ROWS = 3_000, 2_000
SPLITS, SPLITS_OF_COLUMNS = 10, 3
ROUNDS, LEAVES, LEAVES_OF_COLUMN = 60, 15, 16

Scores = Float[np.ndarray, " splits"]


@dataclass(frozen=True)
class Fit:
    """Scores of one model on one split."""

    loss: float
    """Root mean squared error in the target's unit, or mean log loss in nats."""
    hits: float
    """R2, or accuracy."""


def limited(table: Table) -> Table:
    """Return a table with at most 3,000 training and 2,000 test rows, standardised."""
    scaling = column_scaling(table.train_inputs[:MOST_TRAIN_ROWS])
    mean, std = scaling.mean.numpy(), scaling.std.numpy()
    return Table(
        (table.train_inputs[:MOST_TRAIN_ROWS] - mean) / std,
        table.train_targets[:MOST_TRAIN_ROWS],
        (table.test_inputs[:MOST_TEST_ROWS] - mean) / std,
        table.test_targets[:MOST_TEST_ROWS],
        classes=table.classes,
        names=table.names,
    )


def fits(table: Table) -> Mapping[str, Fit]:
    """Return the scores of the constant, the linear model and boosting on a standardised table."""
    return {name: _fit(model, table) for name, model in _models(bool(table.classes)).items()}


def _models(are_classes: bool) -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, RidgeCV

    boosting: Any = HistGradientBoostingClassifier if are_classes else HistGradientBoostingRegressor
    return {
        "constant": DummyClassifier(strategy="prior") if are_classes else DummyRegressor(),
        "linear": LogisticRegression(max_iter=300)
        if are_classes
        else RidgeCV(np.logspace(-3, 4, 15)),
        "boosting": boosting(
            max_iter=ROUNDS, max_leaf_nodes=LEAVES, early_stopping=False, random_state=0
        ),
    }


def _fit(model: Any, table: Table) -> Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of logistic regressions that stop early
        model.fit(table.train_inputs, table.train_targets)
    if table.classes:
        return _of_classes(model, table)
    errors = model.predict(table.test_inputs) - table.test_targets
    share = np.mean(errors**2) / np.mean((table.test_targets - table.train_targets.mean()) ** 2)
    return Fit(float(np.sqrt(np.mean(errors**2))), float(1 - share))


def _of_classes(model: Any, table: Table) -> Fit:
    from sklearn.metrics import log_loss

    probabilities = np.zeros((len(table.test_inputs), table.classes))
    probabilities[:, model.classes_.astype(int)] = model.predict_proba(table.test_inputs)
    hits = probabilities.argmax(1) == table.test_targets
    loss = log_loss(table.test_targets, probabilities, labels=np.arange(table.classes))
    return Fit(float(loss), float(hits.mean()))


def column_hits(table: Table) -> Float[np.ndarray, " features"]:
    """Return R2 or accuracy of a tree of sixteen leaves on each column alone."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if table.classes else DecisionTreeRegressor
    tree = kind(max_leaf_nodes=LEAVES_OF_COLUMN, min_samples_leaf=5, random_state=0)
    return np.array([_fit(tree, _column(table, k)).hits for k in range(len(table.names))])


def _column(table: Table, place: int) -> Table:
    train, test = (inputs[:, [place]] for inputs in (table.train_inputs, table.test_inputs))
    return Table(train, table.train_targets, test, table.test_targets, classes=table.classes)
