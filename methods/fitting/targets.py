"""Whether a network and the targets that it is to predict go together."""

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.networks.shapes import output_shape


def require_output_per_target(problem: Problem) -> None:
    """Raise `Unsupported` unless there are rows, with one output of the network per target.

    For a classifier that is one per class, and labels from 0 on. Compiled loops read memory
    that is not theirs where shapes differ, and tensors of one column broadcast.
    """
    train, likelihood = problem.train, problem.likelihood
    if not len(train):
        raise Unsupported("needed training rows; got none")
    if isinstance(likelihood, Categorical):
        wanted = likelihood.classes
        low, high = int(train.targets.min()), int(train.targets.max())
        if low < 0 or high >= wanted:
            raise Unsupported(f"needed labels from 0 to {wanted - 1}; got {low} to {high}")
    else:
        (wanted,) = train.targets.shape[1:]
    found = output_shape(problem.architecture, problem.input_shape)
    if found != (wanted,):
        raise Unsupported(
            f"needed a network of {wanted} outputs, one per target or class; got {found}"
        )
