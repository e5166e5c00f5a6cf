"""Probabilistic backpropagation: a Gaussian for every weight, updated by one row after another.

Source: paper 004, equations 6, 7, 9, 10 and 12 to 17.
"""

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Normal

from bnnbench.datasets.base import Categorical, Gaussian, Likelihood
from bnnbench.methods.base import InferenceDiverged, PackageMissing, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.members import in_threads
from bnnbench.methods.fitting.settings import (
    LATER,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.fitting.targets import require_output_per_target, target_units
from bnnbench.methods.networks.architectures import ReLU
from bnnbench.methods.networks.perceptron import as_perceptron
from bnnbench.methods.pbp import multinomial, reference
from bnnbench.methods.pbp.kernels.constants import (
    KEPT_NOISE_UPDATES,
    REJECTED_UPDATES,
    SKIPPED_REFINEMENTS,
)
from bnnbench.methods.pbp.own_draws import ROWS, std_over_draws
from bnnbench.methods.pbp.propagation import outputs
from bnnbench.methods.pbp.state import Layout, State, initial, with_bias
from bnnbench.methods.pbp.units import restore
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)
from bnnbench.methods.tuning.space import Space

Backend = Literal["compiled", "reference"]
ROWS_AT_ONCE = 2**14
"""Number of rows that the compiled filter processes without interruption, at most a second."""


@dataclass(frozen=True)
class PbpPosterior:
    """An independent Gaussian over every weight, and a Gamma over each noise precision.

    Predictions are closed-form moments: a single draw, and the stream is not used.
    """

    state: State
    likelihood: Likelihood
    std_over_draws: float
    """The outputs' propagated standard deviation divided by that of weight draws, at training rows.

    It is 1 with at most one hidden layer, where moments are exact."""
    covariances: bool = False
    converged: bool = True
    """False if most updates were rejected, or if the noise was learned and the training targets,
    without the worst hundredth, have log densities below those of the Gaussian of all targets."""

    @property
    def diagnostics(self) -> dict[str, float]:
        """The Gammas' parameters, the number of actions of each guard, and `std_over_draws`.

        Parameters of the noise are means over outputs.
        """
        state = self.state
        values = {
            "prior_shape": float(state.prior[0]),
            "prior_rate": float(state.prior[1]),
            "rejected_updates": float(state.counts[REJECTED_UPDATES]),
            "skipped_refinements": float(state.counts[SKIPPED_REFINEMENTS]),
            "std_over_draws": self.std_over_draws,
            "converged": float(self.converged),
        }
        if isinstance(self.likelihood, Gaussian):
            values["noise_std"] = float(state.noise_variance.mean().sqrt())
        if state.learns_noise:
            values["noise_shape"], values["noise_rate"] = state.noise.mean(0).tolist()
            values["kept_noise_updates"] = float(state.counts[KEPT_NOISE_UPDATES])
        return values

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return mean and variance of every output including noise, or class probabilities."""
        rows = inputs.flatten(1).cpu().double()
        mean, variance = outputs(self.state, rows, self.covariances)
        if isinstance(self.likelihood, Categorical):
            log_z = multinomial.log_probabilities(mean, variance)
            return CategoricalPredictive(log_z.log_softmax(-1)[None].to(inputs.device))
        variance = variance + self.state.noise_variance
        return GaussianPredictive(mean[None].to(inputs.device), variance[None].to(inputs.device))


WORSE = 0.25
"""Nats per row by which a converged fit is at most worse than the targets' mean and deviation."""
ROWS_TO_JUDGE = 10_000
"""Maximum number of training rows that are predicted to judge convergence."""
KNOWN = 1e6
"""Shape of the Gamma for a known precision: its deviation is a thousandth of its mean."""


