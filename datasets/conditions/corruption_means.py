"""Means of scores over the corruptions, one for each severity."""

import functools
from collections.abc import Collection

from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Family, Traits
from bnnbench.datasets.corruptions import CORRUPTIONS, TEST
from bnnbench.datasets.corruptions.constants import SEVERITIES

MEANS = {
    Family("Mean over the 19 corruptions", "severity"): tuple(CORRUPTIONS),
    Family("Mean over the 15 test corruptions", "severity"): TEST,
}
"""A family of means → the corruptions it averages."""


def means(conditions: Collection[str]) -> dict[str, Traits]:
    """Return name → traits of the mean over corruptions at each severity.

    Means with missing parts are omitted.
    """
    return {
        name: traits for name, traits in _means().items() if set(traits.parts) <= set(conditions)
    }


@functools.cache
def _means() -> dict[str, Traits]:
    """Return name → traits of every mean."""
    means = {}
    for family, corruptions in MEANS.items():
        for severity in SEVERITIES:
            parts = tuple(condition_names.corrupted(one, severity) for one in corruptions)
            name = condition_names.mean_over_corruptions(severity, only_test=corruptions is TEST)
            title = f"{family.title}, severity {severity}"
            means[name] = Traits(title, family=family, size=float(severity), parts=parts)
    return means
