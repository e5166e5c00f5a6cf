"""Columns as numbers: decided from training rows, and applied to rows of any file."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from bnnbench.datasets.own.preparation import Answers, prepare
from bnnbench.datasets.reading.columns import BadTable


def test_texts_become_categories_as_scikit_learn_has_them():
    frame = pd.DataFrame(
        {"colour": ["red", "blue", "red"], "size": [1, 2, 3], "ok": [True, False, True]}
    )
    preparation = prepare(frame)
    assert preparation.names == ("colour=blue", "colour=red", "size", "ok")
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(frame[["colour"]])
    others = frame.assign(colour=["blue", "green", "red"])
    for table in (frame, others):
        values = preparation.inputs(table)
        np.testing.assert_array_equal(values[:, :2], encoder.transform(table[["colour"]]))
        np.testing.assert_array_equal(values[:, 2:], [[1, 1], [2, 0], [3, 1]])


def test_missing_numbers_are_the_median_of_training_rows_only():
    frame = pd.DataFrame({"x": [1.0, 3.0, np.nan, 1000.0], "word": ["a", None, "a", "b"]})
    preparation = prepare(frame, [0, 1])
    assert preparation.names == ("x", "x missing", "word=a", "word=b", "word=missing")
    filled = preparation.inputs(frame)
    assert filled[:, 0].tolist() == [1, 3, 2, 1000]
    assert filled[:, 1].tolist() == [0, 0, 1, 0]
    assert filled[:, 4].tolist() == [0, 1, 0, 0]
    assert prepare(frame, [2]).inputs(frame)[2, 0] == 0  # no number is known


def test_new_rows_are_read_as_the_training_rows_were():
    frame = pd.DataFrame({"x": [1.0, 2, 6], "ok": [True, False, True], "n": ["0", "1", "2+"]})
    preparation = prepare(frame)
    expected = preparation.inputs(frame)
    shuffled = frame[["n", "ok", "x"]].assign(extra=7)
    np.testing.assert_array_equal(preparation.inputs(shuffled), expected)
    # A file of few rows has columns of other types: truths among gaps, counts with a point.
    few = pd.DataFrame({"n": [0.0, 1.0, np.nan], "ok": [True, None, False], "x": ["1", None, "6"]})
    assert preparation.inputs(few).tolist() == [[1, 1, 1, 0, 0], [2, 1, 0, 1, 0], [6, 0, 0, 0, 0]]


def test_rows_that_lack_columns_or_have_texts_for_numbers_are_refused():
    preparation = prepare(pd.DataFrame({"x": [1.0, 2], "y": [1, 3], "z": ["a", "b"]}))
    with pytest.raises(BadTable, match="lacks columns: 'x', 'z'"):
        preparation.inputs(pd.DataFrame({"y": [1]}))
    with pytest.raises(BadTable, match="column 'x' needs numbers; got 'abc'"):
        preparation.inputs(pd.DataFrame({"x": ["abc"], "y": [1], "z": ["a"]}))


def test_labels_are_numbered_and_strangers_named():
    answers = Answers("kind", ("ham", "spam"))
    assert answers.values(pd.Series(["spam", "ham"])).tolist() == [1, 0]
    with pytest.raises(BadTable, match="'eggs' is no class of 'kind'"):
        answers.values(pd.Series(["spam", "eggs"]))
    assert Answers("price").values(pd.Series([1, 2.5])).tolist() == [1, 2.5]


def test_a_preparation_consists_of_plain_values():
    preparation = prepare(pd.DataFrame({"x": [1.0, np.nan], "z": ["a", None]}))
    plain = json.loads(json.dumps(dataclasses.asdict(preparation)))
    number, word = plain["columns"]
    assert (number["name"], number["fill"], number["marked"]) == ("x", 1.0, True)
    assert (word["name"], word["levels"]) == ("z", ["a", "missing"])
