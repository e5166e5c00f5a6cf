r"""Hamiltonian Monte Carlo by the package hamiltorch, as a check of `Hmc`.

The model is `Hmc`'s with both precisions fixed, since hamiltorch cannot sample them. Source of
the package: Cobb and Jalaian (2021), "Scaling Hamiltonian Monte Carlo Inference for Bayesian
Neural Networks with Symmetric Splitting".
"""

import importlib
import io
import math
import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import InferenceDiverged, PackageMissing, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.hmc.chains import PROBES
from bnnbench.methods.hmc.posterior import HmcPosterior, diagnose
from bnnbench.methods.hmc.scaled_networks import AnyScaledNetwork, log_loss, squared_error
from bnnbench.methods.tuning.space import Space

COMMIT = "19b627b2aabc77c1b4b78db0f860372eb1bf9778"
CURE = f'pip install "hamiltorch @ git+https://github.com/AdamCobb/hamiltorch@{COMMIT}"'


@dataclass(frozen=True)
class HmcHamiltorch:
    """Plain HMC with trajectories of `leapfrog_steps` and a step size set by dual averaging.

    `draws` weight vectors are recorded over all `chains`. Each chain spends `warmup` iterations
    on its step size. Because hamiltorch then restarts from the initial state, it spends the same
    number again to forget that state.
    """

    card: ClassVar[Card] = Card(
        "sampling",
        gradients=False,
        restarts="its chains run inside a package, which cannot resume them",
    )
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    draws: int = 500
    """Weight vectors recorded over all chains."""
    warmup: int = 200
    chains: int = 4
    leapfrog_steps: int = 100
    step_size: float = 0.01
    """Initial step size."""
    target_acceptance: float = 0.8
    prior_precision: float = 1.0
    noise_precision: float = 1.0
    """Noise precision, unless the likelihood fixes it."""

    def __post_init__(self) -> None:
        require_count(self, "draws", "warmup", "chains", "leapfrog_steps")
        require_positive(self, "step_size", "prior_precision", "noise_precision")
        require_between(self, 0.0, 1.0, "target_acceptance")
        if self.draws % self.chains:
            raise ValueError(
                f"{type(self).__name__} needs draws to be a multiple of chains; got {self.draws} "
                f"and {self.chains}"
            )

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior.

        Raises `PackageMissing` without hamiltorch and `InferenceDiverged` when no proposal is
        accepted.
        """
        require_output_per_target(problem)
        with seeded_and_quiet(rng):
            hamiltorch = import_hamiltorch()
            return self._fit(hamiltorch, problem, rng)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, fitted one by one."""
        fitted: list[Posterior | InferenceDiverged] = []
        for problem, rng in zip(problems, rngs, strict=True):
            try:
                fitted.append(self.fit(problem, rng))
            except InferenceDiverged as failure:
                fitted.append(failure)
        return fitted

    def _fit(self, hamiltorch: ModuleType, problem: Problem, rng: torch.Generator) -> Posterior:
        network, likelihood = AnyScaledNetwork.of(problem), problem.likelihood
        density = LogDensity(network, problem, self.prior_precision, self._noise(likelihood))
        chains, rates, step_sizes = zip(
            *(self._sample(hamiltorch, density, rng, k) for k in range(self.chains)), strict=True
        )
        if not any(rates):
            raise InferenceDiverged("no proposal was accepted")
        states = torch.stack(chains)
        flat = states.flatten(0, 1)
        outputs = network.outputs(flat, problem.train.inputs[:PROBES])
        noise = torch.full_like(flat[:, 0].double(), density.noise_precision)
        diagnostics = diagnose(
            outputs.unflatten(0, states.shape[:2]).cpu().numpy(),
            torch.stack([density(state) for state in flat]).view(states.shape[:2]).cpu().numpy(),
            np.full(states.shape[:2], self.prior_precision),
            np.full(states.shape[:2], 1 / density.noise_precision),
            np.repeat(np.array(rates)[:, None], states.shape[1], axis=1),
            np.zeros(states.shape[:2], dtype=bool),
        )
        del diagnostics["divergences"]  # hamiltorch does not count them
        if isinstance(likelihood, Categorical):
            del diagnostics["noise_std"]
        step_size = {"step_size": float(np.mean(step_sizes))}
        return HmcPosterior(network, likelihood, flat, noise, diagnostics | step_size)

    def _sample(
        self, hamiltorch: ModuleType, density: "LogDensity", rng: torch.Generator, number: int
    ) -> tuple[Float[Tensor, "draws weights"], float, float]:
        """Return the draws of chain `number`, its acceptance rate and its step size."""
        progress.report(number, self.chains, math.nan)
        scale = density.network.scale
        (normals,) = normal([rng], len(scale), dtype=scale.dtype)
        start = normals * self.prior_precision**-0.5
        draws_per_chain = self.draws // self.chains
        common = {
            "log_prob_func": density,
            "params_init": start,
            "num_steps_per_sample": self.leapfrog_steps,
            "verbose": False,
            "debug": 2,
        }
        # hamiltorch discards the states of its step-size adaptation; only the step size remains.
        _, step_size = hamiltorch.sample(
            sampler=hamiltorch.Sampler.HMC_NUTS,
            num_samples=self.warmup + 1,
            burn=self.warmup,
            step_size=self.step_size,
            desired_accept_rate=self.target_acceptance,
            **common,
        )
        # With hamiltorch's own burn-in, rejecting the first proposal would return to the start.
        draws, rate = hamiltorch.sample(
            sampler=hamiltorch.Sampler.HMC,
            num_samples=self.warmup + draws_per_chain,
            burn=-1,
            step_size=step_size,
            **common,
        )
        return torch.stack(draws[-draws_per_chain:]).detach(), float(rate), float(step_size)

    def _noise(self, likelihood: Likelihood) -> float:
        if isinstance(likelihood, Categorical):
            return 1.0
        return self.noise_precision if likelihood.noise_std is None else likelihood.noise_std**-2


