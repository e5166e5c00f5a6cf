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
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

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
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.minibatches import require_unaugmented
from bnnbench.methods.fitting.settings import (
    LATER,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.hmc.adaptation import Mass, Warmup
from bnnbench.methods.hmc.chains import Chains
from bnnbench.methods.hmc.posterior import Traces
from bnnbench.methods.hmc.precisions import GammaPrior
from bnnbench.methods.hmc.scaled_networks import AnyScaledNetwork, ScaledNetwork
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron
from bnnbench.methods.tuning.space import Space

Backend = Literal["compiled", "torch"]


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
        require_count(self, "draws", "thinning", "chains", "leapfrog_steps")
        require_count(self, "warmup", least=0)
        require_positive(self, "trajectory_length", "prior_shape", "prior_rate")
        require_positive(self, "noise_shape", "noise_rate")
        fixed = [n for n in ("prior_precision", "noise_precision") if getattr(self, n) is not None]
        require_positive(self, *fixed)
        require_between(self, 0.0, 1.0, "target_acceptance")
        require_choice(self, "mass", get_args(Mass))
        require_choice(self, "backend", get_args(Backend))
        if self.draws % self.chains:
            raise ValueError(
                f"Hmc needs draws to be a multiple of chains; got {self.draws} and {self.chains}"
            )

    def warm_up(self, problem: Problem) -> None:
        """Compile the trajectories."""
        if self.backend == "compiled":
            shortest = {"draws": self.chains, "thinning": 1, "warmup": 0, "leapfrog_steps": 1}
            fit_first_rows(replace(self, **shortest), problem)

    @torch.no_grad()
    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        first = problems[0]
        require_unaugmented(problems, self)
        network = scaled_network(first, self.backend)
        prior, noise = self._priors(first)
        iterations = self.warmup + self.draws // self.chains * self.thinning
        chains = Chains(network, problems, rngs, self.chains, iterations, prior, noise)
        warmup = Warmup(chains, network.groups, self.warmup, self.target_acceptance, self.mass)
        traces = Traces(chains)
        length = self.trajectory_length * prior.mean**-0.5
        changing = [chains.changing, *warmup.changing, *traces.changing, *rngs]
        for iteration in checkpoint.epochs(iterations, *changing):
            share = (1 + van_der_corput(iteration + 1)) / 2
            longest = (length / warmup.step_size).clamp(max=self.leapfrog_steps)
            steps = (share * longest).ceil().clamp(min=1)
            transition = chains.move(warmup.step_size, steps.long())
            warmup.update(transition.acceptance)
            if iteration >= self.warmup:
                kept_iterations = iteration + 1 - self.warmup
                traces.follow(transition, keep=kept_iterations % self.thinning == 0)
            progress.report(iteration + 1, iterations, float(chains.losses.mean()))
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
        kinds.insert(0, _compiled_perceptron())
    for kind in kinds:
        try:
            return kind.of(problem)
        except Unsupported:
            continue
    return AnyScaledNetwork.of(problem)


def _compiled_perceptron() -> type[ScaledPerceptron]:
    try:
        return importlib.import_module("bnnbench.methods.hmc.compiled").CompiledPerceptron
    except PackageMissing as missing:
        raise PackageMissing(f'{missing}; or use the slower Hmc(backend="torch")') from missing


def van_der_corput(number: int) -> float:
    """Return the number's binary digits mirrored at the point: values spread evenly in (0, 1).

    Trajectories of such lengths avoid the resonances of a fixed length (Hoffman, Radul and
    Sountsov, 2021, "An Adaptive-MCMC Scheme for Setting Trajectory Lengths").
    """
    return int(f"{number:b}"[::-1], 2) / 2 ** number.bit_length()
