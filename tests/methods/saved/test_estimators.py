"""Estimators of scikit-learn as files of skops."""

import io
import json
import sys
import zipfile

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import BayesianRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVR

from bnnbench.methods.saved.errors import NotLoaded, NotSaved
from bnnbench.methods.saved.estimators import packed, unpacked
from bnnbench.methods.saved.trees import require_trees

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.normal(size=60)
ESTIMATORS = [
    BayesianRidge(),
    RandomForestRegressor(3, max_depth=3, random_state=0),
    HistGradientBoostingRegressor(loss="quantile", quantile=0.5, max_iter=3, random_state=0),
]


def rewritten(content, change):
    """Return a file with its schema or arrays changed by a function of name and content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return buffer.getvalue()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_an_estimator_comes_back_with_equal_files(estimator):
    content = packed(estimator.fit(X, Y))
    again = unpacked(content, "it")
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    assert packed(again) == content


def test_a_class_beyond_the_list_is_neither_saved_nor_loaded():
    with pytest.raises(NotSaved, match=r"sklearn\.svm"):
        packed(SVR().fit(X, Y))

    def with_system(name, content):
        return content.replace(b'"BayesianRidge"', b'"system"').replace(
            b'"sklearn.linear_model._bayes"', b'"os"'
        )

    with pytest.raises(NotLoaded, match=r"names os\.system"):
        unpacked(rewritten(packed(ESTIMATORS[0].fit(X, Y)), with_system), "it")


def test_a_tree_that_leads_outside_itself_is_refused():
    forest = ESTIMATORS[1].fit(X, Y)

    def with_jump(name, content):
        array = None if name == "schema.json" else np.load(io.BytesIO(content))
        if array is None or array.dtype.names is None or "left_child" not in array.dtype.names:
            return content
        array["left_child"][0] = 10**6
        buffer = io.BytesIO()
        np.save(buffer, array)
        return buffer.getvalue()

    with pytest.raises(NotLoaded, match="lead nowhere"):
        unpacked(rewritten(packed(forest), with_jump), "it")


def test_a_file_that_unpacks_to_more_than_its_limit_is_not_unpacked(monkeypatch):
    monkeypatch.setattr("bnnbench.methods.saved.estimators.limit_of", lambda size: 2**20)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", json.dumps({}))
        archive.writestr("1.npy", bytes(2**22))
    with pytest.raises(NotLoaded, match="unpacks to 4 MiB, more than the limit of 1 MiB"):
        unpacked(bomb.getvalue(), "it")


def test_without_skops_the_error_names_the_command(monkeypatch):
    content = packed(ESTIMATORS[0].fit(X, Y))
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(NotSaved, match="pip install skops"):
        packed(ESTIMATORS[0])
    with pytest.raises(NotLoaded, match="pip install skops"):
        unpacked(content, "it")


def test_trees_inside_others_are_looked_at_too():
    labels = np.digitize(Y, [-0.5, 0.5])
    forest = OneVsRestClassifier(RandomForestClassifier(2, max_depth=2, random_state=0)).fit(
        X, labels
    )
    require_trees(forest)
    tree = forest.estimators_[0].estimators_[0].tree_
    state = tree.__getstate__()
    nodes = state["nodes"].copy()
    nodes["left_child"][0] = 10**6
    tree.__setstate__(state | {"nodes": nodes})
    with pytest.raises(NotLoaded, match="lead nowhere"):
        require_trees(forest)
