r"""Bayesian linear regression on the inputs, with conjugate priors and the precision by evidence.

The model and its posterior are those of `neural_linear`, with the inputs and a column of ones as
features: for each output,

$$ y \mid w, s \sim N(\Phi w, s I), \quad w \mid s \sim N(0, s \alpha^{-1} I), \quad
   s \sim \text{InvGamma}(a, b) $$

and α maximises the evidence. The bias has the prior of the other weights, since targets are
centred.

Sources: MacKay (1992), "Bayesian Interpolation"; Bishop (2006), "Pattern Recognition and Machine
Learning", exercises 3.12, 3.13 and 3.23.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_positive
from bnnbench.methods.neural_linear import Features, NeuralLinearPosterior, Regression
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class InputFeatures(Features):
    """Inputs as vectors, each followed by a 1."""

    def __call__(
        self, inputs: Float[Tensor, "points *features"]
    ) -> Float64[Tensor, "points features"]:
        """Return the features of each point."""
        return super().__call__(inputs.flatten(1))


@dataclass(frozen=True)
class BayesianLinear:
    """The exact posterior of a linear model and its noise; it ignores the network.

    A precision at its upper bound is no failure: if the evidence is against all weights, the
    targets' own distribution remains.

    scikit-learn's `BayesianRidge` (`sklearn_ridge`) has a point estimate of the noise, and so a
    Gaussian predictive, and no prior of the bias.
    """

    card: ClassVar[Card] = Card(
        "not a network",
        problems=("mlp regression", "cnn regression"),
        gradients=False,
        restarts="one factorisation of a matrix",
    )
    label: ClassVar[str] = "Bayesian linear regression"
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    noise_shape: float = 1.0
    """Shape of the inverse Gamma prior of the noise variance."""
    noise_rate: float = 1.0
    """Rate of the noise's prior, in squared standardised target units."""

    def __post_init__(self) -> None:
        require_positive(self, "noise_shape", "noise_rate")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; the stream is not used.

        Raises `Unsupported` for classes and for a known noise.
        """
        if problem.likelihood != Gaussian(None):
            raise Unsupported(
                f"BayesianLinear needed a regression of unknown noise; got {problem.likelihood}: "
                "use LogisticRegression for classes, or Laplace with a linear network"
            )
        nothing = problem.train.inputs.new_zeros(1, 0)
        features = InputFeatures(None, nothing, nothing, bias=True)
        model = Regression.of(
            features(problem.train.inputs),
            problem.train.targets,
            self.noise_shape,
            self.noise_rate,
        )
        precision, _ = model.maximise_evidence()
        return NeuralLinearPosterior(features, model, precision, within_bounds=True)
