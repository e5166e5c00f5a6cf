"""Stochastic gradient descent whose iterates are recorded at the ends of epochs."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import Problem
from bnnbench.methods.checkpoints.parts import Part
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.settings import (
    LATER,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.networks.initialisation import Initialisation
from bnnbench.methods.trajectory.likelihood import row_losses
from bnnbench.methods.trajectory.schedules import (
    Constant,
    EarlyStop,
    HighThenLow,
    Plateau,
    PlateauFactors,
    Schedule,
)
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class Descent:
    """The settings of a descent, and the epochs after which an iterate is recorded.

    All weights, including biases, decay by an L2 term in the loss. A regression of unknown noise
    learns a variance that depends on the input or, if not `heteroscedastic`, one number as `Sgd`
    does.
    """

    learning_rate: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 25
    batch_size: int = 128
    schedule: Schedule = field(default_factory=Constant)
    start: float = 0.5
    """Share of the epochs before the first iterate that may be recorded."""
    every: int = 1
    """Number of epochs per recorded iterate."""
    bias_rate: float = 1.0
    """Learning rate of biases, relative to the other weights'."""
    heteroscedastic: bool = True
    initialisation: Initialisation = field(default="torch", metadata=LATER)

    def __post_init__(self) -> None:
        require_choice(self, "initialisation", get_args(Initialisation))
        require_positive(self, "learning_rate", "bias_rate")
        require_count(self, "epochs", "batch_size", "every")
        require_between(self, 0.0, 1.0, "momentum", "start")
        require_between(self, 0.0, math.inf, "weight_decay")

    @property
    def space(self) -> Space:
        """The search space; for a high-then-low schedule it includes the low rate."""
        low = {"schedule.low": Log(0.05, 1.0)} if isinstance(self.schedule, HighThenLow) else {}
        return Space(
            {"learning_rate": Log(1e-3, 1e-1), "weight_decay": Log(1e-5, 1e-1)} | low,
            length="epochs",
            learned_noise=not self.heteroscedastic,
        )

    @property
    def stops_early(self) -> bool:
        """True if training may end before `epochs`."""
        return isinstance(self.schedule, Plateau) and self.schedule.early_stop

    @property
    def start_epoch(self) -> int:
        """Number of epochs before the first iterate that may be recorded."""
        return round(self.start * self.epochs)

    @property
    def iterate_count(self) -> int:
        """Number of recorded iterates."""
        return (self.epochs - self.start_epoch) // self.every

    def keeps(self, done: int) -> bool:
        """Return whether an iterate is recorded after this many epochs."""
        return done > self.start_epoch and (done - self.start_epoch) % self.every == 0


class Descending(Stacked):
    """A method that starts with a descent; with early stops, problems are fitted one by one."""

    training: Descent

    @property
    def side_by_side(self) -> bool:
        """False if each problem has a separate stack."""
        return not self.training.stops_early


def require_iterates(method: object, descent: Descent, least: int) -> None:
    """Raise ValueError unless at least this number of iterates is recorded."""
    if descent.iterate_count < least:
        raise ValueError(
            f"{type(method).__name__} needs at least {least} iterates; epochs={descent.epochs}, "
            f"start={descent.start:g} and every={descent.every} keep {descent.iterate_count}"
        )


@dataclass(frozen=True)
class Trajectory:
    """Descents of several problems and their recorded iterates, oldest first."""

    stack: Stack
    """Network, noise and, in `weights`, the last iterate of each member."""
    samples: Float[Tensor, "members samples parameters"]
    buffers: Float[Tensor, "members samples buffers"]
    """The running statistics that each iterate was trained with."""


def collect(
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    descent: Descent,
    last: int | None = None,
) -> Trajectory:
    """Return the trajectories of the problems, with the `last` recorded iterates, or all.

    Members are fitted side by side, and their results equal separate fits (see
    `batched.fit_in_stacks`).
    """
    iterates: deque[tuple[Tensor, Tensor]] = deque(maxlen=last)

    def visit(stack: Stack) -> None:
        iterates.append((stack.weights.detach().clone(), stack.buffers.clone()))

    stack = follow(problems, rngs, descent, visit, changing=[iterates])
    if not iterates:
        raise ValueError(f"needed a descent that keeps iterates; got {descent}")
    weights, buffers = zip(*iterates, strict=True)
    return Trajectory(stack, torch.stack(weights, 1), torch.stack(buffers, 1))


