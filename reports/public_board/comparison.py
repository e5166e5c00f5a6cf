"""Published results beside ours, and paired decisions where both have the same test rows."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from bnnbench.reports.judge.statistics.intervals import standard_error, t_interval
from bnnbench.reports.public_board.names import HIGHER_IS_BETTER, LOWER_IS_BETTER
from bnnbench.reports.sections.literature import difference, verdict

SAME_ROWS = 1e-6
"""Relative difference of the variances of test targets up to which the test rows are the same."""
OVERLAP = 0.25
"""Test rows per training row of five folds: the overlap of `reports.read.overlap`."""
OURS = "ours"

HEADINGS = ("data set", "model", "by", "mean", "folds")
PAIRED = ("data set", "ours", "published", "by", "ours less theirs", "folds", "ours is")
Rows = list[tuple[str, ...]]


def require_metric(metric: str, ours: pd.DataFrame, published: pd.DataFrame) -> None:
    """Raise ValueError unless both have a column with a better direction."""
    directed = (*LOWER_IS_BETTER, *HIGHER_IS_BETTER)
    common = [name for name in directed if name in ours and name in published]
    if metric not in common:
        raise ValueError(f"both have no scores by {metric!r}: choose one of {', '.join(common)}")


def beside(ours: pd.DataFrame, published: pd.DataFrame, metric: str) -> Rows:
    """Return the mean of each model on each data set of ours, the best first, marked by whom."""
    published = published.merge(ours[["dataset"]].drop_duplicates())
    table = pd.concat([ours.assign(by=OURS), published.assign(by=_marked(published))])
    means = []
    for names, runs in _groups(table, "dataset", "model", "by"):
        if values := runs[metric].dropna().tolist():
            worse = -_sign(metric) * float(np.mean(values))
            means.append((names[0], worse, (*names, _mean(values), str(len(values)))))
    return [cells for _, _, cells in sorted(means)]


def paired(ours: pd.DataFrame, published: pd.DataFrame, metric: str) -> Rows:
    """Return the paired differences on the data sets whose test rows are the same.

    Intervals are of 95 % and allow for the overlap of training sets.
    """
    rows = []
    for (name, mine), of_ours in _groups(ours, "dataset", "model"):
        for (where, *model), of_theirs in _groups(published, "dataset", "model", "by"):
            both = _shared(of_ours, of_theirs, metric) if where == name else []
            if len(both) > 1 and same_rows(of_ours, of_theirs):
                interval = t_interval(both, OVERLAP)
                decided = difference(interval), str(len(both)), verdict(interval, _sign(metric))
                rows.append((name, mine, *model, *decided))
    return rows


def _groups(table: pd.DataFrame, *names: str) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    """Yield the values of these columns and their rows, in order."""
    for values, places in sorted(table.groupby(list(names)).indices.items()):
        yield tuple(map(str, np.atleast_1d(np.array(values, dtype=object)))), table.iloc[places]


def same_rows(ours: pd.DataFrame, theirs: pd.DataFrame) -> bool:
    r"""Return whether all folds of two models on a data set have the same test rows.

    The files state no rows, but the variance of a fold's test targets follows from two scores:
    $\text{rmse}^2 / (1 - r^2)$. It has all digits, so that equal variances are those of equal rows.
    """
    mine, published = _variances(ours), _variances(theirs)
    if mine.keys() != published.keys():
        return False
    return all(abs(mine[fold] - value) <= SAME_ROWS * value for fold, value in published.items())


def _variances(table: pd.DataFrame) -> dict[int, float]:
    """Return fold → variance of the test targets, NaN if the scores do not tell."""
    if not {"rmse", "r2"} <= set(table):
        return dict.fromkeys(table["fold"].tolist(), math.nan)
    variances = table["rmse"].to_numpy() ** 2 / (1 - table["r2"].to_numpy())
    return dict(zip(table["fold"].tolist(), variances.tolist(), strict=True))


def unpaired(ours: pd.DataFrame, published: pd.DataFrame) -> Iterator[str]:
    """Yield a line for each data set on which some published folds have other test rows."""
    first = {name: rows for (name, _), rows in _groups(ours, "dataset", "model")}
    apart: dict[str, list[str]] = {name: [] for name in first}
    for (name, model), rows in _groups(published, "dataset", "model"):
        if name in first and not same_rows(first[name], rows):
            apart[name].append(model)
    for name, models in apart.items():
        if models:
            yield f"{name}: other test rows than ours, so not compared: {', '.join(models)}"


def _shared(ours: pd.DataFrame, theirs: pd.DataFrame, metric: str) -> list[float]:
    """Return our score less theirs in every fold in which both have one."""
    mine, published = (
        dict(zip(table["fold"].tolist(), table[metric].tolist(), strict=True))
        for table in (ours, theirs)
    )
    gaps = [mine[fold] - published[fold] for fold in sorted(mine.keys() & published.keys())]
    return [gap for gap in gaps if not math.isnan(gap)]


def _marked(published: pd.DataFrame) -> Sequence[str]:
    return [f"published: {by}" for by in published["by"]]


def _sign(metric: str) -> int:
    return 1 if metric in HIGHER_IS_BETTER else -1


def _mean(values: Sequence[float]) -> str:
    error = standard_error(values)
    return f"{np.mean(values):.4g}" + ("" if error is None else f" ± {error:.2g}")
