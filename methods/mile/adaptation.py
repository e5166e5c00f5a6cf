r"""Step sizes and lengths of decoherence, set for each chain in its warm-up.

The energy error of a step grows as ε⁶, so that step sizes follow from errors by
$\epsilon = (A/B)^{-1/6}$, where A and B are running sums of $q x / \epsilon^6$ and q. Here
$x = \Delta E^2 / (P v_t)$ compares a squared error with its target, the weight
$q = \exp(-\log^2 x / (2 \cdot 9^2))$ limits the influence of single steps, and the target per
weight $v_t$ falls linearly.

Sources: Robnik and Seljak (2023), "Microcanonical Langevin Monte Carlo"; Sommer et al. (2025),
"Microcanonical Langevin Ensembles"; constants of their packages.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bnnbench.methods.checkpoints.parts import Attributes, Part
from bnnbench.methods.hmc.convergence import LEAST_DRAWS, effective_sample_size
from bnnbench.methods.mile.dynamics import Numbers, Vectors

FIRST_STEP_SIZE = 0.005
SHORTEST_LENGTH = 15.0
"""Minimum of the first length of decoherence, √P."""
WIDTH = 6 * 1.5
"""Standard deviation of the weights q, in log x."""
MEMORY = (100 - 1) / (100 + 1)
"""Decay of the running sums: about 50 steps."""
SHRINKAGE = 0.8
"""Factor of the step size after a step that failed; warm-up does not exceed the result again."""
CORRELATION_SHARE = 0.4
"""Length of decoherence, in units of the distance of one integrated autocorrelation time."""
TRACED = 500
"""Maximum number of weights whose autocorrelation is estimated."""


class Adaptation:
    """Adapts each chain: 80 % of steps set ε, 10 % also L by variances, 10 % L by autocorrelation.

    `targets` are the squared energy error per weight at the first and at the last step that sets ε.
    """

    def __init__(
        self,
        states: Vectors,
        targets: tuple[Numbers, Numbers],
        chosen: Int[Tensor, "members traced"],
        steps: int,
    ) -> None:
        self._parameters, self._targets, self._chosen = states.shape[1], targets, chosen
        self._last_part = round(0.1 * steps)
        self._sizing = steps - self._last_part
        self._first_part = self._sizing - round(0.1 * steps)
        self.size = torch.full_like(targets[0], FIRST_STEP_SIZE)
        self.length = torch.full_like(self.size, max(self._parameters**0.5, SHORTEST_LENGTH))
        self._largest = torch.full_like(self.size, math.inf)
        self._sums = torch.zeros_like(self.size), torch.zeros_like(self.size)
        self._total = torch.zeros_like(self.size)
        self._moments = (states.new_zeros(states.shape).double(),) * 2
        self._trace: list[Tensor] = []

    @property
    def changing(self) -> list[Part]:
        """The parts that `update` changes, for checkpoints."""
        names = ("size", "length", "_largest", "_sums", "_total", "_moments")
        return [Attributes(self, *names), self._trace]

    def update(
        self, step: int, states: Vectors, errors: Numbers, failed: Bool[Tensor, " members"]
    ) -> None:
        """Adapt to a step of warm-up with these energy errors."""
        if step < self._sizing:
            self._adapt_size(step, errors, failed)
            if step >= self._first_part:
                self._add(states)
            if step == self._sizing - 1:
                self._adapt_length()
            return
        self._trace.append(states.gather(1, self._chosen))
        if len(self._trace) == self._last_part:
            self._decorrelate()

    def _adapt_size(self, step: int, errors: Numbers, failed: Bool[Tensor, " members"]) -> None:
        start, end = self._targets
        target = start - (start - end) * step / (self._sizing + 1)
        x = errors.square() / (self._parameters * target) + 1e-8
        q = (-x.log().square() / (2 * WIDTH**2)).exp()
        new = q * x / self.size**6, q
        self._sums = tuple(
            torch.where(failed, total, MEMORY * total + term)
            for total, term in zip(self._sums, new, strict=True)
        )
        sized = (self._sums[0] / self._sums[1]) ** (-1 / 6)
        shrunk = SHRINKAGE * self.size
        self._largest = torch.where(failed, shrunk, self._largest)
        self.size = torch.where(failed, shrunk, torch.minimum(sized, self._largest))

    def _add(self, states: Vectors) -> None:
        """Add states to the means of w and w², weighted by the step size."""
        self._total = self._total + self.size
        share, states = (self.size / self._total)[:, None], states.double()
        mean, square = self._moments
        self._moments = mean.lerp(states, share), square.lerp(states.square(), share)

    def _adapt_length(self) -> None:
        """Set L to the root of the summed variances."""
        mean, square = self._moments
        variances = (square - mean.square()).clamp_min(0).sum(1)
        self.length = torch.where(variances > 0, variances.sqrt(), self.length)

    def _decorrelate(self) -> None:
        """Set L to a share of the distance that decorrelates a weight, on average."""
        if len(self._trace) < LEAST_DRAWS:
            return
        draws = torch.stack(self._trace).double()[None].cpu().numpy()
        times = len(self._trace) / effective_sample_size(draws)
        mean = torch.from_numpy(times.mean(1)).to(self.length)
        self.length = torch.where(
            mean.isfinite(), CORRELATION_SHARE * self.size * mean, self.length
        )
        self._trace.clear()


def chosen_weights(parameters: int, rngs: Sequence[torch.Generator]) -> Int[Tensor, "fits traced"]:
    """Return the places of some weights, chosen at random for each fit."""
    orders = [torch.randperm(parameters, generator=rng, device=rng.device) for rng in rngs]
    return torch.stack(orders)[:, :TRACED]


class Sampling:
    """The kept states of chains after warm-up, and the sums behind their diagnostics."""

    def __init__(self, size: Numbers) -> None:
        self._states: list[Tensor] = []
        self.squares, self.failures = torch.zeros_like(size), torch.zeros_like(size)
        self.steps = 0

    @property
    def changing(self) -> list[Part]:
        """The parts that `add` changes, for checkpoints."""
        return [self._states, self.squares, self.failures, Attributes(self, "steps")]

    def add(self, states: Vectors, errors: Numbers, failed: Tensor, keep: bool) -> None:
        """Count a step, and keep its states if `keep`."""
        self.steps += 1
        self.squares += torch.where(failed, 0.0, errors.square())
        self.failures += failed
        if keep:
            self._states.append(states.clone())

    def states_of(self, members: slice) -> Float[Tensor, "members draws parameters"]:
        """Return a copy of the kept states of some chains: a view would keep those of all."""
        return torch.stack([states[members] for states in self._states], 1)
