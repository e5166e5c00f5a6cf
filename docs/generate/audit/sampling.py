"""Our Hamiltonian Monte Carlo compared with hamiltorch and samplers of blackjax and NumPyro."""

import importlib.metadata
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.hmc.hamiltorch import HmcHamiltorch, LogDensity
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.hmc.scaled_networks import AnyScaledNetwork
from bnnbench.methods.networks.architectures import Linear, Tanh
from bnnbench.methods.networks.priors import FixedPrecision, scales
from bnnbench.suites.check.problems import regression, stream
from docs.generate.audit.comparison import Answers, Comparison, ask, by_draws, equal, with_errors

DRAWS, WARMUP, CHAINS = 8000, 1000, 4
LIBRARIES = ("blackjax", "numpyro")
NOISE_STD, PRECISION = 0.4, 1.5


def of_two_weights() -> Problem:
    """Return rows for a network of two weights, whose posterior can be computed on a grid."""
    inputs = torch.linspace(-2, 2, 9, dtype=torch.float64)[:, None]
    targets = 0.9 * torch.tanh(1.3 * inputs) + 0.3 * torch.cos(5 * inputs)
    network = (Linear(1, bias=False), Tanh(), Linear(1, bias=False))
    return Problem(Split(inputs, targets), Gaussian(NOISE_STD), network, FixedPrecision(PRECISION))


def with_unknown_precisions() -> Problem:
    """Return rows for a network with unknown precisions of prior and noise."""
    problem = regression(rows=30, architecture=(Linear(3), Tanh(), Linear(1)), dtype=torch.float64)
    return replace(problem, prior=None)


def points(features: int) -> torch.Tensor:
    """Return test inputs."""
    return 1.5 * torch.randn(12, features, generator=stream(5), dtype=torch.float64)


def by_quadrature(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return posterior mean and standard deviation of outputs, as sums over a grid of weights."""
    axis = np.linspace(-7, 7, 1401)
    first, second = np.meshgrid(axis, axis, indexing="ij")
    log_density = -PRECISION * (first**2 + second**2) / 2
    rows = zip(problem.train.inputs[:, 0], problem.train.targets[:, 0], strict=True)
    for x, y in rows:
        error = float(y) - second * np.tanh(first * float(x))
        log_density -= error**2 / (2 * NOISE_STD**2)
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    outputs = [second * np.tanh(first * float(x)) for x in points(1)[:, 0]]
    means = np.array([(weights * each).sum() for each in outputs])
    squares = np.array([(weights * each**2).sum() for each in outputs])
    return means, np.sqrt(squares - means**2)


def ours(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs (draws, points) and the noise's precisions (draws)."""
    sampler = Hmc(draws=DRAWS, thinning=4, warmup=WARMUP, chains=CHAINS)
    posterior: Any = sampler.fit(problem, stream(3))
    found = posterior.predict(points(problem.train.inputs.shape[1]), stream(4))
    return found.means[:, :, 0].numpy(), 1 / found.variances[:, 0, 0].numpy()


def theirs(library: str, problem: Problem, states: torch.Tensor) -> Answers:
    """Return draws of a No-U-Turn sampler, and its log density at some states."""
    known: Any = problem.prior and problem.prior.precision
    likelihood: Any = problem.likelihood
    return ask(
        *(library, "nuts_draws"),
        {
            **{"inputs": problem.train.inputs, "targets": problem.train.targets},
            "scales": scales(problem.architecture, problem.input_shape),
            **{"points": points(problem.train.inputs.shape[1]), "states": states},
        },
        problem.architecture,
        noise_std=likelihood.noise_std,
        **{"sampler": library, "draws": DRAWS, "warmup": WARMUP, "chains": CHAINS},
        **{"target_acceptance": 0.8, "prior_precision": known, "noise_precision": None},
    )


def of_nuts() -> Iterator[Comparison]:
    """Compare both samplers with ours, and a network of two weights with quadrature as well."""
    small, larger = of_two_weights(), with_unknown_precisions()
    mean, std = by_quadrature(small)
    exact = np.zeros_like(mean)
    outputs, _ = ours(small)
    truth = "quadrature", "", "HMC, two weights"
    yield by_draws(*truth, "ours: mean of outputs", with_errors(outputs), (mean, exact))
    yield by_draws(*truth, "ours: spread of outputs", _spread(outputs, mean), (std, exact))
    many, noise = ours(larger)
    for library in LIBRARIES:
        states = torch.randn(20, 2, generator=stream(6), dtype=torch.float64)
        found = theirs(library, small, states)
        their = found.arrays["outputs"][:, :, 0]
        same = library, found.version, "NUTS, two weights"
        text = "differences of log density"
        yield equal(*same, text, _density(small, states), _centred(found.arrays["log_density"]))
        against = "against quadrature"
        yield by_draws(*same, f"mean, {against}", (mean, exact), with_errors(their))
        yield by_draws(*same, f"spread, {against}", (std, exact), _spread(their, mean))
        found = theirs(library, larger, torch.zeros(1, 21, dtype=torch.float64))
        their = found.arrays["outputs"][:, :, 0]
        same = library, found.version, "NUTS, 19 weights, unknown precisions"
        yield by_draws(*same, "mean, against our HMC", with_errors(many), with_errors(their))
        logs = (with_errors(np.log(p)) for p in (noise, found.arrays["noise_precision"]))
        yield by_draws(*same, "log precision of the noise, against our HMC", *logs)


def of_hamiltorch() -> Iterator[Comparison]:
    """Compare hamiltorch's plain sampler, through `hmc_hamiltorch`, with quadrature."""
    small = of_two_weights()
    mean, std = by_quadrature(small)
    sampler = HmcHamiltorch(
        draws=DRAWS, warmup=WARMUP, chains=CHAINS, leapfrog_steps=20, prior_precision=PRECISION
    )
    posterior: Any = sampler.fit(small, stream(3))
    outputs = posterior.predict(points(1), stream(4)).means[:, :, 0].numpy()
    same = "hamiltorch", importlib.metadata.version("hamiltorch"), "HMC, two weights"
    exact, against = np.zeros_like(mean), "against quadrature"
    yield by_draws(*same, f"mean, {against}", (mean, exact), with_errors(outputs))
    yield by_draws(*same, f"spread, {against}", (std, exact), _spread(outputs, mean))


def _density(problem: Problem, states: torch.Tensor) -> np.ndarray:
    """Return our log density at states of standard normal weights."""
    density = LogDensity(AnyScaledNetwork(problem), problem, PRECISION, NOISE_STD**-2)
    return _centred([float(density(state * PRECISION**-0.5)) for state in states])


def _centred(values: Any) -> np.ndarray:
    return np.asarray(values) - np.mean(values)


def _spread(outputs: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard deviation around a known mean, and its standard error."""
    variance, error = with_errors((outputs - mean) ** 2)
    return np.sqrt(variance), error / (2 * np.sqrt(variance))
