"""The soundness of a single prediction."""

from typing import Any

from bnnbench.datasets.base import Categorical
from bnnbench.engine.run.guards.validation import check, check_fields, check_finite
from bnnbench.engine.run.packing import vars_of
from bnnbench.engine.run.score import check_kind
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.predictions.base import Predictive
from bnnbench.suites.check.fits import Broken, by_point, require
from bnnbench.wording import counted


def require_sound(prediction: Any, problem: Problem, count: int) -> None:
    """Raise `Broken` unless a prediction has finite numbers for this number of points.

    They are classes if the problem's targets are classes, and real numbers if these are real.
    """
    likelihood, kind = problem.likelihood, type(prediction).__name__
    width = likelihood.classes if isinstance(likelihood, Categorical) else 1
    require(
        isinstance(prediction, Predictive),
        f"predict returns a {kind}: return a prediction, such as GaussianPredictive or a custom "
        "one with pack and unpack",
    )
    require(len(prediction) == count, f"{len(prediction)} predictions for {count} points")
    try:
        check_fields(prediction)
        check_kind(prediction, problem.train.targets[:count])
        check(prediction, count, width)
        check_finite(prediction, vars_of(prediction), f"for {counted(count, 'point')}")
    except (TypeError, ValueError, InferenceDiverged) as error:
        raise Broken(str(error)) from error
    for name, array in by_point(prediction).items():
        title = f"{kind}.{name}"
        require(len(array) == count, f"{title} has {len(array)} points; needed {count}")
        require(not array.requires_grad, f"{title} has a gradient: use torch.no_grad()")
