"""Printed numbers computed from many networks: coverage far outside, from paper 000."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bnnbench.engine.records.record import Record
from bnnbench.metrics.credible import OUTSIDE, SIGMAS, credible_coverage, sigma_coverage
from bnnbench.reports.papers.published import Published

COVERAGE, CORRELATION = "coverage", "coverage_mass_correlation"
TOGETHER = (COVERAGE, CORRELATION)
"""Metrics over all networks of a data set; no single run has them as a score."""
NETWORKS = 100
"""The number of networks on the paper's data set."""
SIDES = ("negative", "positive")
CORRELATIONS = ("positive", "negative", "both")
"""Sides of a printed correlation, in the order of `CredibleCoverage.correlations`."""


def together(
    printed: Published, runs: Sequence[Record], condition: str
) -> tuple[Mapping[int, float], tuple[str, ...]]:
    """Return fold → value, and the reasons why these values cannot be compared.

    The median over positions is taken from each network's cdf in its record, so that no predictions
    are needed. Data sets on which coverage is constant have no correlation and are left out.
    """
    networks: dict[int, dict[int, tuple[float, ...]]] = {}
    for run in runs:
        scores = run.outcome.scores.get(condition, {})
        if all(f"cdf_at_truth_{side}" in scores for side in SIDES):
            cdf = tuple(scores[f"cdf_at_truth_{side}"] for side in SIDES)
            networks.setdefault(run.fold, {})[run.seed] = cdf
    values = {
        fold: _value(printed, np.array(list(of_seeds.values())))
        for fold, of_seeds in sorted(networks.items())
    }
    differs = []
    fewest = min(map(len, networks.values()), default=0)
    if fewest < (required := int(printed.protocol.get("networks", NETWORKS))):
        differs.append(f"{fewest} networks, not {required}")
    if constant := sum(map(math.isnan, values.values())):
        differs.append(f"coverage is constant on {constant} of {len(values)} data sets")
    return {f: value for f, value in values.items() if not math.isnan(value)}, tuple(differs)


def _value(printed: Published, cdf: Float[np.ndarray, "networks 2"]) -> float:
    """Return a printed number from the networks' cdf at the truth on both sides."""
    far = 2 * OUTSIDE
    position, side = np.array([-far, far]), printed.protocol["x"]
    if printed.metric == CORRELATION:
        return credible_coverage(cdf, position).correlations[CORRELATIONS.index(side)]
    selected = position == (far if side == "positive" else -far)
    return float(sigma_coverage(cdf, selected)[SIGMAS.index(printed.protocol["interval"])])
