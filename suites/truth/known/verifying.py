"""Checks of a family's file against its data and its distribution."""

import numpy as np

from bnnbench.datasets.oracles.drawn import require_inputs
from bnnbench.datasets.oracles.family import Family, Refused
from bnnbench.engine.declare.description import describe
from bnnbench.suites.truth.known.distributions import ProcessLaw
from bnnbench.suites.truth.known.making import Recipe, inputs_as_float64, posteriors_of

SAME = 1e-6
"""Maximum difference from recomputed values, in output units."""
MOST_ERRORS = 5.0
"""Maximum difference between squared errors and posterior variances, in standard errors."""


def verified(family: Family, recipe: Recipe | None) -> list[str]:
    """Return warnings about parts that could not be checked; raises `Refused` for a wrong family.

    Data are compared by checksums, functions with those drawn here from the same seed, closed forms
    with a new computation. In every family the posterior's squared errors are compared with its
    variances, which are equal in expectation over functions.
    """
    _require_calibrated(family)
    if recipe is None:
        return [f"{family.name}: no recipe in this project; its functions were not drawn again"]
    if family.stated["law"] != describe(recipe.problem):
        raise Refused(f"{family.name}: its distribution differs from the recipe's")
    if missing := recipe.problem.source.missing():
        return [f"{family.name}: data absent ({', '.join(missing)}), inputs not compared"]
    data = recipe.problem.source.load(0)
    require_inputs(family, data)
    train, test = inputs_as_float64(data)
    warnings = []
    for number, (_, truths) in enumerate(recipe.problem.drawn(train, test)):
        if np.abs(truths[1] - family.truth[number]).max() > SAME:
            warnings.append(
                f"{family.name}: function {number} is not what NumPy {np.__version__} draws here; "
                "streams may change between versions"
            )
            break
    if isinstance(recipe.problem.functions, ProcessLaw):
        again = posteriors_of(recipe, train, list(family.train_targets), test, 1)
        for number, posterior in enumerate(again):
            gaps = posterior.mean - family.mean[number], posterior.std - family.std[number]
            if max(np.abs(gap).max() for gap in gaps) > SAME:
                raise Refused(f"{family.name}: function {number} has a different posterior")
    return warnings


def _require_calibrated(family: Family) -> None:
    """Raise `Refused` unless, on average, errors are as large as the posterior states."""
    errors = ((family.mean - family.truth) ** 2).sum(2)
    gaps = (errors - family.std**2).mean(1)
    standard_error = gaps.std(ddof=1) / len(gaps) ** 0.5
    if abs(gaps.mean()) > MOST_ERRORS * standard_error:
        raise Refused(
            f"{family.name}: mean squared error {errors.mean():.4g}, mean variance "
            f"{(family.std**2).mean():.4g}: they should be equal in expectation over functions"
        )
