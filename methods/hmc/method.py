r"""Hamiltonian Monte Carlo for the posterior of the model of probabilistic backpropagation.

$$ w \sim N(0, 1/\lambda), \qquad y \mid x \sim N(f(x; w), 1/\gamma), \qquad
   \lambda \sim \mathrm{Gamma}(a_\lambda, b_\lambda), \quad
   \gamma \sim \mathrm{Gamma}(a_\gamma, b_\gamma), $$

with the layers of f scaled as in `scaled_networks.py`; or y is categorical with logits f.
Trajectories move the weights given both precisions. Between trajectories, the precisions are drawn
given the weights (Gibbs).

Sources: Neal (1995), "Bayesian Learning for Neural Networks"; Hernández-Lobato and Adams (2015),
"Probabilistic Backpropagation for Scalable Learning of Bayesian Neural Networks", section 2.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, get_args

import torch

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import (
    InferenceDiverged,
    PackageMissing,
    Posterior,
    PriorUse,
    Problem,
    Unsupported,
)
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.minibatches import require_unaugmented
from bnnbench.methods.fitting.settings import (
    LATER,
    require_choice,
    require_positive,
)
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.hmc.adaptation import Mass, Warmup
from bnnbench.methods.hmc.chains import Chains
from bnnbench.methods.hmc.precisions import GammaPrior
from bnnbench.methods.hmc.sampling import (
    Backend,
    compile_trajectories,
    iterations_of,
    require_sampler,
    sample,
)
from bnnbench.methods.hmc.scaled_networks import AnyScaledNetwork, ScaledNetwork
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class Hmc(Stacked):
    """Hamiltonian Monte Carlo with Gibbs steps for the precisions.

    `draws` weight vectors are recorded over all `chains`: after `warmup` iterations, each chain
    records one of every `thinning` iterations. Diagnostics use every iteration.
    """

    card: ClassVar[Card] = Card("sampling", gradients=False)
    prior_use: ClassVar[PriorUse] = "given"
    space: ClassVar[Space] = Space()

    draws: int = 500
    """Weight vectors recorded over all chains."""
    thinning: int = 4
    warmup: int = 500
    chains: int = 4
    trajectory_length: float = 2.0
    """Length of the longest trajectory with masses of 1, in standard deviations of the weights'
    prior at its mean precision. The shortest is half as long.
    """
    leapfrog_steps: int = 400
    """Maximum number of steps in a trajectory."""
    target_acceptance: float = 0.8
    mass: Mass = "diagonal"
    """Masses: all 1, or adapted to each weight's variance."""
    prior_shape: float = 6.0
    prior_rate: float = 6.0
    noise_shape: float = 6.0
    noise_rate: float = 6.0
    prior_precision: float | None = None
    """Fixed value of λ; a problem's prior fixes it too."""
    noise_precision: float | None = None
    """Fixed value of γ; a likelihood of known noise fixes it too."""
    backend: Backend = field(default="compiled", metadata=LATER)
    """`compiled` needs numba, and is for perceptrons with (leaky) ReLU, real targets and a CPU.

    Other problems always use PyTorch's trajectories. Both backends sample the same distribution
    with the same random numbers, and differ only in the rounding of sums."""

    def __post_init__(self) -> None:
        require_sampler(self)
        require_positive(self, "prior_shape", "prior_rate")
        require_positive(self, "noise_shape", "noise_rate")
        fixed = [n for n in ("prior_precision", "noise_precision") if getattr(self, n) is not None]
        require_positive(self, *fixed)
        require_choice(self, "mass", get_args(Mass))

    def warm_up(self, problem: Problem) -> None:
        """Compile the trajectories."""
        compile_trajectories(self, problem)

    @torch.no_grad()
    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        first = problems[0]
        require_unaugmented(problems, self)
        network = scaled_network(first, self.backend)
        prior, noise = self._priors(first)
        chains = Chains(network, problems, rngs, self.chains, iterations_of(self), prior, noise)
        warmup = Warmup(chains, network.groups, self.warmup, self.target_acceptance, self.mass)
        length = self.trajectory_length * prior.mean**-0.5
        traces = sample(self, chains, warmup, rngs, length)
        return traces.outcomes(network, first.likelihood, warmup.step_size)

    def _priors(self, problem: Problem) -> tuple[GammaPrior, GammaPrior]:
        """Return the priors of the precisions of weights and noise."""
        fixed, likelihood = self.noise_precision, problem.likelihood
        known = problem.prior.precision if problem.prior else self.prior_precision
        if isinstance(likelihood, Categorical):
            fixed = 1.0  # multiplies the log likelihood
        elif likelihood.noise_std is not None:
            fixed = likelihood.noise_std**-2
        return (
            GammaPrior(self.prior_shape, self.prior_rate, known),
            GammaPrior(self.noise_shape, self.noise_rate, fixed),
        )


def scaled_network(problem: Problem, backend: Backend = "compiled") -> ScaledNetwork:
    """Return the problem's network: compiled or with an explicit gradient, if possible.

    Raises `Unsupported` for a network that is not a function of weights and a single input, or
    does not have one output per target, and `PackageMissing` without the compiler.
    """
    require_output_per_target(problem)
    kinds = [ScaledPerceptron]
    if backend == "compiled" and problem.train.inputs.device.type == "cpu":
        kinds.insert(
            0, compiled_class("bnnbench.methods.hmc.compiled", "CompiledPerceptron", "Hmc")
        )
    for kind in kinds:
        try:
            return kind.of(problem)
        except Unsupported:
            continue
    return AnyScaledNetwork.of(problem)


def compiled_class(module: str, name: str, method: str) -> type[ScaledPerceptron]:
    """Return a class of a module that needs numba; raises `PackageMissing`.

    Modules are named in full, so that code digests follow them.
    """
    try:
        return getattr(importlib.import_module(module), name)
    except PackageMissing as missing:
        raise PackageMissing(f'{missing}; or use the slower {method}(backend="torch")') from missing
