"""Fitting a model by minibatches: expected loss plus a divergence from a prior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import InferenceDiverged, Posterior, Problem, Unsupported
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.point_estimate import Settings, require_descent
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.function_space.base import Model
from bnnbench.methods.function_space.objective import LogProbs, expected_loss
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Step:
    """Quantities that the divergence of one minibatch step may depend on."""

    network: TorchNetwork
    numbers: Float[Tensor, "problems numbers"]
    inputs: Float[Tensor, "problems batch *features"]
    log_probs: LogProbs
    """Log probabilities of the batch."""
    predict: Callable[[Tensor], LogProbs]
    """Function from other inputs to their log probabilities, with the weights of this step."""


Divergence = Callable[[Step], tuple[float, Float[Tensor, " problems"]]]
"""Return a divergence's weight, relative to the batch's mean loss, and its value in nats."""


def fit_model(
    model: Model,
    training: Settings,
    divergence: Divergence,
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
) -> list[Posterior | InferenceDiverged]:
    """Return the posterior of each problem; its diagnostics include the last divergence."""
    first = problems[0]
    require_descent(model, training)
    if not isinstance(first.likelihood, Categorical):
        raise Unsupported("needed a classifier, for class probabilities; got a regression")
    if model.networks > 1 and first.start is not None:
        raise Unsupported(
            f"needed one network for a trained one to start; got {model.networks}: use "
            "Checkpoints(files) around one network"
        )
    architecture = model.architecture(first.architecture)
    stack = Stack(problems, rngs, training.batch_size, architecture, model.rules)
    network, last = stack.network, stack.weights.new_zeros(len(problems), 1).double()
    networks = _Networks(model, network, stack.buffers, rngs)
    numbers = model.initial(network, stack.weights, rngs).requires_grad_()
    variants: list[Any] = [training] * len(problems)
    optimiser = training.optimiser(variants, numbers)

    def step(inputs: Tensor, targets: Tensor) -> Tensor:
        weights = model.weights(network, numbers, rngs)
        log_probs = networks.log_probs(weights, inputs, networks.buffers)
        loss = expected_loss(log_probs, networks.targets(targets))
        predict = partial(networks.log_probs, weights)
        weight, distance = divergence(Step(network, numbers, inputs, log_probs, predict))
        last[:, 0] = distance.detach()
        loss = loss + weight * distance
        optimiser.step(*torch.autograd.grad(loss.sum(), numbers))
        return loss.detach()

    changing = [last, networks.buffers, *networks.rngs]
    stack.run(
        training.epochs,
        step,
        optimiser,
        training.schedule,
        changing=changing,
        networks=model.networks,
    )
    final = numbers.detach()
    plain = TorchNetwork(architecture, first.input_shape) if model.rules else network
    buffers = networks.buffers.unflatten(0, (len(problems), -1))
    posteriors = [
        model.posterior(
            plain, partial(_at, plain, first.likelihood, own_buffers, float(distance)), vector
        )
        for vector, own_buffers, distance in zip(final, buffers, last[:, 0], strict=True)
    ]
    return stack.outcomes(posteriors, torch.cat([final, buffers.flatten(1), last], 1))


def _at(
    network: TorchNetwork,
    likelihood: Categorical,
    buffers: Float[Tensor, "networks buffers"],
    divergence: float,
    weights: Float[Tensor, "networks parameters"],
) -> NetworkPosterior:
    """Return the point posterior at these weights."""
    return NetworkPosterior(network, likelihood, weights, buffers, None, {"divergence": divergence})


class _Networks:
    """The networks of all problems as functions of each problem's inputs."""

    def __init__(
        self,
        model: Model,
        network: TorchNetwork,
        buffers: Float[Tensor, "problems buffers"],
        rngs: Sequence[torch.Generator],
    ) -> None:
        self.model, self.network = model, network
        self.buffers = buffers.repeat_interleave(model.networks, 0)
        several = model.networks > 1
        self.rngs = [r for rng in rngs for r in spawn(rng, model.networks)] if several else rngs

    def log_probs(
        self,
        weights: Tensor | tuple[Tensor, ...],
        inputs: Float[Tensor, "problems batch *features"],
        buffers: Float[Tensor, "networks buffers"] | None = None,
    ) -> LogProbs:
        """Return log probabilities in training mode; running statistics are updated if given."""
        outputs = self.network(
            weights,
            self.model.shown(inputs),
            buffers=self.buffers.clone() if buffers is None else buffers,
            training=True,
            rngs=self.rngs,
        )
        # In float64, because gradients cancel for precisions in the thousands.
        return self.model.gathered(outputs.double()).log_softmax(-1)

    def targets(self, targets: Tensor) -> Float64[Tensor, "problems points"] | Tensor:
        """Return the targets in the order of `log_probs`."""
        return self.model.gathered(self.model.shown(targets).unsqueeze(-1))[0].squeeze(-1)
