"""Means, intervals and times from records by pandas and SciPy, to compare with reports."""

import re
from collections.abc import Collection

import numpy as np
import pandas as pd
from scipy import stats

from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style.words import spelled

COUNTS = {spelled(n): n for n in range(13)}
"""A count as a word → the count."""


def count_of(word: str) -> int:
    """Return the number that a sentence has as a word or in digits."""
    return COUNTS[word.lower()] if word.lower() in COUNTS else int(word.replace(",", ""))


def read(text: str) -> float:
    """Return a printed number."""
    return float(text.replace("−", "-").replace(",", ""))


def is_rounded(printed: str, value: float) -> bool:
    """Return whether a number is rounded to its printed digits."""
    places = len(printed.partition(".")[2])
    return abs(read(printed) - value) <= 0.5000001 * 10.0**-places


def table(benchmark: Benchmark, metric: str, condition: str = "") -> pd.DataFrame:
    """Return method, fold, seed and score of every completed run that was scored."""
    rows = [
        (method, r.fold, r.seed, r.outcome.scores[condition or benchmark.main][metric])
        for method, runs in benchmark.runs.items()
        for r in runs
        if r.outcome.status == "completed"
        and metric in r.outcome.scores.get(condition or benchmark.main, {})
    ]
    return pd.DataFrame(rows, columns=["method", "fold", "seed", "value"])


def means(found: pd.DataFrame) -> pd.Series:
    """Return the mean over runs of each method."""
    return found.groupby("method").value.mean()


def interval(benchmark: Benchmark, values: pd.DataFrame) -> tuple[float, float]:
    """Return the mean over folds, or over seeds, and half of its corrected 95 % interval."""
    several = benchmark.by_fold
    of = values.groupby("fold").value.mean() if several else values.value
    facts = [r.circumstances.facts for r in benchmark.records]
    new = all("disjoint_training_sets" in f for f in facts)
    generated = all(r.circumstances.origin == "generated" for r in benchmark.records)
    ratios = [
        min(f["test_rows"] / f["train_rows"], (f["test_rows"] + f["train_rows"]) / pool)
        for f in facts
        if "test_rows" in f and (pool := f.get("pool_rows") or 1e-9)
    ]
    overlap = 0.0 if new or generated or not several else float(np.mean(ratios))
    if len(of) < 2:
        return float("nan"), float("nan")
    reach = stats.t.ppf(0.975, len(of) - 1) * of.std() * np.sqrt(1 / len(of) + overlap)
    return float(of.mean()), float(reach)


def seconds(benchmark: Benchmark) -> pd.Series:
    """Return the mean processor seconds of a fit of each method, on the most frequent processor."""
    rows = [
        (method, r.circumstances.provenance.get("cpu"), r.cost.fit_cpu_seconds)
        for method, runs in benchmark.runs.items()
        for r in runs
        if r.outcome.status == "completed" and r.cost
    ]
    found = pd.DataFrame(rows, columns=["method", "cpu", "value"])
    usual = found.cpu.value_counts().index[0]
    return found[found.cpu == usual].groupby("method").value.mean()


def mean_seconds(benchmarks: Collection[Benchmark], method: str) -> float:
    """Return a method's mean over the data sets that were run on the most frequent processor."""
    models = {
        id(b): [r.circumstances.provenance.get("cpu_model") for r in b.records] for b in benchmarks
    }
    usual = pd.Series([model for of in models.values() for model in of]).value_counts()
    there = [b for b in benchmarks if not len(usual) or models[id(b)][0] in (usual.index[0], None)]
    return float(np.mean([seconds(b)[method] for b in there]))


def duration_in_seconds(text: str) -> tuple[float, float]:
    """Return a printed time in seconds, and one unit of its third digit.

    Pages round the times of each data set before they average them.
    """
    value, unit = re.fullmatch(r"([\d.]+) (s|min|h|days)", text).groups()
    size = {"s": 1, "min": 60, "h": 3600, "days": 86_400}[unit]
    digit = 10.0 ** (np.floor(np.log10(float(value))) - 2)
    return float(value) * size, digit * size
