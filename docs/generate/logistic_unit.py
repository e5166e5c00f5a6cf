"""Divergences of a logistic unit's approximations, for documents."""

from collections.abc import Iterator, Mapping

import numpy as np

from bnnbench.reports.pages.site.logistic_unit import BIASES, COUNTS
from bnnbench.reports.papers.logistic_unit import APPROXIMATIONS, SAMPLES, LogisticUnit


def logistic_unit_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row of largest divergences for each number of inputs."""
    trials = f"{SAMPLES} samples"
    yield ("inputs", *APPROXIMATIONS, f"{trials}, mean", f"{trials}, 95 %")
    yield ("---:", *("---:" for _ in range(len(APPROXIMATIONS) + 2)))
    for count in COUNTS:
        unit = LogisticUnit(count, BIASES)
        sampled = unit.sampled_divergences()
        largest = [
            *(unit.divergence(name).max() for name in APPROXIMATIONS),
            sampled.mean(0).max(),
            np.quantile(sampled, 0.95, axis=0).max(),
        ]
        yield str(count), *(f"{bits:.2g}" for bits in largest)