class LogDensity:
    """The joint log density of data and weights on their common scale, up to a constant."""

    def __init__(
        self,
        network: AnyScaledNetwork,
        problem: Problem,
        prior_precision: float,
        noise_precision: float,
    ) -> None:
        self.network = network
        self.prior_precision, self.noise_precision = prior_precision, noise_precision
        self._inputs, self._targets = problem.train.inputs[None], problem.train.targets[None]
        categorical = isinstance(problem.likelihood, Categorical)
        self._loss = log_loss if categorical else squared_error

    def __call__(self, weights: Float[Tensor, " weights"]) -> Float[Tensor, ""]:
        unit = "gradient_rows" if weights.requires_grad else "likelihood_rows"
        work.count(unit, self._inputs.shape[1])
        outputs = self.network.network(self.network.weights(weights[None]), self._inputs)
        (loss,) = self._loss(outputs, self._targets)
        return -self.noise_precision * loss - self.prior_precision * weights.square().sum() / 2


def import_hamiltorch() -> ModuleType:
    """Return the package; raises `PackageMissing` if it is not installed."""
    try:
        return importlib.import_module("hamiltorch")
    except ImportError as missing:
        raise PackageMissing(f"needed hamiltorch ({missing}): {CURE}") from missing


@contextmanager
def seeded_and_quiet(rng: torch.Generator) -> Iterator[None]:
    """Seed torch's global generator from the stream and restore all global generators afterwards.

    Importing hamiltorch also seeds the generators of Python and NumPy.
    """
    (seed,) = torch.randint(2**62, (1,), generator=rng, device=rng.device).tolist()
    before = random.getstate(), np.random.get_state()  # noqa: NPY002 (hamiltorch seeds it)
    devices = [rng.device] if rng.device.type == "cuda" else []
    with (
        torch.random.fork_rng(devices),
        redirect_stdout(io.StringIO()),  # hamiltorch prints step sizes and whole states
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", module="hamiltorch")
        try:
            torch.manual_seed(seed)
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])  # noqa: NPY002 (as above)