def follow(
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    descent: Descent,
    visit: Callable[[Stack], object],
    changing: Sequence[Part] | None = None,
) -> Stack:
    """Return the stack at the end of the descent; `visit` is called at every iterate to record.

    `changing` are the parts that `visit` changes; without it there are no checkpoints. Raises
    ValueError for several problems if the descent may stop early.
    """
    schedule, validation = descent.schedule, None
    if descent.stops_early and len(problems) > 1:
        raise ValueError(f"needed one problem for early stopping; got {len(problems)}")
    if isinstance(schedule, Plateau):
        parts = [
            set_aside(problem, schedule.validation_share, rng)
            for problem, rng in zip(problems, rngs, strict=True)
        ]
        problems = [rest for rest, _ in parts]
        validation = [rows for _, rows in parts]
    stack = Stack(
        problems,
        rngs,
        descent.batch_size,
        heteroscedastic=descent.heteroscedastic,
        initialisation=descent.initialisation,
    )
    weights = stack.weights.requires_grad_()
    plateau = PlateauFactors(schedule, weights.detach()) if isinstance(schedule, Plateau) else None
    stop = (
        EarlyStop(plateau.rule.patience, descent.epochs)
        if plateau and plateau.rule.early_stop
        else None
    )
    peaks = peak_rates(stack, descent)
    velocity = torch.zeros_like(weights, requires_grad=False)

    rates = peaks

    def start_epoch(epoch: int) -> None:
        nonlocal rates
        if plateau:
            rates = peaks * plateau.factors
        elif not isinstance(schedule, Plateau):
            rates = peaks * schedule.factor(epoch, descent.start_epoch, descent.epochs)

    def step(inputs: Tensor, targets: Tensor) -> Tensor:
        epoch, steps = divmod(stack.steps, len(stack.batches))
        if not steps:
            start_epoch(epoch)
        loss = stack.loss(weights, inputs, targets)
        # Half the squared error: steps would grow without bound as learned noise shrinks.
        scaled = loss * stack.noise.variance if stack.noise else loss
        (gradient,) = torch.autograd.grad(scaled.sum(), weights)
        with torch.no_grad():
            gradient.add_(weights, alpha=descent.weight_decay)
            velocity.mul_(descent.momentum).add_(gradient)
            weights.addcmul_(rates, velocity, value=-1)
        return loss.detach()

    def after_epoch(done: int) -> bool:
        if descent.keeps(done):
            visit(stack)
        if not (plateau and validation):
            return False
        losses = validation_losses(stack, validation)
        plateau.update(losses)
        return stop is not None and stop.ends(done, float(losses))

    if changing is not None:
        rules = [rule.changing for rule in (plateau, stop) if rule]
        changing = [velocity, *rules, *changing]
    stack.run(descent.epochs, step, after_epoch=after_epoch, changing=changing)
    stack.weights = weights.detach()
    return stack


def peak_rates(stack: Stack, descent: Descent) -> Float[Tensor, "#members #parameters"]:
    """Return the peak learning rate of every weight, as one number if it is the same for all."""
    rates = stack.weights.detach().new_full((1, 1), descent.learning_rate)
    if descent.bias_rate == 1:
        return rates
    rates = rates.repeat(1, stack.network.parameter_count)
    for part in stack.network.parameters:
        if part.name == "bias":
            rates[:, part.offset : part.stop] *= descent.bias_rate
    return rates


@torch.no_grad()
def validation_losses(stack: Stack, rows: Sequence[Split]) -> Float[Tensor, " members"]:
    """Return each member's mean loss on its own rows, in nats."""
    inputs, targets = (torch.stack([getattr(r, of) for r in rows]) for of in ("inputs", "targets"))
    outputs = stack.network(stack.weights, inputs, buffers=stack.buffers)
    noise = stack.noise.variance if stack.noise else None
    return row_losses(stack.likelihood, outputs, targets, noise).mean(1)
