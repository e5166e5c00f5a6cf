"""Adaptation during warm-up: step sizes, and the variances that replace inverse masses."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.checkpoints.parts import Attributes, Part
from bnnbench.methods.hmc.chains import Chains

Mass = Literal["identity", "diagonal"]
"""`identity`: all weights have one mass. `diagonal`: the weights of one parameter share a mass,
the inverse of their mean variance in warm-up. There are no masses of single weights: hidden units
are exchangeable, so chains in different modes tell nothing about them."""

FIRST_STEP_SIZE = 0.1
SHRINKAGE, DELAY, DECAY = 0.05, 10.0, 0.75
"""γ, t₀ and κ of dual averaging."""
FEW_WEIGHTS = 4
"""With fewer weights, acceptance varies more between trajectories and falls steeply where steps
become unstable. γ grows in proportion, since the step sizes would otherwise fluctuate across this
edge, and their average would be too small."""


class DualAveraging:
    r"""Step sizes that bring the mean acceptance probability of each problem to a target.

    $$ \log\epsilon_{t+1} = \mu - \frac{\sqrt t}{\gamma}\frac{1}{t + t_0}
       \sum_{i \le t} (\delta - \alpha_i) $$

    with the average of log ε under weights t^-κ. Source: Hoffman and Gelman (2014), "The
    No-U-Turn Sampler", section 3.2.1, with its constants, except that a start has μ = log ε
    instead of log(10 ε): with given trajectory lengths, larger steps are not worth the
    divergences that trying them causes.
    """

    def __init__(
        self, step_size: Float[Tensor, " problems"], target: float, weights: int = FEW_WEIGHTS
    ) -> None:
        self.target = target
        self._shrinkage = SHRINKAGE * max(1.0, FEW_WEIGHTS / weights)
        self.restart(step_size)

    def restart(self, step_size: Float[Tensor, " problems"]) -> None:
        """Discard the past and continue from these step sizes."""
        self.step_size = self.average = step_size
        self._centre = step_size.log()
        self._shortfall = torch.zeros_like(step_size)
        self._log_average = torch.zeros_like(step_size)
        self._count = 0

    @property
    def changing(self) -> Part:
        """The tensors that an update changes, for checkpoints."""
        sums = ("_centre", "_shortfall", "_log_average", "_count")
        return Attributes(self, "step_size", "average", *sums)

    def update(self, acceptance: Float[Tensor, " problems"]) -> None:
        """Update the step sizes after transitions with these acceptance probabilities."""
        self._count += 1
        self._shortfall += self.target - acceptance
        rate = math.sqrt(self._count) / (self._shrinkage * (self._count + DELAY))
        log_step = self._centre - rate * self._shortfall
        share = self._count**-DECAY
        self._log_average = share * log_step + (1 - share) * self._log_average
        self.step_size, self.average = log_step.exp(), self._log_average.exp()


class Warmup:
    """Sets the step sizes and, at the ends of windows, the masses of chains during warm-up."""

    def __init__(
        self, chains: Chains, groups: Sequence[Tensor], iterations: int, target: float, mass: Mass
    ) -> None:
        self._chains, self._groups, self._iterations = chains, groups, iterations
        first = torch.full_like(chains.losses[:: chains.shape[1]], FIRST_STEP_SIZE)
        weights = sum(len(group) for group in groups)
        self._averaging = DualAveraging(first, target, weights)
        self._ends = window_ends(iterations) if mass == "diagonal" else []
        self._window = RunningVariance(chains.states)
        self._done = 0

    @property
    def changing(self) -> list[Part]:
        """The parts that `update` changes, for checkpoints."""
        return [Attributes(self, "_done"), self._averaging.changing, self._window.changing]

    @property
    def step_size(self) -> Float[Tensor, " problems"]:
        """The current step sizes; after warm-up, the final ones."""
        warm = self._done >= self._iterations
        return self._averaging.average if warm else self._averaging.step_size

    def update(self, acceptance: Float[Tensor, " members"]) -> None:
        """Adapt to a move with these acceptance probabilities, unless warm-up is over."""
        if self._done >= self._iterations:
            return
        self._done += 1
        self._averaging.update(mean_of_chains(acceptance.view(self._chains.shape[:2])))
        if self._ends and self._done > window_start(self._iterations):
            self._window.update(self._chains.states)
        if self._done in self._ends:
            variances = self._window.value().view(self._chains.shape)
            problems = [
                pooled(variances_of_chains, self._groups, self._window.count)
                for variances_of_chains in variances
            ]
            self._chains.set_variances(
                torch.stack(problems).repeat_interleave(self._chains.shape[1], 0)
            )
            self._window.restart(self._chains.states)
            self._averaging.restart(self._averaging.average)


def mean_of_chains(values: Float[Tensor, "problems chains"]) -> Float[Tensor, " problems"]:
    """Return the mean, summed one by one so that rounding does not depend on other chains."""
    total = torch.zeros_like(values[:, 0])
    for column in values.unbind(1):
        total = total + column
    return total / values.shape[1]


def pooled(
    variances: Float[Tensor, "chains size"], groups: Sequence[Tensor], draws: int
) -> Float[Tensor, " size"]:
    """Return each group's mean variance, divided by the mean variance of all weights.

    It is shrunk towards 1 as if by five more draws, like Stan's; 1 for chains that did not move.
    """
    result = torch.zeros_like(variances[0])
    of_all = variances[:, torch.cat(list(groups))].double().mean()
    for group in groups:
        ratio = (draws * variances[:, group].double().mean() / of_all + 5) / (draws + 5)
        result[group] = torch.where(of_all > 0, ratio, 1.0).to(result)
    return result


class RunningVariance:
    """The variance of each chain's states in one window (Welford's recurrence)."""

    def __init__(self, reference: Float[Tensor, "members size"]) -> None:
        self.restart(reference)

    def restart(self, reference: Float[Tensor, "members size"]) -> None:
        """Discard all states."""
        self._mean, self._squares = torch.zeros_like(reference), torch.zeros_like(reference)
        self.count = 0

    @property
    def changing(self) -> Part:
        """The tensors that an update changes, for checkpoints."""
        return Attributes(self, "_mean", "_squares", "count")

    def update(self, states: Float[Tensor, "members size"]) -> None:
        """Add one state of each chain."""
        self.count += 1
        difference = states - self._mean
        self._mean += difference / self.count
        self._squares += difference * (states - self._mean)

    def value(self) -> Float[Tensor, "members size"]:
        """Return the variances."""
        return self._squares / max(1, self.count - 1)


def window_ends(warmup: int) -> list[int]:
    """Return the warm-up iterations after which variances are taken and a new window begins.

    The first 15 % and the last 10 % of warm-up set only the step size. The windows between them
    start at a width of 5 % and double, and the last takes the remainder: Stan's scheme in
    proportion (its reference manual, "Adaptation algorithm"). There are none for a warm-up below
    20 iterations.
    """
    if warmup < 20:
        return []
    start, stop, width = window_start(warmup), round(0.9 * warmup), max(5, warmup // 20)
    ends = []
    while start < stop:
        end = start + width
        if end + 2 * width > stop:
            end = stop
        ends.append(end)
        start, width = end, 2 * width
    return ends


def window_start(warmup: int) -> int:
    """Return the number of warm-up iterations before the first window."""
    return round(0.15 * warmup)
