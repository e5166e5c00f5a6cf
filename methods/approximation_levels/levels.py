"""The approximation levels as methods, each with one more approximation than the one before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float64
from numpy import ndarray
from torch import Generator

from bnnbench.methods.approximation_levels.approximations import (
    Approximation,
    Drawn,
    Gaussians,
    Points,
    Propagated,
    RungPosterior,
    independent,
    within_units,
    without_covariances,
)
from bnnbench.methods.approximation_levels.importance import Exact, exact
from bnnbench.methods.approximation_levels.messages import Rows, Rules
from bnnbench.methods.approximation_levels.row_sites import row_sites
from bnnbench.methods.approximation_levels.two_units import TwoUnits, Vector, two_units
from bnnbench.methods.approximation_levels.variational import Covariances, nearest
from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.fitting.settings import require_between, require_choice, require_count
from bnnbench.methods.message_passing.method import MessagePassing, MessagePassingPosterior
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.space import Space

Form = Literal[
    "draws", "marginals", "propagated_marginals", "gaussian", "gaussian_by_unit",
    "mode", "mode_marginals", "modes",
]  # fmt: skip
FORMS: Mapping[Form, Callable[[Exact], Approximation]] = {
    "draws": Drawn,
    "marginals": lambda e: Gaussians((without_covariances(e.whole),)),
    "propagated_marginals": lambda e: Propagated(e.whole.mean, e.whole.covariance.diagonal()),
    "gaussian": lambda e: Gaussians((e.whole,)),
    "gaussian_by_unit": lambda e: Gaussians((within_units(e.whole),)),
    "mode": lambda e: Gaussians(e.modes[:1]),
    "mode_marginals": lambda e: Gaussians((without_covariances(e.modes[0]),)),
    "modes": lambda e: Gaussians(e.modes),
}


@dataclass(frozen=True, eq=False)
class ExactPosterior(RungPosterior):
    """A form of the exact posterior, together with its draws."""

    exact: Exact


@dataclass(frozen=True)
class ExactForm:
    """The exact posterior by importance sampling, or a Gaussian form of it."""

    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()
    of_predictions: ClassVar[tuple[str, ...]] = ("form",)

    form: Form = "draws"
    """`mode`: only the heaviest part by the order of the units and the signs of their weights.
    `modes`: all parts, weighted by mass."""
    draws: int = 4_000_000

    def __post_init__(self) -> None:
        require_choice(self, "form", get_args(Form))
        require_count(self, "draws")

    def fit(self, problem: Problem, rng: Generator) -> ExactPosterior:
        """Return the form; raises `InferenceDiverged` if the effective sample size is too small."""
        model = two_units(problem, rng)
        return self._of(model, exact(model, self.draws, rng))

    def from_fit(self, posterior: Posterior) -> ExactPosterior:
        """Return this form from another form's draws."""
        assert isinstance(posterior, ExactPosterior)
        return self._of(posterior.model, posterior.exact)

    def _of(self, model: TwoUnits, known: Exact) -> ExactPosterior:
        diagnostics = {
            "effective_sample_size": known.sample_size,
            "heaviest_mode": known.modes[0].mass,
        }
        return ExactPosterior(model, FORMS[self.form](known), diagnostics, known)


@dataclass(frozen=True)
class RowSites:
    """Expectation propagation with whole rows as sites, with exact moments."""

    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    rounds: int = 60
    damping: float = 0.5

    def __post_init__(self) -> None:
        require_count(self, "rounds")
        require_between(self, 1e-6, 1 + 1e-12, "damping")

    def fit(self, problem: Problem, rng: Generator) -> RungPosterior:
        """Return the fixed point; raises `InferenceDiverged` if a cavity is improper."""
        model = two_units(problem, rng)
        return _factorised(model, *row_sites(model, self.rounds, self.damping))


@dataclass(frozen=True)
class RowMessages:
    """Gaussian messages through every factor of the network."""

    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    products: Literal["cavity", "marginal"] = "marginal"
    floors: bool = True
    rounds: int = 200

    def __post_init__(self) -> None:
        require_choice(self, "products", ("cavity", "marginal"))
        require_count(self, "rounds")

    def fit(self, problem: Problem, rng: Generator) -> RungPosterior:
        """Return the fixed point; raises `InferenceDiverged` if a message is improper."""
        model = two_units(problem, rng)
        rows = Rows(model, Rules(self.products, self.floors))
        return _factorised(model, *rows.after(self.rounds))


@dataclass(frozen=True)
class Nearest:
    """The Gaussian nearest to the posterior in KL(q ‖ p), starting from the published messages."""

    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    covariances: Covariances = "none"
    """The Gaussian's covariances: none, within the last layer, within each unit, or all."""
    rounds: int = 30
    """Rounds of the published messages that give the starting moments."""

    def __post_init__(self) -> None:
        require_choice(self, "covariances", get_args(Covariances))
        require_count(self, "rounds")

    def fit(self, problem: Problem, rng: Generator) -> RungPosterior:
        """Return the Gaussian at a local minimum."""
        model = two_units(problem, rng)
        start = Rows(model, Rules("marginal", floors=True)).after(self.rounds)
        mean, variance = map(torch.from_numpy, start)
        gaussian = nearest(model, mean, variance, self.covariances)
        return RungPosterior(model, Gaussians((gaussian,)), {})


@dataclass(frozen=True)
class Package:
    """The package's message passing, together with the model."""

    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    method: MessagePassing = field(default_factory=MessagePassing)

    def fit(self, problem: Problem, rng: Generator) -> RungPosterior:
        """Return the package's posterior, and the model with the prior that it drew."""
        model = two_units(problem, torch.Generator(rng.device).set_state(rng.get_state()))
        fitted = self.method.fit(problem, rng)
        assert isinstance(fitted, MessagePassingPosterior)
        return RungPosterior(model, Fitted(fitted), fitted.diagnostics)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A posterior of the package, with its own predictions."""

    posterior: MessagePassingPosterior

    @property
    def stds(self) -> Vector:
        """The standard deviations of all weights."""
        parts = [part for layer in self.posterior.weights for part in layer.parts()]
        return torch.cat([part.variance.double().flatten() for part in parts]).sqrt()

    def function(self, model: TwoUnits, x: Points, rng: Generator) -> tuple[Points, Points]:
        """Return the moments of its prediction without the noise."""
        prediction = self.posterior.predict(x[:, None], rng)
        assert isinstance(prediction, GaussianPredictive)
        return prediction.mean[:, 0], prediction.variance[:, 0] - model.noise_variance


def _factorised(
    model: TwoUnits, mean: Float64[ndarray, " 7"], variance: Float64[ndarray, " 7"]
) -> RungPosterior:
    return RungPosterior(model, independent(torch.from_numpy(mean), torch.from_numpy(variance)), {})
