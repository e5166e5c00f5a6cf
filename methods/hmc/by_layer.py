"""Hamiltonian Monte Carlo with a precision of its own for each layer's weights and biases.

The priors are those of a demonstration of the toolbox MCMCstuff: regression with two inputs,
without its third level, the relevance of inputs. Weights and biases have an inverse χ² prior of
few degrees of freedom, and so has the noise. Inputs and targets are standardised.

Sources: Vanhatalo and Vehtari (2006), "MCMC Methods for MLP-network and Gaussian Process and Stuff:
a documentation for Matlab Toolbox MCMCstuff", and its `demo_2input`; Neal (1995), "Bayesian
Learning for Neural Networks".
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.minibatches import require_unaugmented
from bnnbench.methods.fitting.settings import (
    require_count,
    require_positive,
)
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.hmc.adaptation import Warmup
from bnnbench.methods.hmc.layered_chains import LayeredChains, Start
from bnnbench.methods.hmc.layers import Layers, of_layers, of_variance
from bnnbench.methods.hmc.method import compiled_class
from bnnbench.methods.hmc.posterior import HmcPosterior
from bnnbench.methods.hmc.precisions import GammaPrior
from bnnbench.methods.hmc.sampling import (
    Backend,
    compile_trajectories,
    iterations_of,
    require_sampler,
    sample,
)
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class HmcByLayer(Stacked):
    """Hamiltonian Monte Carlo with Gibbs steps for the precisions of layers and noise.

    `draws` weight vectors are recorded over all `chains`: after `warmup` iterations, each records
    one of every `thinning` iterations.
    """

    card: ClassVar[Card] = Card(
        "sampling", ("mlp regression", "mlp classification"), gradients=False
    )
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    draws: int = 500
    thinning: int = 4
    warmup: int = 500
    held: int = 50
    """The first iterations of the warm-up, with precisions at which the demonstration holds them
    until the weights follow the data."""
    chains: int = 4
    trajectory_length: float = 16.0
    """Length of the longest trajectory, in units of the weights' rough standard deviations given
    all precisions. The shortest is half as long."""
    leapfrog_steps: int = 100
    """Maximum number of steps in a trajectory."""
    target_acceptance: float = 0.8
    degrees: float = 1.0
    """Degrees of freedom of a layer's variances."""
    scale: float = 0.05
    """Their scale: of weights of the first layer and of hidden biases. Weights of a later layer
    have scale / fan_in^(1 / degrees)."""
    output_bias_std: float = 1.0
    """Fixed prior standard deviation of the biases of outputs."""
    noise_degrees: float = 0.5
    """Degrees of freedom of the noise variance."""
    noise_scale: float = 0.05
    """Scale of the noise, in standard deviations of the targets."""
    backend: Backend = "compiled"
    """`compiled` needs numba, and is for (leaky) ReLU, real targets and a CPU."""

    def __post_init__(self) -> None:
        require_sampler(self)
        require_count(self, "held", least=0)
        require_positive(self, "degrees", "scale", "output_bias_std")
        require_positive(self, "noise_degrees", "noise_scale")

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
        require_output_per_target(first)
        network = _network(first, self.backend)
        priors = of_layers(network.layers, self.degrees, self.scale, self.output_bias_std)
        iterations, noise = iterations_of(self), self._noise(first)
        start = Start(min(self.held, self.warmup))
        chains = LayeredChains(
            network, problems, rngs, self.chains, iterations, priors, noise, start
        )
        warmup = Warmup(chains, network.groups, self.warmup, self.target_acceptance, "identity")
        traces = sample(self, chains, warmup, rngs, self.trajectory_length)
        plain = ScaledPerceptron(*network.arguments)
        outcomes = traces.outcomes(plain, first.likelihood, warmup.step_size)
        return [_without_shared_precision(one) for one in outcomes]

    def _noise(self, problem: Problem) -> GammaPrior:
        """Return the prior of the noise precision; it is fixed where the likelihood fixes it."""
        prior, likelihood = of_variance(self.noise_degrees, self.noise_scale), problem.likelihood
        if isinstance(likelihood, Categorical):
            return replace(prior, fixed=1.0)  # multiplies the log likelihood
        known = likelihood.noise_std
        return replace(prior, fixed=None if known is None else known**-2)


def _network(problem: Problem, backend: Backend) -> ScaledPerceptron:
    """Return the problem's perceptron; raises `Unsupported` for another architecture."""
    if backend == "compiled" and problem.train.inputs.device.type == "cpu":
        with suppress(Unsupported):
            module = "bnnbench.methods.hmc.compiled_layers"
            return compiled_class(module, "CompiledLayers", "HmcByLayer").of(problem)
    return Layers.of(problem)


def _without_shared_precision(
    outcome: Posterior | InferenceDiverged,
) -> Posterior | InferenceDiverged:
    """Return the outcome without the diagnostic of a precision that all weights share."""
    if isinstance(outcome, HmcPosterior):
        outcome.diagnostics.pop("prior_precision")
    return outcome
