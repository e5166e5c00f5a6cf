"""Simulation-based calibration of the sampler: parameters from the prior, ranks among draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.datasets.references import calibration
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.streams import stream
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.hmc.convergence import ess_bulk
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.hmc.posterior import HmcPosterior
from bnnbench.methods.networks.architectures import ReLU, Tanh
from bnnbench.methods.networks.perceptron import as_perceptron
from bnnbench.suites.truth.references.model import Model
from bnnbench.suites.truth.references.prior import function, weights_from_prior

NOISE_STD, ROWS, TEST_ROWS = 0.3, 40, 6
SAMPLER = Hmc(
    draws=100, thinning=8, warmup=200, chains=2, trajectory_length=1.5, leapfrog_steps=200,
    prior_precision=1.0,
)  # fmt: skip


@dataclass(frozen=True)
class Simulation:
    """Replications of one family of models on rows of one data set."""

    model: Model
    """Provides network, prior and inputs; its noise and targets are ignored."""
    sampler: Hmc = SAMPLER
    replications: int = calibration.LEAST_REPLICATIONS
    told_noise: float = 1.0
    """Noise given to the sampler over the true one; values other than 1 are deliberate faults."""

    def run(self) -> dict[str, Any]:
        """Return the record: ranks of true values among draws, and whether they are uniform.

        Raises `InferenceDiverged` if the sampler fails on a replication.
        """
        inputs = self.model.data.train.inputs[:ROWS].double()
        tested = self.model.data.test.inputs[:TEST_ROWS].double()
        rng = np.random.default_rng(0)
        truths = [self._truth(inputs.numpy(), tested.numpy(), rng) for _ in self._numbers]
        known = Gaussian(NOISE_STD * self.told_noise)
        problems = [
            Problem(Split(inputs, torch.from_numpy(y)[:, None]), known, self.model.architecture)
            for _, y in truths
        ]
        rngs = [stream("calibration", self.model.family, number) for number in self._numbers]
        ranks: dict[str, list[int]] = {}
        least_ess: dict[str, list[float]] = {}
        posteriors = self.sampler.fit_many(problems, rngs)
        for (truth, _), problem, posterior in zip(truths, problems, posteriors, strict=True):
            if isinstance(posterior, InferenceDiverged):
                raise posterior
            assert isinstance(posterior, HmcPosterior)
            for name, values in quantities(posterior, problem, tested).items():
                ranks.setdefault(name, []).append(int((values < truth[name]).sum()))
                chains = values.reshape(self.sampler.chains, -1, 1)
                least_ess.setdefault(name, []).append(float(ess_bulk(chains)[0]))
        return self._record(ranks, {name: float(np.mean(e)) for name, e in least_ess.items()})

    @property
    def _numbers(self) -> range:
        return range(self.replications)

    def _truth(
        self, inputs: np.ndarray, tested: np.ndarray, rng: np.random.Generator
    ) -> tuple[Mapping[str, float], np.ndarray]:
        """Return the true quantities and the targets of one draw from the prior."""
        perceptron = as_perceptron(self.model.architecture, inputs.shape[1:], ReLU, Tanh)
        activation = type(perceptron.activation).__name__
        weights = weights_from_prior(perceptron.widths, self.model.prior.precision, rng)
        f = function(weights, inputs, activation)
        y = f + rng.normal(0.0, NOISE_STD, len(f))
        values = function(weights, tested, activation)
        truth = {f"f_{row}": float(value) for row, value in enumerate(values)}
        squares = sum(float((matrix**2).sum()) for matrix in weights)
        return truth | {"loss": float(((y - f) ** 2).sum() / 2), "sum_of_squares": squares}, y

    def _record(
        self, ranks: Mapping[str, list[int]], mean_ess: Mapping[str, float]
    ) -> dict[str, Any]:
        record: dict[str, Any] = {
            "family": self.model.family,
            "source": describe(self.model.source),
            "rows": ROWS,
            "noise_std": NOISE_STD,
            "told_noise": self.told_noise,
            "sampler": describe(self.sampler),
            "draws": self.sampler.draws,
            "mean_ess": dict(mean_ess),
            "ranks": dict(ranks),
        }
        failed = calibration.failures(record | {"passes": False})
        return record | {"passes": not failed, "failed": failed}


def quantities(
    posterior: HmcPosterior, problem: Problem, tested: torch.Tensor
) -> dict[str, np.ndarray]:
    """Return the draws of every quantity that is ranked."""
    f = posterior.network.outputs(posterior.states, tested)[:, :, 0].numpy()
    fitted = posterior.network.outputs(posterior.states, problem.train.inputs)
    loss = (fitted - problem.train.targets).square().flatten(1).sum(1) / 2
    return {
        **{f"f_{row}": column for row, column in enumerate(f.T)},
        "loss": loss.numpy(),
        "sum_of_squares": posterior.states.square().sum(1).numpy(),
    }
