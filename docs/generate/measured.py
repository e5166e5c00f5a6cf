"""Scores of finished runs, by the folders of docs/bundle, for documents."""

import functools
import math
from collections.abc import Iterator, Mapping

import pandas as pd

from bnnbench.metrics import LISTED
from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.read import frames
from bnnbench.reports.style import labels
from docs.generate.finished_runs import BUNDLE, records, suites

Options = Mapping[str, str]


def scores_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method, with its cost if recorded.

    `digits` has the number of decimals for each metric in turn; the default is three.
    """
    metrics = options["metrics"].split(",")
    places = [int(n) for n in options["digits"].split(",")] if "digits" in options else []
    digits = dict(zip(metrics, places or [3] * len(metrics), strict=True))
    table = _selected(options)
    by_metric = {m: table[table.metric == m].groupby("method")["value"] for m in metrics}
    first = by_metric[metrics[0]].mean()
    down = LISTED[metrics[0]].higher_is_better
    seconds_of = costs_of(options)
    costed = ["CPU s"] if seconds_of.notna().any() else []
    yield ("method", *map(labels.metric, metrics), "runs", *costed)
    yield ("---", *("---:" for _ in metrics), "---:", *("---:" for _ in costed))
    for method in first.sort_values(ascending=not down).index:
        of_method = table[table.method == method]
        cells = [_mean(of_method[of_method.metric == m], digits[m]) for m in metrics]
        runs = len(by_metric[metrics[0]].get_group(method))
        yield (method, *cells, str(runs), *(seconds(seconds_of.get(method)) for _ in costed))


def across_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method; a column is a data set or condition.

    `across` says which of the two, `columns` names some in their order; a cell is empty if nothing
    was run.
    """
    table = _scored(options)
    across, digits = options["across"], int(options.get("digits", 3))
    columns = (
        options["columns"].split(",") if "columns" in options else list(table[across].unique())
    )
    if missing := set(columns) - set(table[across]):
        raise ValueError(f"no score of {sorted(missing)} in docs/bundle for {dict(options)}")
    methods = options["methods"].split(",") if "methods" in options else table["method"].unique()
    yield ("", *(column.replace("_", " ") for column in columns))
    yield ("---", *("---:" for _ in columns))
    for method in methods:
        of_method = table[table.method == method]
        yield method, *(_mean(of_method[of_method[across] == column], digits) for column in columns)


def differences_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each rival and metric."""
    own, seconds_of = options["of"], costs_of(options)
    yield ("rival", "score", "difference", "better on", "CPU s")
    yield ("---", "---", "---:", "---:", "---:")
    table = _selected(options)
    for metric in options["metrics"].split(","):
        sign = 1 if LISTED[metric].higher_is_better else -1
        for rival in options["rivals"].split(","):
            gaps = _gaps(table[table.metric == metric], own, rival)
            better = f"{int((sign * gaps > 0).sum())} of {len(gaps)}"
            both = f"{seconds(seconds_of.get(own))} and {seconds(seconds_of.get(rival))}"
            yield rival, labels.metric(metric), _interval(gaps, 0.0, 4), better, both


def pairs_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each rival; a column is a data set.

    A cell has the mean difference over folds and its 95 % interval, widened for rows that folds
    share as in reports; it is empty if nothing was run.
    """
    rivals, columns = options["rivals"].split(","), options["columns"].split(",")
    table = _scored({**options, "methods": ",".join((options["of"], *rivals))})
    yield (f"{options['of']} minus", *(column.replace("_", " ") for column in columns))
    yield ("---", *("---:" for _ in columns))
    for rival in rivals:
        gaps = [_gaps(table[table.dataset == name], options["of"], rival) for name in columns]
        shared = [_overlap(options["suite"], options["profile"], name) for name in columns]
        digits = int(options.get("digits", 2))
        yield rival, *(_interval(of_set, r, digits) for of_set, r in zip(gaps, shared, strict=True))


def value_text(options: Options) -> str:
    """Return the mean of one metric of one method over folds, or over seeds of one fold."""
    values = _values(_scored({**options, "methods": options["method"]}))
    return _text(values.mean(), int(options.get("digits", 3)))


