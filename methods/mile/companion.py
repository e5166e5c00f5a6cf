r"""Hamiltonian Monte Carlo for the model of `Mile`: its likelihood, network and prior.

The posterior is the same, and so are the networks at which chains start: at draws from the prior,
some standard deviations are so small that no step is short enough. Proposals are accepted or
rejected, so that chains that agree have no bias. Positions are weights divided by their prior
standard deviations. With 50 units and a few hundred rows, steps become a few ten-thousandths of
these, and a fit of the default length takes minutes and may end before chains agree. Only a fit
whose diagnostic `converged` is 1 is a reference; for others raise `warmup` and `draws`.

Source: Neal (1995), "Bayesian Learning for Neural Networks"; the model: Sommer et al. (2025),
"Microcanonical Langevin Ensembles".
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.minibatches import require_unaugmented
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.settings import (
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.hmc.adaptation import Mass, Warmup
from bnnbench.methods.hmc.posterior import HmcPosterior
from bnnbench.methods.hmc.sampling import (
    Backend,
    compile_trajectories,
    iterations_of,
    require_sampler,
    sample,
)
from bnnbench.methods.mile.members import Training
from bnnbench.methods.mile.model import Model
from bnnbench.methods.mile.started_chains import StartedChains
from bnnbench.methods.mile.whitened import WhitenedNetwork
from bnnbench.methods.tuning.space import Choice, Space

TRAINING = Training(5e-3, 1e-4, batch_size=32, epochs=400, patience=20, share=0.15)
"""The training of the networks at which chains start, except for its epochs: that of `Mile`."""


@dataclass(frozen=True)
class HeteroscedasticHmc(Stacked):
    """Hamiltonian Monte Carlo with a mean and a standard deviation learned for each input.

    Known noise and classes leave the likelihood as it is. `draws` weight vectors are recorded over
    all `chains`: after `warmup` iterations, each records one of every `thinning` iterations.
    """

    card: ClassVar[Card] = Card("sampling")
    prior_use: ClassVar[PriorUse] = "given"
    space: ClassVar[Space] = Space({"prior_factor": Choice((1.0, 2.0, 4.0))})

    draws: int = 500
    thinning: int = 4
    warmup: int = 500
    chains: int = 4
    trajectory_length: float = 2.0
    """Length of the longest trajectory with masses of 1, in prior standard deviations. The shortest
    is half as long.
    """
    leapfrog_steps: int = 2500
    """Maximum number of steps in a trajectory; where standard deviations are small, steps have to
    be a thousandth of the prior's."""
    target_acceptance: float = 0.8
    mass: Mass = "diagonal"
    """Masses: all 1, or adapted to each weight's variance."""
    prior_factor: float | None = 2.0
    """Factor f of the prior's standard deviations f √(2 / fan_in) of weights; those of biases
    are 1. None: 1 for all. A problem's prior replaces it."""
    epochs: int = 400
    """Maximum number of epochs of the networks at which chains start."""
    backend: Backend = "compiled"
    """`compiled` needs numba, and is for perceptrons with (leaky) ReLU on a CPU."""

    def __post_init__(self) -> None:
        require_sampler(self)
        require_count(self, "epochs")
        require_choice(self, "mass", get_args(Mass))
        if self.prior_factor is not None:
            require_positive(self, "prior_factor")

    def warm_up(self, problem: Problem) -> None:
        """Compile the gradient."""
        compile_trajectories(self, problem, epochs=1)

    @torch.no_grad()
    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        model = Model.of(problems[0])
        require_unaugmented(problems, self)
        stds = model.prior_stds(problems[0], self.prior_factor)
        network = WhitenedNetwork(model, stds, self.backend)
        starts = self._starts(model, problems, rngs) / stds
        chains = StartedChains(starts, network, problems, rngs, self.chains, iterations_of(self))
        warmup = Warmup(chains, network.groups, self.warmup, self.target_acceptance, self.mass)
        traces = sample(self, chains, warmup, rngs, self.trajectory_length)
        outcomes = traces.outcomes(network, model.likelihood, warmup.step_size)
        return [_posterior(model, network, one) for one in outcomes]

    def _starts(
        self, model: Model, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> Float[Tensor, "members parameters"]:
        """Return a trained network for each chain."""
        members = [problem for problem in problems for _ in range(self.chains)]
        streams = [one for rng in rngs for one in spawn(rng, self.chains)]
        return replace(TRAINING, epochs=self.epochs).members(model, members, streams)


def _posterior(
    model: Model, network: WhitenedNetwork, outcome: Posterior | InferenceDiverged
) -> Posterior | InferenceDiverged:
    """Return the mixture over plain weights, without diagnostics of the fixed precisions."""
    if not isinstance(outcome, HmcPosterior):
        return outcome
    fixed = "noise_std", "prior_precision"
    diagnostics = {n: v for n, v in outcome.diagnostics.items() if n not in fixed}
    return model.posterior(network.weights(outcome.states), diagnostics)
