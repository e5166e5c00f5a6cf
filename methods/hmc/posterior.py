"""Posteriors of chains: the weight vectors that predict, and diagnostics of the traces."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import InferenceDiverged, Posterior
from bnnbench.methods.checkpoints.parts import Part
from bnnbench.methods.hmc.chains import Chains, Transition
from bnnbench.methods.hmc.convergence import LEAST_DRAWS, ess_bulk, ess_tail, split_r_hat
from bnnbench.methods.hmc.scaled_networks import ScaledNetwork
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)

CONVERGED = 1.05
"""Maximum split R-hat of predictions that counts as converged."""
LARGEST = 1000.0
"""Replaces the infinite R-hat of chains that never move."""


@dataclass(frozen=True)
class HmcPosterior:
    """States of a network, one per draw, and the noise precision of each draw."""

    network: ScaledNetwork
    likelihood: Likelihood
    states: Float[Tensor, "draws size"]
    noise_precision: Float[Tensor, " draws"]
    diagnostics: dict[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over the draws; the stream is not used."""
        outputs = self.network.outputs(self.states, inputs)
        if isinstance(self.likelihood, Categorical):
            return CategoricalPredictive(outputs.log_softmax(-1))
        variances = self.noise_precision.reciprocal().to(outputs)
        return GaussianPredictive(outputs, variances[:, None, None].expand_as(outputs))


class Traces:
    """Traced quantities of the chains after warm-up."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._states: list[tuple[Tensor, Tensor]] = []
        self._followed: list[tuple[Tensor, ...]] = []

    @property
    def changing(self) -> list[Part]:
        """The parts that `follow` changes, for checkpoints."""
        return [self._states, self._followed]

    def follow(self, transition: Transition, keep: bool) -> None:
        """Record a move, and its weights if `keep`."""
        chains = self._chains
        self._followed.append(
            (
                chains.outputs,
                chains.log_density(),
                chains.weight_precision,
                chains.noise_precision.reciprocal(),
                transition.acceptance,
                transition.diverged,
            )
        )
        if keep:
            self._states.append((chains.states, chains.noise_precision))

    def outcomes(
        self,
        network: ScaledNetwork,
        likelihood: Likelihood,
        step_size: Float[Tensor, " problems"],
    ) -> list[Posterior | InferenceDiverged]:
        """Return, for each problem, the posterior or `InferenceDiverged`."""
        states, precision = (self._by_problem(column) for column in zip(*self._states, strict=True))
        followed = [self._by_problem(column) for column in zip(*self._followed, strict=True)]
        outcomes: list[Posterior | InferenceDiverged] = []
        for problem, step in enumerate(step_size.tolist()):
            traces = [values[problem].cpu().numpy() for values in followed]
            if traces[-1].all() or not np.isfinite(traces[1]).all():
                outcomes.append(InferenceDiverged("every trajectory diverged"))
                continue
            draws = states[problem].flatten(0, 1), precision[problem].flatten()
            diagnostics = diagnose(*traces) | {"step_size": step}
            if isinstance(likelihood, Categorical):
                del diagnostics["noise_std"]
            outcomes.append(HmcPosterior(network, likelihood, *draws, diagnostics))
        return outcomes

    def _by_problem(self, column: tuple[Tensor, ...]) -> Shaped[Tensor, "problems chains draws *_"]:
        problems, chains, _ = self._chains.shape
        return torch.stack(column, dim=1).unflatten(0, (problems, chains))


def diagnose(
    outputs: Float[np.ndarray, "chains draws probes outputs"],
    log_density: Float[np.ndarray, "chains draws"],
    prior_precision: Float[np.ndarray, "chains draws"],
    noise_variance: Float[np.ndarray, "chains draws"],
    acceptance: Float[np.ndarray, "chains draws"],
    diverged: Bool[np.ndarray, "chains draws"],
) -> dict[str, float]:
    """Return the worst R-hat and effective sample sizes over probes, and means over moves."""
    diagnostics = {
        "converged": 0.0,
        "acceptance": float(acceptance.mean()),
        "divergences": float(diverged.sum()),
        "noise_std": math.sqrt(noise_variance.mean()),
        "prior_precision": float(prior_precision.mean()),
    }
    if outputs.shape[1] < LEAST_DRAWS:
        return diagnostics
    density = log_density[:, :, None]
    r_hat = min(LARGEST, float(split_r_hat(outputs).max()))
    return diagnostics | {
        "converged": float(r_hat <= CONVERGED),
        "r_hat": r_hat,
        "ess_bulk": float(ess_bulk(outputs).min()),
        "ess_tail": float(ess_tail(outputs).min()),
        "log_density_r_hat": min(LARGEST, float(split_r_hat(density).max())),
        "log_density_ess": float(ess_bulk(density).min()),
    }
