"""Microcanonical Langevin chains of several fits side by side."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from bnnbench.methods.checkpoints.parts import Attributes, Part
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.randomness import Streams, normal
from bnnbench.methods.mile.dynamics import Numbers, Vectors, integrate, normalised, refresh
from bnnbench.methods.mile.losses import Loss


class Chains:
    """Positions and momenta of all chains; the chains of one fit are adjacent.

    Fits with the same generator draw the same numbers.
    """

    def __init__(
        self, loss: Loss, rows: int, stds: Vectors, states: Vectors, streams: Streams
    ) -> None:
        self.loss, self._rows, self._precisions = loss, rows, stds.square().reciprocal()
        self._streams, self._each = streams, len(states) // len(streams)
        self.momenta = normalised(self._noise(1)[0])
        loss.states.copy_(states)
        self.gradients = self._differentiate()
        self.log_density = self._log_density()

    @property
    def changing(self) -> list[Part]:
        """The parts that a step changes, for checkpoints."""
        names = ("momenta", "gradients", "log_density")
        return [self.loss.states, Attributes(self, *names), *self._streams.distinct]

    def step(self, size: Numbers, length: Numbers) -> tuple[Numbers, Bool[Tensor, " members"]]:
        """Move each chain by one step; return energy errors, and which chains failed.

        A chain with a number that is not finite stays where it was, with its momentum.
        """
        states, before = self.loss.states, (self.momenta, self.gradients, self.log_density)
        at_start = states.clone()
        noise = self._noise(2)
        momenta = refresh(self.momenta, noise[0], size / 2, length)
        momenta, kinetic = integrate(states, momenta, self.gradients, size, self._differentiate)
        self.momenta = refresh(momenta, noise[1], size / 2, length)
        self.log_density = self._log_density()
        errors = kinetic - self.log_density + before[2]
        failed = ~errors.isfinite()
        if failed.any():
            self._undo(failed, at_start, *before)
        return errors, failed

    def _undo(
        self, failed: Tensor, states: Tensor, momenta: Tensor, gradients: Tensor, density: Tensor
    ) -> None:
        column = failed[:, None]
        self.loss.states.copy_(torch.where(column, states, self.loss.states))
        self.momenta = torch.where(column, momenta, self.momenta)
        self.gradients = torch.where(column, gradients, self.gradients)
        self.log_density = torch.where(failed, density, self.log_density)

    def _noise(self, count: int) -> Float[Tensor, "count members parameters"]:
        shape = (count, self._each, self.loss.states.shape[1])
        noise = normal(self._streams, *shape, dtype=self.loss.states.dtype)
        return noise.transpose(0, 1).flatten(1, 2)

    def _differentiate(self) -> Vectors:
        """Return the gradients of the log density at the states."""
        self.loss.differentiate()
        work.count("gradient_rows", len(self.loss.states) * self._rows)
        self.gradients = -self.loss.gradients - self.loss.states * self._precisions
        return self.gradients

    def _log_density(self) -> Numbers:
        """Return the log density of data and weights, up to a constant.

        Likelihoods are summed as they are: a sum without NaN, as in the package, would give the
        best likelihood to weights whose outputs are NaN.
        """
        squares = self.loss.states.square() * self._precisions
        return -self.loss.value() - squares.sum(1, dtype=torch.float64) / 2
