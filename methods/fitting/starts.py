"""Where fits of networks begin: at random weights, or at those of trained networks."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.network_posterior import outputs
from bnnbench.methods.fitting.randomness import Streams
from bnnbench.methods.networks.initialisation import Initialisation
from bnnbench.methods.networks.modules.trained import start_in
from bnnbench.methods.networks.start import Start
from bnnbench.methods.networks.torch_network import TorchNetwork


def initial_state(
    network: TorchNetwork,
    problems: Sequence[Problem],
    streams: Streams,
    initialisation: Initialisation,
) -> tuple[Float[Tensor, "members parameters"], Float[Tensor, "members buffers"]]:
    """Return weights and running statistics of each problem's network before its training.

    Those of the problems' trained networks are taken if they have them. Raises `Unsupported` if the
    network has other weights than the trained one.
    """
    starts = [problem.start for problem in problems if problem.start is not None]
    inputs = [problem.train.inputs for problem in problems]
    if not starts:
        drawn = network.initial_weights(streams.distinct, initialisation, inputs[0].dtype)
        weights = streams.to_members(drawn)
        return weights, network.initial_buffers(weights, inputs)
    if len(starts) < len(problems):
        raise ValueError(f"needed a start of all problems, or none; got {len(starts)}")
    for start in starts:
        require_weights_of(start, network)
    return (
        torch.stack([start.weights for start in starts]).to(inputs[0]),
        torch.stack([start.buffers for start in starts]).to(inputs[0]),
    )


def require_weights_of(start: Start, network: TorchNetwork) -> None:
    """Raise `Unsupported` unless a network has as many weights as the trained one."""
    given = start.weights.numel(), start.buffers.numel()
    needed = network.parameter_count, network.buffer_count
    if given != needed:
        raise Unsupported(
            f"the trained network has {given[0]} weights and {given[1]} running statistics, but "
            f"this method's network {needed[0]} and {needed[1]}: it cannot start from them; a "
            "method with the setting heteroscedastic needs heteroscedastic=False"
        )


def start_of_problem(problem: Problem) -> Start:
    """Return the trained network that a problem brings.

    It is the problem's `start`, or has its values in the files of the architecture's modules.
    Raises `Unsupported` without one.
    """
    start = problem.start or start_in(problem.architecture, problem.input_shape)
    if start is None:
        raise Unsupported(
            "needed a trained network: give Problem(start=...), or an architecture of "
            "TorchModule(..., weights=FILE)"
        )
    return start


def noise_of_start(problem: Problem, start: Start) -> float:
    """Return the noise variance of a regression by a trained network.

    It is the likelihood's or the start's if they state one, otherwise the mean squared residual of
    the calibration rows or, without them, of the training rows.
    """
    assert isinstance(problem.likelihood, Gaussian)
    if problem.likelihood.noise_std is not None:
        return problem.likelihood.noise_std**2
    if start.noise_variance is not None:
        return start.noise_variance
    rows = problem.calibration or problem.train
    network = TorchNetwork(problem.architecture, problem.input_shape)
    weights, buffers = start.weights.to(rows.inputs), start.buffers.to(rows.inputs)
    means = outputs(network, weights[None], rows.inputs, buffers[None])[0]
    return float((means - rows.targets).double().square().mean())


def require_unseen(problem: Problem) -> None:
    """Raise `Unsupported` for a trained network, which has seen any training rows to hold out."""
    if problem.start is not None:
        raise Unsupported(
            "needed rows that the trained network has not seen, to choose by: give "
            "Problem(calibration=...)"
        )
