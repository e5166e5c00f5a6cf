"""Printed numbers computed from many networks: coverage far outside, from paper 000."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.metrics.credible import OUTSIDE, SIGMAS, credible_coverage, sigma_coverage
from bnnbench.reports.papers.published import Published

COVERAGE, CORRELATION = "coverage", "coverage_mass_correlation"
TOGETHER = (COVERAGE, CORRELATION)
"""Metrics over all networks of a data set; no single run has them as a score."""
NETWORKS = 100
"""The number of networks on the paper's data set."""
CDF, MEDIAN_OF = "cdf_at_each", "cdf_at_truth"
SIDES = {"negative": -2 * OUTSIDE, "positive": 2 * OUTSIDE}
"""Side → a position on it."""
CORRELATIONS = ("positive", "negative", "both")
"""Sides of a printed correlation, in the order of `CredibleCoverage.correlations`."""


def together(
    printed: Published, runs: Sequence[Record], condition: str
) -> tuple[Mapping[int, float], tuple[str, ...]]:
    """Return fold → value, and the reasons why these values cannot be compared.

    A record has the cdf at the truth for several positions, or only its median over each side; no
    predictions are needed. Data sets on which coverage is constant have no correlation and are left
    out.
    """
    networks: dict[int, dict[int, Mapping[float, float]]] = {}
    for run in runs:
        if cdf := _cdf(run, condition):
            networks.setdefault(run.fold, {})[run.seed] = cdf
    values = {
        fold: _value(printed, list(of_seeds.values()))
        for fold, of_seeds in sorted(networks.items())
    }
    differs = []
    fewest = min(map(len, networks.values()), default=0)
    if fewest < (required := int(printed.protocol.get("networks", NETWORKS))):
        differs.append(f"{fewest} networks, not {required}")
    if constant := sum(map(math.isnan, values.values())):
        differs.append(f"coverage is constant on {constant} of {len(values)} data sets")
    return {f: value for f, value in values.items() if not math.isnan(value)}, tuple(differs)


def _cdf(run: Record, condition: str) -> Mapping[float, float]:
    """Return position → the cdf at the truth; a median over a side counts as one position."""
    traits = run.circumstances.condition_traits
    measured = {
        traits[name]["position"]: scores[CDF]
        for name, scores in run.outcome.scores.items()
        if CDF in scores
    }
    scores = run.outcome.scores.get(condition, {})
    medians = {far: scores.get(f"{MEDIAN_OF}_{side}") for side, far in SIDES.items()}
    return measured or {far: value for far, value in medians.items() if value is not None}


def _value(printed: Published, networks: Sequence[Mapping[float, float]]) -> float:
    """Return a printed number from the networks' cdf at the truth, by position."""
    position, side = np.array(list(networks[0])), printed.protocol["x"]
    cdf = np.array([[network[place] for place in position] for network in networks])
    if printed.metric == CORRELATION:
        return credible_coverage(cdf, position).correlations[CORRELATIONS.index(side)]
    selected = position * SIDES[side] > 0
    return float(sigma_coverage(cdf, selected)[SIGMAS.index(printed.protocol["interval"])])
