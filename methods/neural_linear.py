r"""The neural linear model (NL): Bayesian linear regression on a network's last features.

A network is trained, and the weights of its last layer are discarded. Let Φ be its features at the
N training rows, with a column of ones. For each output,

$$ y \mid w, s \sim N(\Phi w, s I), \quad w \mid s \sim N(0, s \alpha^{-1} I), \quad
   s \sim \text{InvGamma}(a, b) $$

has the posterior $w \mid s \sim N(m, s V)$, $s \sim \text{InvGamma}(a + N/2, b_N)$ with
$V = (\Phi^T \Phi + \alpha I)^{-1}$, $m = V \Phi^T y$ and
$b_N = b + \tfrac12 (|y - \Phi m|^2 + \alpha |m|^2)$; its predictive is Student's t.

Sources: Snoek et al. (2015), "Scalable Bayesian Optimization Using Deep Neural Networks";
Riquelme, Tucker and Snoek (2018), "Deep Bayesian Bandits Showdown", for the noise's prior;
Ober and Rasmussen (2019), "Benchmarking the Neural Linear Model for Regression".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy.optimize import minimize
from torch import Tensor
from torch.nn import functional

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import (
    BatchedMethod,
    InferenceDiverged,
    Posterior,
    PriorUse,
    Problem,
    Unsupported,
)
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.network_posterior import NetworkPosterior, outputs
from bnnbench.methods.fitting.settings import require_positive
from bnnbench.methods.networks.architectures import Architecture, Linear
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.methods.tuning.space import Log, Space, compose, space_of

PRECISIONS = 1e-8, 1e8
"""Minimum and maximum precision of the weights, in units of the noise precision."""
STARTS = 1e-2, 1.0, 1e2


@dataclass(frozen=True)
class Features:
    """Inputs of a trained network's last layer, followed by a 1 if the layer has a bias."""

    body: TorchNetwork | None
    """The layers before the last; None for a network of a single layer."""
    weights: Float[Tensor, "1 parameters"]
    buffers: Float[Tensor, "1 buffers"]
    bias: bool

    @classmethod
    def of(cls, mode: Posterior, architecture: Architecture) -> "Features":
        """Return the features of a point estimate; raises `Unsupported` for another posterior."""
        if not isinstance(mode, NetworkPosterior) or len(mode.weights) != 1:
            raise Unsupported(
                "needed a training that ends in one weight vector, such as AdamW, Sgd or "
                f"LastIterate; got a {type(mode).__name__}"
            )
        *layers, last = architecture
        assert isinstance(last, Linear)
        body = TorchNetwork(tuple(layers), mode.network.input_shape) if layers else None
        count = body.parameter_count if body else 0
        # Separate memory: products round as if fitted one at a time.
        return cls(body, mode.weights[:, :count].clone(), mode.buffers.clone(), last.bias)

    def __call__(
        self, inputs: Float[Tensor, "points *features"]
    ) -> Float64[Tensor, "points features"]:
        """Return the features of each point."""
        hidden = inputs
        if self.body is not None:
            hidden = outputs(self.body, self.weights, inputs, self.buffers)[0]
        return functional.pad(hidden.double(), (0, int(self.bias)), value=1.0)


@dataclass(frozen=True)
class Regression:
    """The conjugate model of features and targets, in the features' singular basis."""

    vectors: Float64[Tensor, "features features"]
    squares: Float64[np.ndarray, " features"]
    """Squared singular values."""
    projected: Float64[np.ndarray, "features outputs"]
    """$\\Phi^T y$ in the basis of the singular vectors."""
    target_squares: Float64[np.ndarray, " outputs"]
    rows: int
    shape: float
    rate: float

    @classmethod
    def of(
        cls,
        features: Float64[Tensor, "points features"],
        targets: Float[Tensor, "points outputs"],
        shape: float,
        rate: float,
    ) -> "Regression":
        """Return the model with an inverse-gamma prior of the noise, with this shape and rate."""
        squares, vectors = torch.linalg.eigh(features.mT @ features)
        work.count("factorisations", 1)
        y = targets.double()
        projected = vectors.mT @ (features.mT @ y)
        return cls(
            vectors,
            squares.clamp_min(0).cpu().numpy(),
            projected.cpu().numpy(),
            y.square().sum(0).cpu().numpy(),
            len(features),
            shape,
            rate,
        )

    def log_evidence(self, precision: float) -> float:
        """Return the log density of the targets, in nats, for a prior precision of the weights."""
        return self.with_slope(math.log(precision))[0]

    def with_slope(self, log_precision: float) -> tuple[float, float]:
        """Return the log density and its derivative with respect to the log precision."""
        precision = math.exp(log_precision)
        posterior = self.squares + precision
        outputs, shape = len(self.target_squares), self.shape + self.rows / 2
        rates = self.rates(precision)
        constant = (
            math.lgamma(shape)
            - math.lgamma(self.shape)
            + self.shape * math.log(self.rate)
            - 0.5 * self.rows * math.log(2 * math.pi)
        )
        determinants = 0.5 * float((log_precision - np.log(posterior)).sum())
        value = outputs * (constant + determinants) - shape * float(np.log(rates).sum())
        slope_of_rates = 0.5 * precision * np.square(self.projected / posterior[:, None]).sum(0)
        effective = float((self.squares / posterior).sum())
        slope = 0.5 * outputs * effective - shape * float((slope_of_rates / rates).sum())
        return value, slope

    def rates(self, precision: float) -> Float64[np.ndarray, " outputs"]:
        """Return b_N of every output."""
        explained = np.square(self.projected) / (self.squares + precision)[:, None]
        residual_squares = self.target_squares - explained.sum(0)
        return self.rate + 0.5 * np.maximum(residual_squares, 0.0)

    def maximise_evidence(self) -> tuple[float, bool]:
        """Return the precision of maximum evidence, and whether it lies within the bounds."""
        low, high = (math.log(bound) for bound in PRECISIONS)

        def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self.with_slope(float(point[0]))
            return -value, np.array([-slope])

        options = {"ftol": 1e-13, "gtol": 1e-8}
        optima = [
            minimize(loss, [math.log(start)], jac=True, method="L-BFGS-B",
                     bounds=[(low, high)], options=options)
            for start in STARTS
        ]  # fmt: skip
        best = float(min(optima, key=lambda optimum: optimum.fun).x[0])
        return math.exp(best), low + 1e-6 < best < high - 1e-6


