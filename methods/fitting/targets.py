"""Agreement of a network's outputs with the targets to predict, and the targets' units."""

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.heteroscedastic import states_variance
from bnnbench.methods.networks.shapes import output_shape


def require_classes(method: object, likelihood: Likelihood) -> None:
    """Raise `Unsupported` for a regression."""
    if not isinstance(likelihood, Categorical):
        raise Unsupported(f"{type(method).__name__} needed classes; got {likelihood}")


def require_output_per_target(problem: Problem, *, continues: bool = False) -> None:
    """Raise `Unsupported` unless the network has one output per target or class.

    Only a method that `continues` from a trained network takes one, and takes a network that also
    outputs the variance of each target. Starts do not matter for a single layer.

    Without this check, compiled loops would read out of bounds where shapes differ, and tensors of
    one column would broadcast.
    """
    if not continues:
        _refuse_training(problem)
    likelihood = problem.likelihood
    if isinstance(likelihood, Categorical):
        needed = likelihood.classes
    else:
        (needed,) = problem.train.targets.shape[1:]
        needed *= 1 + states_variance(problem.architecture)
    given = output_shape(problem.architecture, problem.input_shape)
    if given != (needed,):
        raise Unsupported(
            f"needed a network of {needed} outputs, one per target or class; got {given}"
        )


def _refuse_training(problem: Problem) -> None:
    """Raise `Unsupported` for a trained network, and for outputs of variances."""
    is_linear = len(problem.architecture) == 1 and isinstance(problem.architecture[0], Linear)
    if problem.start is not None and not is_linear:
        raise Unsupported(
            "this method cannot start from a trained network, as it does not descend from given "
            "weights: leave the start out, or use it on the last layer by OnLastLayer(...)"
        )
    if states_variance(problem.architecture):
        raise Unsupported(
            "needed a network of one output per target; got one that also outputs log variances"
        )


def target_units(problem: Problem) -> tuple[Float[Tensor, " outputs"], Float[Tensor, " outputs"]]:
    """Return mean and standard deviation of each training target, in float64; none for classes.

    They are 0 and 1 if the prior of the weights is stated, since it has the targets' unit. A
    constant target has its magnitude as deviation, or 1 if it is 0.
    """
    if isinstance(problem.likelihood, Categorical):
        return torch.zeros(0, dtype=torch.float64), torch.ones(0, dtype=torch.float64)
    targets = problem.train.targets.cpu().double()
    if problem.prior:
        return torch.zeros_like(targets[0]), torch.ones_like(targets[0])
    mean, std = targets.mean(0), targets.std(0, correction=0)
    std = torch.where(std > 0, std, mean.abs())
    return mean, torch.where(std > 0, std, 1.0)
