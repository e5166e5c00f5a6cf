"""Posteriors of microcanonical chains, and what the chains say about themselves."""

from statistics import fmean

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.hmc.chains import PROBES
from bnnbench.methods.hmc.convergence import LEAST_DRAWS, split_r_hat
from bnnbench.methods.hmc.posterior import LARGEST
from bnnbench.methods.mile.adaptation import Adaptation, Sampling
from bnnbench.methods.mile.chains import Chains
from bnnbench.methods.mile.model import Model
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive

CONVERGED = 1.1
"""Maximum median split R-hat within chains that counts as converged."""


def outcome(
    model: Model,
    problem: Problem,
    members: slice,
    chains: Chains,
    adaptation: Adaptation,
    sampling: Sampling,
) -> Posterior | InferenceDiverged:
    """Return the posterior of one fit, whose chains are `members`, or its failure."""
    states = sampling.states_of(members)
    failures = sampling.failures[members]
    sound = chains.log_density[members].isfinite().all() and states.isfinite().all()
    if not sound or (failures == sampling.steps).any():
        return InferenceDiverged("a chain has no finite density, or never moved")
    moved = sampling.steps - failures
    variance = sampling.squares[members] / moved / states.shape[2]
    diagnostics = {
        "converged": 0.0,
        "step_size": fmean(adaptation.size[members].tolist()),
        "decoherence_length": fmean(adaptation.length[members].tolist()),
        "energy_variance": fmean(variance.tolist()),
        "failed_steps": sum(failures.tolist()),
    }
    posterior = model.posterior(states.flatten(0, 1), diagnostics)
    if states.shape[1] >= LEAST_DRAWS:
        r_hat = within_chains(traced(posterior, problem, len(states)))
        diagnostics["r_hat"] = r_hat
        diagnostics["converged"] = float(r_hat < CONVERGED and not failures.any())
    return posterior


def traced(
    posterior: NetworkPosterior, problem: Problem, chains: int
) -> Float[Tensor, "chains draws values"]:
    """Return the means, or the log probabilities, of the first training rows for each draw."""
    predicted = posterior.predict(problem.train.inputs[:PROBES], torch.Generator())
    if isinstance(predicted, CategoricalPredictive):
        values = predicted.log_probs
    else:
        assert isinstance(predicted, GaussianPredictive)
        values = predicted.means
    return values.flatten(1).unflatten(0, (chains, -1))


def within_chains(values: Float[Tensor, "chains draws values"]) -> float:
    """Return the median over chains and values of the split R-hat of each chain by itself."""
    by_draw = values.double().transpose(0, 1).flatten(1)[None]
    return min(LARGEST, float(np.median(split_r_hat(by_draw.cpu().numpy()))))