@dataclass(frozen=True)
class NeuralLinearPosterior:
    """The exact posterior of weights and noise, given the features."""

    features: Features
    regression: Regression
    precision: float
    within_bounds: bool

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of the fit; for several outputs, the noise of the first."""
        shape = self.regression.shape + self.regression.rows / 2
        rate = float(self.regression.rates(self.precision)[0])
        return {
            "prior_precision": self.precision,
            "log_evidence": self.regression.log_evidence(self.precision),
            "noise_std": math.sqrt(rate / shape),
            "converged": float(self.within_bounds),
        }

    @cached_property
    def _posterior(self) -> tuple[Tensor, Tensor, Tensor]:
        """Posterior means, singular vectors over the roots of the precisions, and scales."""
        model = self.regression
        precisions = model.squares + self.precision
        shape = model.shape + model.rows / 2
        vectors, tensor = model.vectors, model.vectors.new_tensor
        roots = vectors / tensor(precisions).sqrt()
        scales = tensor(model.rates(self.precision) / shape).sqrt()
        return vectors @ tensor(model.projected / precisions[:, None]), roots, scales

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> StudentPredictive:
        """Return the Student t distribution of each point; the stream is not used."""
        mean, roots, scales = self._posterior
        features = self.features(inputs)
        spread = (features @ roots).square().sum(1, keepdim=True)
        locations = features @ mean
        degrees = torch.full_like(locations, 2 * self.regression.shape + self.regression.rows)
        widths = (1 + spread).sqrt() * scales
        return StudentPredictive(locations[None], widths[None], degrees[None])


@dataclass(frozen=True)
class NeuralLinear(Batched):
    """A point estimate whose last layer is replaced by its exact posterior.

    Every output has a separate noise. Riquelme et al. use noise of shape and rate 6 and weights of
    precision 1/4; in standardised units the noise is then as large as the signal.
    """

    card: ClassVar[Card] = Card("Laplace", problems=("mlp regression", "cnn regression"))
    prior_use: ClassVar[PriorUse] = "own"

    training: BatchedMethod = field(default_factory=AdamW)
    prior_precision: float | None = None
    """Prior precision of the weights, in units of the noise precision; None maximises evidence."""
    noise_shape: float = 0.5
    """Shape of the inverse Gamma prior of the noise variance."""
    noise_rate: float = 5e-4
    """Rate of the noise's prior, in squared standardised target units. Shape and rate
    together weigh as much as one row."""

    def __post_init__(self) -> None:
        require_positive(self, "noise_shape", "noise_rate")
        if self.prior_precision is not None:
            require_positive(self, "prior_precision")

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", space_of(self.training), Space({"noise_rate": Log(1e-4, 1.0)}))

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; point estimates are trained side by side."""
        first = problems[0]
        if first.likelihood != Gaussian(None):
            raise Unsupported(
                f"needed a regression of unknown noise; got {first.likelihood}: use Laplace "
                'with structure=Full("last")'
            )
        if not isinstance(first.architecture[-1], Linear):
            raise Unsupported(
                f"needed a network that ends in a linear layer; got {first.architecture[-1]}"
            )
        modes = self.training.fit_many(problems, rngs)
        return [
            mode if isinstance(mode, InferenceDiverged) else self._posterior(mode, problem)
            for mode, problem in zip(modes, problems, strict=True)
        ]

    def _posterior(self, mode: Posterior, problem: Problem) -> Posterior | InferenceDiverged:
        features = Features.of(mode, problem.architecture)
        train_features = features(problem.train.inputs)
        if not train_features.isfinite().all():
            return InferenceDiverged("the features are not finite")
        model = Regression.of(
            train_features, problem.train.targets, self.noise_shape, self.noise_rate
        )
        if self.prior_precision is not None:
            return NeuralLinearPosterior(features, model, self.prior_precision, True)
        return NeuralLinearPosterior(features, model, *model.maximise_evidence())
