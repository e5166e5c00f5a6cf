"""Printed errors of a mean below the sampling error of the protocol that measured them."""

import math
from collections.abc import Mapping

from bnnbench.reports.papers.published import Published, table_number

SAMPLES: Mapping[tuple[str, str, str], int] = {
    ("001", "2", "eps_mu"): 1000,
    ("001", "3", "eps_mu"): 1000,
}
"""Paper, table, metric → the stated number of samples whose mean stands for the true mean."""


def least_error(published: Published) -> float | None:
    r"""Return the expectation of a printed error for exact means; None if it is not an error.

    ε of μ is the average of |μ − μ*| over units and images, relative to the average of σ*. The
    mean μ* of S samples is Gaussian around the true mean with deviation σ*/√S, so that

    $$ \mathbb E|\mu - \mu^*| \ge \sqrt{2/\pi}\, \sigma^* / \sqrt S, $$

    with equality if μ is exact: no approximation has a smaller expected error.
    """
    samples = SAMPLES.get((published.paper, table_number(published.table), published.metric))
    return None if samples is None else math.sqrt(2 / (math.pi * samples))


def unreachable(published: Published) -> str:
    """Return why a printed error is too small for its protocol's samples; "" if it is none."""
    least = least_error(published)
    if least is None or published.value >= least:
        return ""
    place = (published.paper, table_number(published.table), published.metric)
    return (
        f"the means of {SAMPLES[place]:,} samples, which the paper takes for exact, have an error "
        f"of {least:.4f} standard deviations themselves: no approximation can have less"
    )
