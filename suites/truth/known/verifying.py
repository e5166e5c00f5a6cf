"""Checks of a family's file against its data and its law."""

import numpy as np

from bnnbench.datasets.oracles.drawn import require_inputs
from bnnbench.datasets.oracles.errors import Refused
from bnnbench.datasets.oracles.family import Family
from bnnbench.engine.declare.description import describe
from bnnbench.suites.truth.known.distributions import ProcessLaw
from bnnbench.suites.truth.known.making import Recipe, inputs_as_float64, posteriors_of

SAME = 1e-6
"""Largest difference from what is computed again, in the units of the outputs."""
MOST_ERRORS = 5.0
"""Largest difference of squared errors from posterior variances, in standard errors."""


def verified(family: Family, recipe: Recipe | None) -> list[str]:
    """Return warnings about what could not be checked; raises `Refused` for a wrong family.

    Data are compared by checksums, functions with those that the law's seed gives here, closed
    forms with a new computation. In every family the posterior's squared errors are compared with
    its variances, which are equal in expectation over functions.
    """
    _require_calibrated(family)
    if recipe is None:
        return [f"{family.name}: no recipe of this project; its law was not drawn again"]
    if family.stated["law"] != describe(recipe.problem):
        raise Refused(f"{family.name}: its law is not that of the recipe")
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
                raise Refused(f"{family.name}: function {number} has another posterior")
    return warnings


def _require_calibrated(family: Family) -> None:
    """Raise `Refused` unless errors are as large as the posterior says, on average."""
    errors = ((family.mean - family.truth) ** 2).sum(2)
    gaps = (errors - family.std**2).mean(1)
    standard_error = gaps.std(ddof=1) / len(gaps) ** 0.5
    if abs(gaps.mean()) > MOST_ERRORS * standard_error:
        raise Refused(
            f"{family.name}: squared errors of {errors.mean():.4g}, variances of "
            f"{(family.std**2).mean():.4g}: over functions of the law they would be equal"
        )
