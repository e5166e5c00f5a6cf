"""Expectation propagation (EP) in a network with one hidden layer; `solver` has the mathematics.

Source: Jylänki, Nummenmaa and Vehtari (2014), "Expectation Propagation for Neural Networks with
Sparsity-Promoting Priors".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.ep import solver
from bnnbench.methods.ep.solver import Rows, State, Unit, Weights
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.targets import require_output_per_target, target_units
from bnnbench.methods.networks.architectures import Layer, NormalCdf, ReLU, Tanh
from bnnbench.methods.networks.perceptron import as_perceptron
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.space import Space

UNITS: Mapping[type[Layer], Unit] = {
    NormalCdf: torch.special.ndtr,
    Tanh: torch.tanh,
    ReLU: torch.relu,
}
MOST_WORK = 5 * 10**8
"""Most multiplications of an update, units * features³: a twentieth of a second on one core.

50 units with 214 features take 7.6 s for the 128 updates of 20 rows, and with 400 features 92 s for
all 300."""
START_PRECISION = 10.0
"""Precision of the first sites of h, which are centred at sums of random weights."""


@dataclass(frozen=True)
class EpPosterior:
    """Independent Gaussians: one over each hidden unit's weights, and one over the output's.

    Predictions are moments of the output: a single draw, and the stream is not used.
    """

    weights: Weights
    noise_variance: float
    unit: Unit
    diagnostics: Mapping[str, float]
    target_mean: float = 0.0
    target_std: float = 1.0
    """Units of the targets, which the weights predict standardised."""

    def predict(
        self, inputs: Float[Tensor, "points features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return one Gaussian per point, including noise."""
        points = solver.with_one(inputs.cpu().double())
        mean, variance = solver.outputs(self.weights, points, self.unit)
        both = (mean, variance + self.noise_variance)
        standardised = GaussianPredictive(*(e[None, :, None].to(inputs.device) for e in both))
        return standardised.rescaled(self.target_mean, self.target_std)


