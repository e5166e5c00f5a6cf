"""A trainer with the oracle's priors and data, and the distance between the two."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.heads import Classification, Regression
from bnnbench.methods.message_passing.kernels import reference
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import MessageAccuracy, Network
from bnnbench.methods.message_passing.schedule import Schedule, Sequential, published_step
from bnnbench.methods.message_passing.trainer import Trainer
from bnnbench.methods.networks.architectures import Architecture
from tests.methods.message_passing import oracle
from tests.methods.message_passing.oracle_layers import Prior

PUBLISHED = MessageAccuracy("exact", "example")
PUBLISHED_SCHEDULE = Sequential()


def tensor(values) -> Tensor:
    """Return values in float64, and integers unchanged."""
    values = np.asarray(values)
    return torch.tensor(values if values.dtype.kind == "i" else values.astype(float))


def weights_of(prior: Prior) -> Weights:
    """Return the oracle's prior of a layer, for one member."""
    mean, variance, bias_mean, bias_variance = (tensor(part)[None] for part in prior)
    return Weights(Gaussian.of(mean, variance), Gaussian.of(bias_mean, bias_variance))


def trainer_of(
    architecture: Architecture,
    shape: tuple[int, ...],
    priors: Sequence[Prior],
    head: oracle.Argmax | oracle.KnownNoise,
    inputs,
    targets,
    batch_size: int,
    schedule: Schedule = PUBLISHED_SCHEDULE,
    accuracy: MessageAccuracy = PUBLISHED,
) -> Trainer:
    """Return a trainer of one member, with its batches in the order of rows."""
    inputs, targets = tensor(inputs), tensor(targets)
    if isinstance(head, oracle.Argmax):
        ours = Classification(0.3, head.target_variance)
    else:
        noise = torch.full((1, targets.shape[1]), head.variance, dtype=torch.float64)
        ours = Regression(noise, None)
    return Trainer(
        Network(architecture, shape, reference, accuracy),
        ours,
        [weights_of(prior) for prior in priors],
        inputs,
        targets,
        torch.arange(len(inputs))[None],
        batch_size,
        schedule,
    )


def epoch(
    trainer: Trainer, number: int, visits: Iterable[tuple[int, np.ndarray]], iterations: int
) -> None:
    """Visit batches in this order, each with its examples in an order, as the oracle does."""
    for batch, order in visits:
        trainer.visit(int(batch), torch.tensor(order)[None], iterations, published_step(number))
    trainer.stored.recompute()


def visits(rng: np.random.Generator, sizes: Sequence[int]) -> list[tuple[int, np.ndarray]]:
    """Return random orders of batches and of their examples."""
    return [(int(batch), rng.permutation(sizes[batch])) for batch in rng.permutation(len(sizes))]


def apart(found: Sequence[Weights], truth: Sequence) -> float:
    """Return the largest difference of means, in posterior deviations, or of log precisions."""
    largest = 0.0
    for ours, theirs in zip(found, truth, strict=True):
        for part, (tau, rho) in zip(ours.parts(), theirs, strict=True):
            mean, precision = (
                values[0].numpy().reshape(rho.shape) for values in (part.mean, part.rho)
            )
            largest = max(
                largest,
                np.abs(np.log(precision / rho)).max(),
                (np.abs(mean - tau / rho) * np.sqrt(rho)).max(),
            )
    return largest
