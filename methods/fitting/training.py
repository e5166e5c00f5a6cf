"""Parts of minibatch gradient methods: stacked networks, their loss, the epoch loop."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.checkpoints.parts import Attributes, Part
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.minibatches import Minibatches
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.optimisers import Moves
from bnnbench.methods.fitting.randomness import Streams
from bnnbench.methods.fitting.settings import require_choice, require_count, require_positive
from bnnbench.methods.fitting.starts import initial_state, noise_of_start
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.networks.architectures import Architecture, Layer
from bnnbench.methods.networks.heteroscedastic import (
    HeteroscedasticNetwork,
    gaussian_losses,
    states_variance,
)
from bnnbench.methods.networks.initialisation import Initialisation
from bnnbench.methods.networks.least_rows import least_rows
from bnnbench.methods.networks.passes import Noise, Rule
from bnnbench.methods.networks.torch_network import TorchNetwork

Schedule = Literal["constant", "cosine", "exponential", "steps"]
"""Decay of the learning rate from its peak, per epoch: none, half a cosine to 0, a factor of
0.96 per epoch, or a factor of 0.1 after half and again after three quarters of the epochs.
"""


HOPELESS = 30.0
"""A classifier has diverged, even if its numbers are finite, when its final training loss is this
many times the loss of equal probabilities."""


class ObservationNoise:
    """The noise variance of each member, fixed by the likelihood or learned.

    The learned variance is the running average of the squared residuals seen in training. Its fixed
    point maximises the expected log likelihood with respect to the variance. Its memory is about
    one epoch and ten batches, and a smaller last batch counts for less.
    """

    def __init__(self, likelihood: Gaussian, batches: Minibatches, reference: Tensor) -> None:
        self.learned = likelihood.noise_std is None
        self.memory = batches.rows + 10 * batches.batch_size
        start = 1.0 if likelihood.noise_std is None else likelihood.noise_std**2
        self.variance = reference.new_full((len(reference),), start)

    def update(self, mean_squares: Float[Tensor, " members"], rows: int) -> None:
        """Move towards the mean squared residuals of a batch of this many rows."""
        if self.learned:
            self.variance[: len(mean_squares)].lerp_(mean_squares, rows / self.memory)


class Stack:
    """Networks of one architecture, one member per problem, trained side by side.

    They start at the problems' trained networks, if there are any. No member's numbers depend on
    the others: a stack equals its members trained one by one. Members with the same generator draw
    the same numbers. A `heteroscedastic` stack gives a regression of unknown noise a variance that
    depends on the input, and has no effect on other problems. `label_smoothing` is the share of a
    training label that is spread equally over all classes.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
        batch_size: int,
        architecture: Architecture | None = None,
        rules: Mapping[type[Layer], Rule] | None = None,
        *,
        heteroscedastic: bool = False,
        initialisation: Initialisation = "torch",
        label_smoothing: float = 0.0,
    ) -> None:
        first = problems[0]
        require_output_per_target(first, continues=True)
        self.rngs = tuple(rngs)
        self.streams = Streams(rngs)
        """Streams of the members that are still training."""
        self.steps = 0
        """Number of batches that `run` has processed."""
        self.label_smoothing = label_smoothing
        self.likelihood = first.likelihood
        stated = states_variance(first.architecture)
        widens = heteroscedastic and first.likelihood == Gaussian(None) and not stated
        self.heteroscedastic = widens or stated
        network_type = HeteroscedasticNetwork if widens else TorchNetwork
        self.network: TorchNetwork = network_type(
            architecture or first.architecture, first.input_shape, rules
        )
        self.weights, self.buffers = initial_state(
            self.network, problems, self.streams, initialisation
        )
        least = least_rows(self.network.architecture, first.input_shape)
        self.batches = Minibatches(problems, rngs, batch_size, least)
        self.log_loss = self.weights.new_zeros(len(self.weights))
        """For a classifier, each member's summed batch losses in the latest epoch, in nats."""
        self.noise = (
            ObservationNoise(first.likelihood, self.batches, self.weights)
            if isinstance(first.likelihood, Gaussian) and not self.heteroscedastic
            else None
        )
        if self.noise and first.start is not None:
            noises = [noise_of_start(p, p.start) for p in problems if p.start]
            self.noise.variance.copy_(self.weights.new_tensor(noises))

    def loss(
        self,
        weights: Float[Tensor, "members parameters"] | tuple[Tensor, ...],
        inputs: Float[Tensor, "members batch *features"],
        targets: Shaped[Tensor, "members batch *target"],
        noise: Noise | None = None,
    ) -> Float[Tensor, " members"]:
        """Return each member's mean negative log likelihood of the batch, in nats.

        With smoothed labels it is the cross-entropy relative to them.

        The members are those still training, which are the first of the stack.
        """
        buffers, streams = self.buffers[: len(inputs)], self.streams
        outputs = self.network(
            weights, inputs, buffers=buffers, training=True, noise=noise, rngs=streams
        )
        if self.heteroscedastic:
            return gaussian_losses(outputs, targets).mean(1)
        if self.noise is None:
            flat = functional.cross_entropy(
                outputs.flatten(0, 1),
                targets.flatten(),
                reduction="none",
                label_smoothing=self.label_smoothing,
            )
            losses = flat.view(targets.shape).mean(1)
            self.log_loss[: len(inputs)] += losses.detach()
            return losses
        mean_squares = (outputs - targets).square().flatten(1).mean(1)
        self.noise.update(mean_squares.detach(), targets.shape[1])
        variance = self.noise.variance[: len(inputs)]
        per_output = 0.5 * (mean_squares / variance + (2 * math.pi * variance).log())
        return outputs.shape[-1] * per_output

    def run(
        self,
        epochs: int | Sequence[int],
        step: Callable[[Tensor, Tensor], Float[Tensor, " members"]],
        optimiser: torch.optim.Optimizer | Moves | None = None,
        schedule: Schedule = "constant",
        after_epoch: Callable[[int], bool | None] | None = None,
        changing: Sequence[Part] | None = None,
        networks: int = 1,
    ) -> None:
        """Call `step` with every batch of every epoch; it returns the members' losses.

        Members may have different numbers of epochs, in descending order: a step covers the members
        still training, which are the first of the stack. Each follows the whole schedule.

        With an optimiser, its learning rates follow `schedule`, stepped once per epoch.
        `after_epoch` gets the number of finished epochs, and ends the training of all members if it
        returns True. `changing` are the parts that `step` and `after_epoch` change in addition to
        this stack and the optimiser's tensors. Without it there are checkpoints only for a run with
        an optimiser and no `after_epoch`. `networks` is the number of networks per member for which
        a step computes a gradient at every row.
        """
        lengths = [epochs] * len(self.rngs) if isinstance(epochs, int) else list(epochs)
        if lengths != sorted(lengths, reverse=True) or len(lengths) != len(self.rngs):
            raise ValueError(f"needed descending epochs of {len(self.rngs)} members; got {lengths}")
        torchs = optimiser if isinstance(optimiser, torch.optim.Optimizer) else None
        peaks = [group["lr"] for group in torchs.param_groups] if torchs else []
        for epoch in self._epochs(lengths[0], optimiser, after_epoch, changing):
            members = sum(number > epoch for number in lengths)
            self.streams = self.streams.first(members)
            factors = [learning_rate_factor(schedule, epoch, n) for n in lengths[:members]]
            for group, peak in zip(torchs.param_groups if torchs else (), peaks, strict=True):
                group["lr"] = peak * factors[0]
            if isinstance(optimiser, Moves):
                optimiser.begin_epoch(factors)
            total = self.weights.new_zeros(members)
            self.log_loss[:members] = 0.0
            for inputs, targets in self.batches.epoch(members):
                total += step(inputs, targets)
                self.steps += 1
            work.count("gradient_rows", members * self.batches.rows * networks)
            ends = after_epoch is not None and after_epoch(epoch + 1)
            progress.report(epoch + 1, lengths[0], float(total.mean()) / len(self.batches))
            if ends:
                break

    def _epochs(
        self,
        epochs: int,
        optimiser: torch.optim.Optimizer | Moves | None,
        after_epoch: Callable[[int], bool | None] | None,
        changing: Sequence[Part] | None,
    ) -> Iterable[int]:
        """Return the remaining epochs, with checkpoints if all changing parts are known."""
        if changing is None and (optimiser is None or after_epoch):
            return range(epochs)
        parts: list[Part] = [self.weights, self.buffers, self.log_loss, *self.streams.distinct]
        parts += [Attributes(self, "steps")]
        parts += [self.noise.variance] if self.noise else []
        if isinstance(optimiser, Moves):
            parts += optimiser.changing
        elif optimiser:
            parts += [optimiser]
        return checkpoint.epochs(epochs, *parts, *(changing or ()))

    def posterior(self, member: int) -> NetworkPosterior:
        """Return the point posterior at a member's weights."""
        noise = float(self.noise.variance[member]) if self.noise else None
        return NetworkPosterior(
            self.network,
            self.likelihood,
            self.weights[member : member + 1],
            self.buffers[member : member + 1],
            noise,
            {} if noise is None else {"noise_std": math.sqrt(noise)},
        )

    def outcomes(
        self,
        posteriors: Sequence[Posterior | InferenceDiverged],
        *states: Float[Tensor, "members numbers"],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posteriors, but `InferenceDiverged` for members that diverged.

        Their numbers are not finite, or they classify the rows of the latest epoch far worse than
        chance. `states` are a member's tensors other than weights, batch statistics and noise.
        """
        tensors = [self.weights, self.buffers, *states]
        if self.noise:
            tensors.append(self.noise.variance[:, None])
        finite = torch.cat(tensors, dim=1).isfinite().all(dim=1).tolist()
        limit = math.inf
        if isinstance(self.likelihood, Categorical):
            limit = HOPELESS * math.log(self.likelihood.classes) * len(self.batches)
        hopeless = (self.log_loss > limit).tolist()
        return [
            InferenceDiverged("the fit is no longer finite")
            if not sound
            else InferenceDiverged(f"training ended {HOPELESS:.0f} times worse than by chance")
            if lost
            else posterior
            for posterior, sound, lost in zip(posteriors, finite, hopeless, strict=True)
        ]


def check_descent(method: object) -> None:
    """Raise ValueError unless the settings of minibatch descent are valid."""
    require_positive(method, "learning_rate")
    require_count(method, "epochs", "batch_size")
    require_choice(method, "schedule", get_args(Schedule))


def learning_rate_factor(schedule: Schedule, epoch: int, epochs: int) -> float:
    """Return an epoch's learning rate as a factor of its peak."""
    if schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * epoch / epochs))
    if schedule == "steps":
        return 0.1 ** (int(2 * epoch >= epochs) + int(4 * epoch >= 3 * epochs))
    return 0.96**epoch if schedule == "exponential" else 1.0
