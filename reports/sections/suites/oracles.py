"""Excess risk and epistemic variance on targets with a known data distribution."""

import math
from collections.abc import Iterator

from bnnbench.reports.read.predictions.oracles import (
    CLAIMED,
    EARNED,
    RANK,
    RISK,
    Estimate,
    OracleComparison,
    OracleStanding,
    oracle_comparison,
)
from bnnbench.reports.sections.base import Choice, Listing, Material, Section, where_of

NOTE = (
    "Real inputs with targets drawn from a stated distribution of functions: expectations over "
    "targets replace a test set, so that only the functions are a sample. Excess risk: the "
    "expected log loss minus that of the true distribution, in nats. Regret: the excess risk minus "
    "the exact posterior's, function by function; the posterior is best on average over functions, "
    "and may be beaten on some. Claimed: the epistemic variance of the prediction. Earned: the "
    "squared error of its mean, which an honest prediction claims on average. Claimed / earned: "
    "the ratio of both means; below 1 is overconfident. Rank: Spearman's correlation over test "
    "rows of the claimed and the exact deviations; held-out rows cannot give it. A dash: the "
    "method claims no epistemic variance, or does not separate it from noise. ± is one standard "
    "error over functions."
)
HEADINGS = (
    "Method", "functions", "excess risk", "regret", "claimed", "earned", "claimed / earned", "rank"
)  # fmt: skip
DASH = "–"
ROUNDING = 1e-9
"""Relative rounding error of a mean of equal numbers."""


def sections(material: Material) -> Iterator[Section]:
    """Yield the tables of data sets with a known data distribution."""
    choices = []
    for benchmark in material.benchmarks:
        if comparison := oracle_comparison(benchmark):
            choices.append(_choice(comparison, where_of(benchmark, benchmark.origin)))
    if choices:
        yield Section("Known distribution of targets", NOTE, choices=tuple(choices), last=True)


def _choice(comparison: OracleComparison, where: str) -> Choice:
    title = f"{where}: known distribution of targets"
    exact = row(comparison.exact, comparison.exact)
    rows = (exact, *(row(standing, comparison.exact) for standing in comparison.standings))
    listing = Listing(title, title, HEADINGS, rows, text_columns=(0,))
    return Choice(by="set", name=title, listing=listing)


def row(standing: OracleStanding, exact: OracleStanding) -> tuple[str, ...]:
    """Return the cells under `HEADINGS`."""
    regret = standing.regret(exact) if standing is not exact else Estimate(0.0)
    claimed = standing.mean(CLAIMED)
    claims = claimed.value > 0
    estimates = (
        standing.mean(RISK),
        regret,
        claimed,
        standing.mean(EARNED),
        standing.calibration if claims else Estimate(math.nan),
        standing.mean(RANK),
    )
    functions = str(len(standing.scores.get(RISK, {})))
    return (standing.method, functions, *map(_text, estimates))


def _text(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return DASH
    differs = estimate.error > ROUNDING * abs(estimate.value)  # False for NaN
    return f"{estimate.value:.3g}" + (f" ± {estimate.error:.2g}" if differs else "")