def csv_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and the rows of a csv of docs/bundle, or of the chosen columns.

    `where` selects rows by values of columns: `seed:0,epoch:6`.
    """
    table = pd.read_csv(BUNDLE / options["file"], dtype=str, keep_default_na=False)
    for condition in filter(None, options.get("where", "").split(",")):
        column, _, value = condition.partition(":")
        table = table[table[column] == value]
    if table.empty:
        raise ValueError(f"no row for {dict(options)}")
    columns = options["columns"].split(",") if "columns" in options else list(table)
    yield tuple(column.replace("_", " ") for column in columns)
    yield tuple("---:" for _ in columns)
    yield from table[columns].itertuples(index=False, name=None)


def costs_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method and device: means over fits."""
    table = _costs_of_runs(options["bundle"])
    yield ("method", "device", "fits", "minutes per fit", "kJ", "GiB")
    yield ("---", "---", *4 * ("---:",))
    for (method, device), fits in table.groupby(["method", "device"]):
        mean = fits[["fit_seconds", "fit_joules", "peak_bytes"]].mean()
        scaled = mean / [60, 1000, 2**30]
        numbers = ("" if math.isnan(value) else f"{value:.3g}" for value in scaled)
        yield str(method), str(device), str(len(fits)), *numbers


def costs_of(options: Options) -> pd.Series:
    """Return method → mean processor seconds of a fit including its search; NaN if not recorded."""
    table = _costs_of_runs(options["bundle"])
    for name in ("profile", "dataset"):
        if name in options:
            table = table[table[name] == options[name]]
    return table.groupby("method")["fit_cpu_seconds"].mean()


def seconds(value: float | None) -> str:
    """Return seconds with three digits, or a text if they are unknown."""
    return "unknown" if value is None or math.isnan(value) else f"{value:.3g}"


@functools.cache
def scores_of(bundles: str) -> pd.DataFrame:
    """Return the scores of one or more folders of docs/bundle, one per row."""
    return pd.concat([frames.scores_of(records(bundle)) for bundle in bundles.split(",")])


@functools.cache
def _costs_of_runs(bundles: str) -> pd.DataFrame:
    return pd.concat([frames.costs_of(records(bundle)) for bundle in bundles.split(",")])


def _selected(options: Options) -> pd.DataFrame:
    table = scores_of(options["bundle"])
    for name in ("profile", "dataset", "condition"):
        if name in options:
            table = table[table[name] == options[name]]
    if "methods" in options:
        wanted = options["methods"].split(",")
        if missing := set(wanted) - set(table["method"]):
            raise ValueError(f"no score of {sorted(missing)} in docs/bundle for {dict(options)}")
        table = table[table["method"].isin(wanted)]
    if table.empty:
        raise ValueError(f"no score in docs/bundle for {dict(options)}")
    return table


def _scored(options: Options) -> pd.DataFrame:
    """Return the selected scores of one metric."""
    table = _selected(options)
    table = table[table.metric == options["metric"]]
    if table.empty:
        raise ValueError(f"no score in docs/bundle for {dict(options)}")
    return table


def _overlap(suite: str, profile: str, dataset: str) -> float | None:
    """Return the overlap of splits, which widens intervals; 0 over seeds of one split."""
    (benchmark,) = (
        benchmark
        for benchmark in suites()[suite]
        if (benchmark.profile, benchmark.dataset) == (profile, dataset)
    )
    return benchmark.overlap


def _gaps(table: pd.DataFrame, own: str, rival: str) -> pd.Series:
    """Return the differences on each fold, or of each seed if there is one fold."""
    index = "fold" if table["fold"].nunique() > 1 else "seed"
    wide = table.pivot_table(index=index, columns="method", values="value")
    return (wide[own] - wide[rival]).dropna() if rival in wide else pd.Series(dtype=float)


def _mean(runs: pd.DataFrame, digits: int = 3) -> str:
    if runs.empty:
        return ""
    values = _values(runs)
    error = f" ± {values.std() / len(values) ** 0.5:.{digits}f}" if len(values) > 1 else ""
    return _text(values.mean(), digits) + error


def _values(runs: pd.DataFrame) -> pd.Series:
    """Return the means of folds, or the scores of seeds if there is one fold."""
    by_fold = runs.groupby("fold")["value"].mean()
    return by_fold if len(by_fold) > 1 else runs["value"]


def _text(value: float, digits: int, sign: str = "") -> str:
    return f"{value:{sign}.{digits}f}".replace("-", "−")


def _interval(gaps: pd.Series, overlap: float | None, digits: int) -> str:
    found = None if overlap is None else t_interval(list(gaps), overlap)
    if found is None:
        return ""
    return f"{_text(found.mean, digits, '+')} ± {found.half_width:.{digits}f}"
