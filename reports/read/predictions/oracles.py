"""Scores under a known data distribution, of methods and the exact posterior, by function."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.datasets.conditions.condition_names import EXACT, LAW
from bnnbench.engine.records.record import Record
from bnnbench.reports.read.benchmarks import Benchmark

Functions = Float[ndarray, " functions"]
RISK, CLAIMED, EARNED, RANK = (
    "excess_risk",
    "claimed_variance",
    "earned_variance",
    "epistemic_rank",
)


@dataclass(frozen=True)
class Estimate:
    """A mean over functions with its standard error; NaN if unavailable."""

    value: float
    error: float = math.nan


@dataclass(frozen=True)
class OracleStanding:
    """A method's scores for each function, averaged over seeds if there are several."""

    method: str
    scores: Mapping[str, Mapping[int, float]]
    """metric → function → value"""

    def mean(self, metric: str) -> Estimate:
        """Return the mean over the functions that have the score."""
        return _mean(np.array(list(self.scores.get(metric, {}).values())))

    def regret(self, exact: "OracleStanding") -> Estimate:
        """Return the mean excess risk relative to the exact posterior's, function by function."""
        risks, best = self.scores.get(RISK, {}), exact.scores[RISK]
        return _mean(np.array([risk - best[function] for function, risk in risks.items()]))

    @property
    def calibration(self) -> Estimate:
        """The ratio of claimed to earned variance, both averaged over functions; 1 is right.

        Its error is the jackknife's over functions.
        """
        claimed = self.scores.get(CLAIMED, {})
        both = [k for k in claimed if k in self.scores.get(EARNED, {})]
        if not both:
            return Estimate(math.nan)
        up, down = (np.array([self.scores[m][k] for k in both]) for m in (CLAIMED, EARNED))
        ratio, count = float(up.sum() / down.sum()), len(both)
        if count < 2:
            return Estimate(ratio)
        without = (up.sum() - up) / (down.sum() - down)
        spread = (count - 1) / count * ((without - without.mean()) ** 2).sum()
        return Estimate(ratio, float(spread) ** 0.5)


@dataclass(frozen=True)
class OracleComparison:
    """The methods on one family of functions, compared with the exact posterior."""

    exact: OracleStanding
    standings: tuple[OracleStanding, ...]
    """Ordered by excess risk, lowest first."""

    @property
    def functions(self) -> int:
        """The number of functions learned by some method."""
        return len(self.exact.scores[RISK])


def oracle_comparison(benchmark: Benchmark) -> OracleComparison | None:
    """Return the comparison of a data set with a known data distribution; None for other data."""
    records = [
        r for r in benchmark.records if r.outcome.status == "completed" and LAW in r.outcome.scores
    ]
    if not records:
        return None
    by_method: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_method[record.method].append(record)
    standings = [_standing(name, of_method, LAW) for name, of_method in by_method.items()]
    exact = _standing("exact posterior", records, EXACT)
    return OracleComparison(exact, tuple(sorted(standings, key=_order)))


def _order(standing: OracleStanding) -> float:
    risk = standing.mean(RISK).value
    return math.inf if math.isnan(risk) else risk


def _standing(method: str, records: Sequence[Record], condition: str) -> OracleStanding:
    values: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        for metric, value in record.outcome.scores[condition].items():
            values[metric][record.fold].append(value)
    scores = {
        metric: {function: float(np.mean(seeds)) for function, seeds in of_metric.items()}
        for metric, of_metric in values.items()
    }
    return OracleStanding(method, scores)


def _mean(values: Functions) -> Estimate:
    if not len(values):
        return Estimate(math.nan)
    if len(values) < 2:
        return Estimate(float(values[0]))
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / len(values) ** 0.5)
