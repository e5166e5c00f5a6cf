"""The input and output of an inference method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood, Split
from bnnbench.datasets.targets import check_rows
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.methods.networks.start import Start
from bnnbench.methods.predictions.predictive import Predictive

PriorUse = Literal["given", "own", "none"]
"""`given`: the method aims at the posterior under the problem's prior, if one is stated. `own`: at
the posterior under another prior. `none`: at no posterior (a point estimate, an ensemble)."""


@dataclass(frozen=True)
class Problem:
    """Everything that a method may know. Test data has no way in.

    Raises ValueError for rows that no method can fit under the likelihood.
    """

    train: Split
    likelihood: Likelihood
    architecture: Architecture
    prior: FixedPrecision | None = None
    """The prior of the weights, if the target posterior is stated. A method whose `prior_use` is
    "given" uses it instead of its own settings.
    """
    start: Start | None = None
    """A trained network of this architecture, from which methods continue."""
    calibration: Split | None = None
    """Rows that the trained network has not seen. Whatever is chosen by held-out rows is chosen by
    these, and no training rows are held out.
    """
    target_zero: float | None = None
    """The standardised value of a single real target of 0, which tells whether targets are
    positive; None if unknown."""

    def __post_init__(self) -> None:
        check_rows(self.train, self.likelihood)
        if self.calibration is not None:
            check_rows(self.calibration, self.likelihood)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input: `(features,)` or `(channels, height, width)`."""
        return tuple(self.train.inputs.shape[1:])

    @property
    def prior_stds(self) -> Float[Tensor, " parameters"] | None:
        """The prior standard deviation of every weight; None if no prior is stated."""
        if self.prior is None:
            return None
        return self.prior.stds(self.architecture, self.input_shape).to(self.train.inputs)


@runtime_checkable
class Posterior(Protocol):
    """An approximation of p(θ | D), ready to predict.

    A posterior of another network than the problem's architecture returns that network as its
    `own_network` (`networks.own_network`).
    """

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the fit.

        `converged` = 0 means that the fit did not reach the method's posterior; every table marks
        it. `ignores_inputs` = 1 means that the prediction is the same for every input: tables show
        it as a baseline and compare no other method with it.
        """
        ...

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the predictive distribution of each point.

        Within one call, draw `s` is the same function at every point. Equal streams give equal
        draws, whatever the points are.
        """
        ...


@runtime_checkable
class Differentiable(Posterior, Protocol):
    """A posterior of a classifier whose predictions have gradients with respect to the inputs."""

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the class probabilities averaged over draws, with their gradient.

        Equal streams give the draws of `predict`. Raises `NotDifferentiable` if there is no
        gradient.
        """
        ...


@runtime_checkable
class Method(Protocol):
    """An inference method: a frozen dataclass of its hyperparameters."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior.

        Raises `InferenceDiverged` when inference fails and `Unsupported` for a problem that
        the method does not cover.
        """
        ...


@runtime_checkable
class BatchedMethod(Method, Protocol):
    """A method that trains problems of equal shape side by side."""

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> "list[Posterior | InferenceDiverged]":
        """Return, for each problem, the result of `fit` with its stream, or the fit's failure."""
        ...


@runtime_checkable
class Compiled(Method, Protocol):
    """A method with code that is compiled, or read from a cache, on first use in a process."""

    def warm_up(self, problem: Problem) -> None:
        """Compile everything that is called when such a problem is fitted and predicted.

        It is called before timing of the fit starts, once per process for each method and kind of
        problem; its time is `Cost.compile_seconds`.
        """
        ...


@runtime_checkable
class SharesFits(Method, Protocol):
    """A method with settings that affect only predictions: others of its class share its fits.

    The engine fits once for all methods that agree in the other settings.
    """

    of_predictions: ClassVar[tuple[str, ...]]
    """The names of these settings."""

    def from_fit(self, posterior: Posterior) -> Posterior:
        """Return this method's posterior, given another one's for the same rows and stream."""
        ...


class InferenceDiverged(Exception):
    """Inference failed. This is a result and is recorded as such."""


class Unsupported(ValueError):
    """The method does not cover such a problem; the message names the cause and the remedy."""


class NotDifferentiable(Unsupported):
    """Predictions have no gradient with respect to the inputs; the message names the cause."""


class PackageMissing(ImportError):
    """The method needs an optional package; the message names the command that installs it."""


def prior_use(method: Method) -> PriorUse | None:
    """Return how a method uses a problem's prior; None if its class does not say.

    A class says so by an attribute or property `prior_use`.
    """
    return getattr(method, "prior_use", None)


def differentiable(posterior: Posterior) -> Differentiable:
    """Return the posterior; raises `NotDifferentiable` if its predictions have no gradients."""
    if not isinstance(posterior, Differentiable):
        raise NotDifferentiable(
            f"{type(posterior).__name__} has no log_probs and so no gradient with respect to "
            "the inputs (see bnnbench.methods.base.Differentiable)"
        )
    return posterior


def require_classifier(likelihood: Likelihood) -> None:
    """Raise `NotDifferentiable` for a likelihood without class probabilities."""
    if not isinstance(likelihood, Categorical):
        raise NotDifferentiable("needed a classifier; got a regression, without probabilities")
