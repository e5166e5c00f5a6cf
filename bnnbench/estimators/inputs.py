"""Inputs of estimators: arrays and tables of numbers, or tables with categories and gaps."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from pandas.api.types import is_numeric_dtype
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from bnnbench.datasets.own.preparation import prepare


def inputs_of_training(
    estimator: Any, X: Any, y: Any, **checks: Any
) -> tuple[Float64[np.ndarray, "rows features"], Any]:
    """Return inputs as numbers, and checked targets; the estimator learns the columns.

    Of a table with texts or gaps, categories become features, and missing numbers are replaced by
    the median and marked. Raises ValueError, or `BadTable`.
    """
    estimator.preparation_ = None
    if not _needs_preparation(X):
        checked: Any = validate_data(estimator, X, y, dtype=np.float64, **checks)
        return checked
    validate_data(estimator, X, y, skip_check_array=True)
    kind: Any = "numeric" if checks.get("y_numeric") else None
    y = check_array(y, ensure_2d=False, dtype=kind, input_name="y")
    check_consistent_length(X, y)
    table = X.reset_index(drop=True)
    estimator.preparation_ = prepare(table)
    return estimator.preparation_.inputs(table), y


def inputs_of(estimator: Any, X: Any) -> Float64[np.ndarray, "rows features"]:
    """Return the inputs of new rows as numbers.

    A table that needed preparation may have its columns in any order, and new categories.
    """
    if estimator.preparation_ is None:
        checked: Any = validate_data(estimator, X, reset=False, dtype=np.float64)
        return checked
    if not isinstance(X, pd.DataFrame):
        names = ", ".join(map(str, estimator.feature_names_in_))
        raise ValueError(f"needed a DataFrame with the columns {names}; got {type(X).__name__}")
    return estimator.preparation_.inputs(X.reset_index(drop=True))


def _needs_preparation(X: Any) -> bool:
    if not isinstance(X, pd.DataFrame):
        return False
    return not all(map(is_numeric_dtype, X.dtypes)) or bool(X.isna().any(axis=None))
