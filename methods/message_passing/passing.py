"""The plain path of a visit: the messages of a batch, passed with one schedule and no checks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from bnnbench.methods.fitting import work
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.heads import Head, Noise
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.schedule import Schedule


@dataclass(frozen=True)
class Examples:
    """The examples of a batch, in the order in which they send their messages."""

    inputs: Shaped[Tensor, "members examples *features"]
    targets: Shaped[Tensor, "members examples *target"]
    noise: Noise | None
    """Shape and rate of the noise given the prior and the other batches."""
    iterations: int

    def of_members(self, index: Int[Tensor, " some"]) -> "Examples":
        """Return the examples of some members."""
        if len(index) == len(self.targets):
            return self
        noise = None if self.noise is None else self.noise[index]
        return Examples(self.inputs[index], self.targets[index], noise, self.iterations)

    def noise_with(self, added: Noise | None) -> Noise | None:
        """Return shape and rate of the noise with the increments of these examples."""
        return None if self.noise is None or added is None else self.noise + added

    def visit(self, schedule: Schedule) -> Visit:
        """Return a new visit of these examples."""
        members, examples = self.inputs.shape[:2]
        return Visit(schedule, members, examples, self.iterations)


@dataclass(frozen=True)
class Visited:
    """The outcome of a visit for all members."""

    cavity: list[Weights]
    """The marginals without the batch's stored aggregate."""
    aggregates: list[Weights]
    """The products of the batch's messages."""
    noise: Noise | None
    """The increments that the batch adds to shape and rate of the noise."""
    loss: Tensor
    """Each member's loss summed over examples, in the last iteration."""


def rounds(
    network: Network, head: Head, cavity: Sequence[Weights], examples: Examples, visit: Visit
) -> Iterator[tuple[list[Gaussian], list[Weights]]]:
    """Yield the messages to the outputs and the aggregates after every iteration of a visit."""
    start(network, head, cavity, examples.targets, examples.noise, visit)
    for iteration in range(examples.iterations):
        visit.start(iteration)
        outputs = pass_groups(network, head, examples.inputs, visit)
        work.count("message_rows", visit.members * visit.examples)
        yield outputs, [layer.refresh() for layer in network.weighted]


def start(
    network: Network,
    head: Head,
    cavity: Sequence[Weights],
    targets: Tensor,
    noise: Noise | None,
    visit: Visit,
) -> None:
    """Load the weights and the targets of a visit."""
    network.start_from(cavity)
    network.open(visit)
    head.open(targets, noise, network.kernels)


def pass_groups(network: Network, head: Head, inputs: Tensor, visit: Visit) -> list[Gaussian]:
    """Pass the messages of one group after another, and return the messages to their outputs."""
    outputs = []
    for group in range(visit.groups):
        visit.group = group
        z, residues = network.forward(inputs[:, visit.rows], visit)
        outputs.append(z)
        network.backward(residues, head.message(z, visit.rows), visit)
    return outputs


def joined(groups: Sequence[Gaussian]) -> Gaussian:
    """Return the messages of all groups' examples."""
    tau, rho = (torch.cat([getattr(z, name) for z in groups], 1) for name in ("tau", "rho"))
    return Gaussian(tau, rho)
