"""Agreement of a network's outputs with the targets to predict."""

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.networks.shapes import output_shape


def require_classes(method: object, likelihood: Likelihood) -> None:
    """Raise `Unsupported` for a regression."""
    if not isinstance(likelihood, Categorical):
        raise Unsupported(f"{type(method).__name__} needed classes; got {likelihood}")


def require_output_per_target(problem: Problem) -> None:
    """Raise `Unsupported` unless the network has one output per target or class.

    Without this check, compiled loops would read out of bounds where shapes differ, and tensors of
    one column would broadcast.
    """
    likelihood = problem.likelihood
    if isinstance(likelihood, Categorical):
        needed = likelihood.classes
    else:
        (needed,) = problem.train.targets.shape[1:]
    given = output_shape(problem.architecture, problem.input_shape)
    if given != (needed,):
        raise Unsupported(
            f"needed a network of {needed} outputs, one per target or class; got {given}"
        )
