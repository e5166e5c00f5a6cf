"""Published results beside ours, and paired decisions where both have the same test rows."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from bnnbench.reports.judge.statistics.intervals import standard_error, t_interval
from bnnbench.reports.sections.literature import difference, verdict

HIGHER_IS_BETTER = ("r2",)
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
    directed = [name for name in ours if name in published and _has_direction(str(name))]
    if metric not in directed:
        raise ValueError(f"both have no scores by {metric!r}: choose one of {', '.join(directed)}")


def _has_direction(name: str) -> bool:
    scores = ("crps", "rmse", "mae", "r2", "crls", "log_score", "cde_loss")
    families = ("wcrps_", "interval_score_", "energy_score_", "crts_")
    return name in scores or name.startswith(families)


def beside(ours: pd.DataFrame, published: pd.DataFrame, metric: str) -> Rows:
    """Return the mean of each model on each data set of ours, the best first, marked by whom."""
    published = published[published["dataset"].isin(ours["dataset"])]
    table = pd.concat([ours.assign(by=OURS), published.assign(by=_marked(published))])
    rows = []
    for name, of_set in table.groupby("dataset", sort=False):
        by_model = []
        for (model, by), runs in of_set.groupby(["model", "by"], sort=True):
            values = runs[metric].dropna().tolist()
            if values:
                cells = (str(name), str(model), str(by), _mean(values), str(len(values)))
                by_model.append((_sign(metric) * float(np.mean(values)), cells))
        rows += [cells for _, cells in sorted(by_model, reverse=True)]
    return rows


def paired(ours: pd.DataFrame, published: pd.DataFrame, metric: str) -> Rows:
    """Return the paired differences on the data sets whose test rows are the same.

    Intervals are of 95 % and allow for the overlap of training sets.
    """
    rows = []
    for (name, mine), of_ours in ours.groupby(["dataset", "model"], sort=True):
        others = published[published["dataset"] == name].groupby(["model", "by"], sort=True)
        for (model, by), of_others in others:
            both = _shared(of_ours, of_others, metric)
            if len(both) > 1 and same_rows(of_ours, of_others):
                gaps = (both["ours"] - both["theirs"]).tolist()
                interval = t_interval(gaps, OVERLAP)
                decided = difference(interval), str(len(gaps)), verdict(interval, _sign(metric))
                rows.append((str(name), str(mine), str(model), str(by), *decided))
    return rows


def same_rows(ours: pd.DataFrame, theirs: pd.DataFrame) -> bool:
    r"""Return whether all folds of two models on a data set have the same test rows.

    The files state no rows, but the variance of a fold's test targets follows from two scores:
    $\text{rmse}^2 / (1 - r^2)$. It has all digits, so that equal variances are those of equal rows.
    """
    variances = [_variances(table) for table in (ours, theirs)]
    if any(table is None for table in variances) or set(variances[0]) != set(variances[1]):
        return False
    return all(
        abs(variances[0][fold] - theirs) <= SAME_ROWS * theirs
        for fold, theirs in variances[1].items()
    )


def _variances(table: pd.DataFrame) -> dict[int, float] | None:
    """Return fold → variance of the test targets; None if the scores do not tell."""
    if not {"rmse", "r2"} <= set(table) or table[["rmse", "r2"]].isna().any(axis=None):
        return None
    variances = table["rmse"] ** 2 / (1 - table["r2"])
    return dict(zip(table["fold"], variances, strict=True))


def unpaired(ours: pd.DataFrame, published: pd.DataFrame) -> Iterator[str]:
    """Yield a line for each data set on which some published folds have other test rows."""
    for name, of_ours in ours.groupby("dataset", sort=True):
        first = of_ours[of_ours["model"] == of_ours["model"].iloc[0]]
        others = published[published["dataset"] == name].groupby("model", sort=True)
        apart = [str(model) for model, rows in others if not same_rows(first, rows)]
        if apart:
            yield f"{name}: other test rows than ours, so not compared: {', '.join(apart)}"


def _shared(ours: pd.DataFrame, theirs: pd.DataFrame, metric: str) -> pd.DataFrame:
    columns = [table.set_index("fold")[metric] for table in (ours, theirs)]
    return pd.concat(columns, axis=1, keys=["ours", "theirs"]).dropna()


def _marked(published: pd.DataFrame) -> Sequence[str]:
    return [f"published: {by}" for by in published["by"]]


def _sign(metric: str) -> int:
    return 1 if metric in HIGHER_IS_BETTER else -1


def _mean(values: Sequence[float]) -> str:
    error = standard_error(values)
    return f"{np.mean(values):.4g}" + ("" if error is None else f" ± {error:.2g}")
