"""Columns that are constant up to rounding, and numbers at the ends of float64."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from bnnbench.datasets.base import Table
from bnnbench.datasets.errors import ExtremeScale, NothingToLearn
from bnnbench.datasets.facts import constant_columns
from bnnbench.datasets.reading import tables

RNG = np.random.default_rng(2)
PLAIN = RNG.uniform(-1, 1, 40)


def made(column: np.ndarray, test: float, targets: np.ndarray = PLAIN, **facts) -> Table:
    inputs = np.column_stack([RNG.normal(size=len(column)), column])
    rows = inputs, targets, np.array([[0.0, test]]), targets[:1].copy()
    return Table(*rows, names=("a", "b"), **facts)


def alternating(low: float, high: float) -> np.ndarray:
    return np.where(np.arange(40) % 2 == 0, low, high)


@pytest.mark.parametrize(
    "column",
    [
        alternating(0.3, 0.1 + 0.2),
        alternating(1e6 / 3, np.nextafter(1e6 / 3, 1e9)),
        alternating(-1e6, -1e6 - 1e-8),
        alternating(0.3, 0.3 + 1e-12),
        np.cumsum(np.full(40, 0.1)) / np.arange(1, 41),
        1e6 + 1e-3 * PLAIN,
    ],
    ids=["third", "large", "negative", "narrow", "running mean", "far"],
)
@pytest.mark.parametrize("classes", [0, 2])
def test_constant_columns_are_those_of_scikit_learn(column, classes):
    targets = np.arange(40.0) % 2 if classes else PLAIN
    table = made(column, column[0] + 0.01, targets, classes=classes)
    data = tables.standardised(table, ("y", ""), "own", "none")
    scaler = StandardScaler().fit(table.train_inputs)
    for split, inputs in ((data.train, table.train_inputs), (data.test, table.test_inputs)):
        np.testing.assert_allclose(split.inputs, scaler.transform(inputs), rtol=1e-6, atol=1e-6)
    rescaled = scaler.scale_[1] != 1
    assert data.facts["constant_columns"] == ([] if rescaled else [1])
    assert constant_columns(table.train_inputs) == data.facts["constant_columns"]


def test_a_listed_column_of_ones_up_to_rounding_stays_one():
    table = made(alternating(1.0, 1.0 + 2e-16), 1.0, ones=(1,))
    data = tables.standardised(table, ("y", ""), "own", "none")
    np.testing.assert_array_equal(data.train.inputs[:, 1], 1.0)


def test_targets_that_are_equal_up_to_rounding_are_refused():
    table = made(PLAIN, 0.0, alternating(0.3, 0.1 + 0.2))
    with pytest.raises(NothingToLearn, match=r"all training targets \(y\) are 0.3"):
        tables.standardised(table, ("y", ""), "own", "none")


@pytest.mark.parametrize("scale", [1e308, 1e200, 1e-200, 1e-320])
@pytest.mark.parametrize("classes", [0, 2])
def test_columns_of_extreme_scales_are_refused_by_name(scale, classes):
    table = made(PLAIN * scale, 0.0, np.arange(40.0) % 2, classes=classes)
    with pytest.raises(ExtremeScale, match=r"column 'b' has numbers of size .*: change its unit"):
        tables.standardised(table, ("y", ""), "own", "none")


@pytest.mark.parametrize("scale", [1e308, 1e200, 1e-200, 1e-320])
def test_targets_of_extreme_scales_are_refused_by_name(scale):
    table = made(PLAIN, 0.0, PLAIN * scale)
    with pytest.raises(ExtremeScale, match=r"column 'y' has numbers of size .*: change its unit"):
        tables.standardised(table, ("y", ""), "own", "none")


@pytest.mark.parametrize("scale", [1e-130, 1e-40, 1e40, 1e130])
def test_scales_that_float64_can_square_make_no_difference(scale):
    plain = tables.standardised(made(PLAIN, 0.5), ("y", ""), "own", "none")
    scaled = made(PLAIN * scale, 0.5 * scale, PLAIN * scale)
    data = tables.standardised(scaled, ("y", ""), "own", "none")
    for part, same in ((data.train, plain.train), (data.test, plain.test)):
        np.testing.assert_allclose(part.inputs[:, 1], same.inputs[:, 1], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(part.targets, same.targets, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("test", "text"), [(1e300, "of size"), (1e60, "beyond float32")])
def test_test_rows_beyond_float32_are_refused_by_name(test, text):
    with pytest.raises(ExtremeScale, match=rf"column 'b' .*{text}.*"):
        tables.standardised(made(PLAIN, test), ("y", ""), "own", "none")
    table = made(PLAIN, 0.0)
    table.test_targets[:] = test
    with pytest.raises(ExtremeScale, match=rf"column 'y' .*{text}.*"):
        tables.standardised(table, ("y", ""), "own", "none")


def test_the_names_of_an_own_table_reach_the_message(tmp_path):
    import pandas as pd

    from bnnbench.datasets.own.table import own_table

    path = tmp_path / "rows.csv"
    pd.DataFrame({"mass": PLAIN * 1e200, "size": PLAIN, "y": PLAIN}).to_csv(path, index=False)
    with pytest.raises(ExtremeScale, match="column 'mass'"):
        own_table(str(path), "y", "regression").load(0)