@dataclass(frozen=True)
class Ep:
    """Parallel, damped, fractional EP for perceptrons with one hidden layer and one real target.

    Priors are the same as in PBP's model. All sums are divided by the square root of their length.
    All weights share a precision with the prior Gamma(prior_shape, prior_rate), and the noise
    precision has the prior Gamma(noise_shape, noise_rate) unless the likelihood knows the noise.
    Each update also sets both to their expectations, given the expected squares of weights and
    residuals. The source instead uses Gaussian sites for their logarithms, and offers sparse priors
    in addition to Gaussian ones. Inputs are expected to be standardised. Priors are those for
    standardised targets, whose unit makes no difference unless the problem states the prior of its
    weights. Float64 throughout.
    """

    card: ClassVar[Card] = Card(
        "message passing", problems=("mlp regression",), restarts="a fit of a second"
    )
    prior_use: ClassVar[PriorUse] = "given"
    space: ClassVar[Space] = Space()

    iterations: int = 300
    """Maximum number of updates; the diagnostic `converged` says whether they were enough."""
    power: float = 1.0
    """Share of a row's sites removed in its cavity, and power of its likelihood: 1 is plain EP."""
    step: float = 0.5
    """Step of an update, as a share of the way to the new sites."""
    tolerance: float = 1e-4
    """A fit ends when an update changes every output at a training row by at most this, and both
    precisions by at most this share."""
    prior_shape: float = 6.0
    prior_rate: float = 6.0
    noise_shape: float = 6.0
    noise_rate: float = 6.0

    def __post_init__(self) -> None:
        require_count(self, "iterations")
        require_between(self, 1e-9, 1 + 1e-9, "power", "step")
        require_positive(self, "tolerance", "prior_shape", "prior_rate")
        require_positive(self, "noise_shape", "noise_rate")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `InferenceDiverged` if it is not finite."""
        units, unit = _network(problem)
        inputs, targets = problem.train.inputs.cpu().double(), problem.train.targets[:, 0]
        target_mean, target_std = (float(each) for each in target_units(problem))
        standardised = (targets.cpu().double() - target_mean) / target_std
        rows = Rows(solver.with_one(inputs), standardised)
        if not (rows.inputs.isfinite().all() and rows.targets.isfinite().all()):
            raise InferenceDiverged("the training data are not finite")
        state, last, iteration = (
            self._start(problem, rows, units, unit, rng, target_std),
            math.inf,
            0,
        )
        while True:
            iteration += 1
            weights = solver.posterior(rows, state)
            mean, _ = solver.outputs(weights, rows.inputs, unit)
            new, squares, limited = solver.refined(rows, state, weights, unit, self.power)
            new = self._with_precisions(problem, new, weights, squares)
            change = max(
                float((mean - last).abs().max()),
                abs(new.of_weights / state.of_weights - 1),
                abs(new.of_noise / state.of_noise - 1),
            )
            if not math.isfinite(new.of_weights + new.of_noise + float(mean.sum())):
                raise InferenceDiverged("the weights are not finite")
            work.count("row_updates", len(targets))
            progress.report(iteration, self.iterations, squares / len(targets))
            if change <= self.tolerance or iteration == self.iterations:
                break
            state, last = state.towards(new, self.step), mean
        diagnostics = {
            "converged": float(change <= self.tolerance),
            "iterations": float(iteration),
            "limited_sites": limited,
            "units_at_work": solver.units_at_work(weights, rows.inputs, unit),
            "prior_precision": new.of_weights,
            "noise_std": target_std * new.of_noise**-0.5,
        }
        scaled = diagnostics, target_mean, target_std
        return EpPosterior(weights, 1 / new.of_noise, unit, *scaled)

    def _start(
        self,
        problem: Problem,
        rows: Rows,
        units: int,
        unit: Unit,
        rng: torch.Generator,
        target_std: float,
    ) -> State:
        """Return sites of h at sums of random weights, which break the symmetry of units."""
        features = rows.inputs.shape[1]
        draws = torch.randn(features, units, generator=rng, device=rng.device).cpu().double()
        h = rows.inputs @ draws / features**0.5
        of_weights = self.prior_shape / self.prior_rate
        of_noise = self.noise_shape / self.noise_rate
        if problem.prior is not None:
            of_weights = problem.prior.precision
        if isinstance(problem.likelihood, Gaussian) and problem.likelihood.noise_std is not None:
            of_noise = (problem.likelihood.noise_std / target_std) ** -2
        return State(
            torch.full_like(h, START_PRECISION),
            START_PRECISION * h,
            solver.with_one(unit(h)),
            torch.full_like(rows.targets, 1 / of_noise),
            of_weights,
            of_noise,
        )

    def _with_precisions(
        self, problem: Problem, state: State, weights: Weights, squares: float
    ) -> State:
        """Return the state with both precisions at their expectations, unless they are known."""
        if problem.prior is None:
            shape = self.prior_shape + weights.count() / 2
            state = replace(state, of_weights=shape / (self.prior_rate + weights.squares() / 2))
        if problem.likelihood == Gaussian(None):
            shape = self.noise_shape + len(state.variance) / 2
            state = replace(state, of_noise=shape / (self.noise_rate + squares / 2))
        return state


def _network(problem: Problem) -> tuple[int, Unit]:
    """Return number and function of the hidden units; raises `Unsupported` for other problems."""
    if not isinstance(problem.likelihood, Gaussian) or problem.train.targets.shape[1:] != (1,):
        raise Unsupported("needed one real target; use PBP for classes or several targets")
    perceptron = as_perceptron(problem.architecture, problem.input_shape, *UNITS)
    require_output_per_target(problem)
    if len(perceptron.widths) != 3 or perceptron.activation is None:
        raise Unsupported(
            f"needed one hidden layer; got {len(perceptron.widths) - 2}: use PBP for other depths"
        )
    _check_size(perceptron.widths[0], perceptron.widths[1])
    return perceptron.widths[1], UNITS[type(perceptron.activation)]


def _check_size(features: int, units: int) -> None:
    """Raise `Unsupported` if updates would factorise too large covariances."""
    most = int((MOST_WORK / units) ** (1 / 3)) - 1
    if features > most:
        raise Unsupported(
            f"EP needed at most {most:,} features for {units:,} hidden units, each of which has a "
            f"full covariance of its weights; got {features:,}: use PBP, or fewer features"
        )