@dataclass(frozen=True)
class Pbp(Batched):
    """Assumed-density filtering, one row after another, with refined prior factors.

    ReLU networks with biases, in which all sums are divided by the square root of their length.
    Each output has its own noise precision with the prior Gamma(noise_shape, noise_rate), unless
    the likelihood knows the noise; all weights share a precision with Gamma(prior_shape,
    prior_rate). Inputs are expected to be standardised. Priors are those for standardised targets:
    the unit of the targets makes no difference, unless the problem states the prior of its weights.
    Float64 throughout.

    Classification is our extension (multinomial.py). The defaults are paper 004's.
    """

    card: ClassVar[Card] = Card(
        "message passing", problems=("mlp regression", "mlp classification"), gradients=False
    )
    prior_use: ClassVar[PriorUse] = "given"
    space: ClassVar[Space] = Space(length="epochs", lengths=(5, 10, 20, 40, 80))

    epochs: int = 40
    prior_shape: float = 6.0
    prior_rate: float = 6.0
    noise_shape: float = 6.0
    noise_rate: float = 6.0
    backend: Backend = "compiled"
    """`compiled` needs numba; `reference` is plain PyTorch, and a thousand times slower."""
    covariances: bool = field(default=False, metadata=LATER)
    """True: moments include the covariances of a layer's units, which paper 004 neglects.

    They are of first order (correlated.py). A step takes about ten times as long with two hidden
    layers of 50 units; with one hidden layer nothing changes.
    """

    def __post_init__(self) -> None:
        require_count(self, "epochs")
        require_between(self, 1 + 1e-9, float("inf"), "prior_shape", "noise_shape")
        require_positive(self, "prior_rate", "noise_rate")
        require_choice(self, "backend", get_args(Backend))

    def warm_up(self, problem: Problem) -> None:
        """Compile the filter for this type of targets."""
        if self.backend == "compiled":
            fit_first_rows(replace(self, epochs=1), problem)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, several at a time in threads."""
        return in_threads(partial(self._filter, _backend(self.backend)), problems, rngs)

    def _filter(self, backend: ModuleType, problem: Problem, rng: torch.Generator) -> Posterior:
        member = _Member(self, problem, rng, backend)
        for epoch in checkpoint.epochs(self.epochs, rng, *member.state.changing):
            progress.report(epoch + 1, self.epochs, member.epoch())
        return member.posterior()


def _backend(backend: Backend) -> ModuleType:
    """Return the module of the filter."""
    if backend == "reference":
        return reference
    try:
        return importlib.import_module("bnnbench.methods.pbp.compiled")
    except PackageMissing as missing:
        raise PackageMissing(f'{missing}; or use the slow Pbp(backend="reference")') from missing


class _Member:
    """One problem during its fit."""

    def __init__(
        self, method: Pbp, problem: Problem, rng: torch.Generator, backend: ModuleType
    ) -> None:
        self.rng, self.likelihood = rng, problem.likelihood
        layout = Layout(_widths(problem))
        self.units = target_units(problem)
        noise = _initial_noise(method, problem.likelihood, self.units[1])
        prior = (method.prior_shape, method.prior_rate)
        if problem.prior:
            prior = (KNOWN, KNOWN / problem.prior.precision)
        learns_noise = problem.likelihood == Gaussian(None)
        self.state = initial(layout, prior, noise, learns_noise, rng)
        inputs, targets = with_bias(problem.train.inputs.flatten(1)), problem.train.targets.cpu()
        if isinstance(problem.likelihood, Gaussian):
            targets = (targets.double() - self.units[0]) / self.units[1]
        if not (inputs.isfinite().all() and targets.isfinite().all()):
            raise InferenceDiverged("the training data are not finite")
        rows = inputs, targets.contiguous()
        self.filter = backend.Filter(self.state, *rows, method.covariances)
        self.covariances = method.covariances
        self.inputs, self.targets = inputs[:, : layout.widths[0]], targets
        self.rows, self.epochs = len(inputs), method.epochs

    def epoch(self) -> float:
        """Process every row once, refine the prior factors, and return the mean of -log Z."""
        order = torch.randperm(self.rows, generator=self.rng, device=self.rng.device).cpu()
        loss = sum(self.filter.take(rows) for rows in order.split(ROWS_AT_ONCE))
        self.filter.refine()
        work.count("row_updates", self.rows)
        return loss / self.rows

    def posterior(self) -> Posterior:
        """Return the posterior; raises `InferenceDiverged` if it is improper."""
        if not self.state.is_proper():
            raise InferenceDiverged("weights without a finite mean or a positive variance")
        exact = self.state.layout.hidden < 2
        checked = self.state, self.inputs[:ROWS], self.rng, self.covariances
        ratio = 1.0 if exact else std_over_draws(*checked)
        converged = self._converged()
        restore(self.state, *self.units)
        return PbpPosterior(self.state, self.likelihood, ratio, self.covariances, converged)

    def _converged(self) -> bool:
        """Return whether updates were accepted, and the fit is no worse than a constant."""
        updates = self.rows * self.epochs * self.state.layout.weights
        if 2 * int(self.state.counts[REJECTED_UPDATES]) > updates:
            return False
        if not self.state.learns_noise:
            return True
        mean, variance = outputs(self.state, self.inputs[:ROWS_TO_JUDGE], self.covariances)
        targets = self.targets[: len(mean)]
        fitted = Normal(mean, (variance + self.state.noise_variance).sqrt()).log_prob(targets)
        std = self.targets.std(0, correction=0)
        constant = Normal(self.targets.mean(0), std.where(std > 0, 1.0)).log_prob(targets)
        return bool((_typical(fitted) > _typical(constant) - WORSE).all())


def _typical(log_densities: Float[Tensor, "rows outputs"]) -> Float[Tensor, " outputs"]:
    """Return the mean over all but the worst hundredth of the rows, rounded up."""
    rows = len(log_densities)
    return log_densities.sort(0).values[min(math.ceil(rows / 100), rows - 1) :].mean(0)


def _widths(problem: Problem) -> tuple[int, ...]:
    """Return the widths of the network; raises `Unsupported` if it is not a perceptron."""
    widths = as_perceptron(problem.architecture, problem.input_shape, ReLU).widths
    require_output_per_target(problem)
    return widths


def _initial_noise(
    method: Pbp, likelihood: Likelihood, units: Float[Tensor, " outputs"]
) -> Float[Tensor, "outputs 2"]:
    """Return shape and rate of each output's noise precision; known noise has mean rate/1."""
    if isinstance(likelihood, Categorical):
        return torch.empty(0, 2, dtype=torch.float64)
    if likelihood.noise_std is None:
        return torch.tensor([[method.noise_shape, method.noise_rate]] * len(units)).double()
    return torch.stack([torch.full_like(units, 2.0), (likelihood.noise_std / units).square()], 1)
