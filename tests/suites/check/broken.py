"""A valid method, and ways to break it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive


@dataclass(frozen=True)
class LinePosterior:
    """A least-squares line whose intercept varies between draws."""

    slopes: torch.Tensor
    shift: torch.Tensor
    diagnostics: dict[str, Any] = field(default_factory=dict)

    def predict(self, inputs, rng):
        noise = torch.randn(3, 1, 1, generator=rng, dtype=inputs.dtype)
        mean = self.outputs(inputs) + self.shift + noise
        return GaussianPredictive(mean, self.variances(mean))

    def outputs(self, inputs):
        return (inputs.flatten(1).double() @ self.slopes.double()).to(inputs.dtype)

    def variances(self, mean):
        return torch.ones_like(mean)


@dataclass(frozen=True)
class Line:
    """Keeps the contract, for regressions."""

    scale: float = 0.1

    def fit(self, problem, rng):
        if isinstance(problem.likelihood, Categorical):
            raise Unsupported("needed a regression; got classes")
        train = problem.train
        if not train.inputs.isfinite().all():
            raise InferenceDiverged("the inputs are infinite")
        solver = "gelsd"  # for the rank of few images
        solution = torch.linalg.lstsq(
            train.inputs.flatten(1).double(), train.targets.double(), driver=solver
        ).solution
        shift = self.scale * torch.randn(1, generator=rng, dtype=train.inputs.dtype)
        return self.posterior(solution, shift)

    def posterior(self, slopes, shift):
        return LinePosterior(slopes, shift)

    def fit_many(self, problems, rngs) -> list[Any]:
        return [self.one(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]

    def one(self, problem, rng) -> Any:
        try:
            return self.fit(problem, rng)
        except InferenceDiverged as error:
            return error


def broken(**methods: Callable[..., Any]) -> Any:
    """Return a line with other methods."""
    return type("BrokenLine", (Line,), methods)()


def predicting(**methods: Any) -> Any:
    """Return a line whose posterior has other methods."""
    kind = type("BrokenPosterior", (LinePosterior,), methods)
    return broken(posterior=lambda self, slopes, shift: kind(slopes, shift))


def fit_moving_numpy(self, problem, rng):
    np.random.rand()  # noqa: NPY002 (the fault to be found)
    return Line.fit(self, problem, rng)


def fit_by_the_global_generator(self, problem, rng):
    posterior = Line.fit(self, problem, rng)
    return LinePosterior(posterior.slopes, torch.randn(1))


def fit_that_scales_its_data(self, problem, rng):
    posterior = Line.fit(self, problem, rng)
    problem.train.inputs.mul_(2)
    return posterior


def fit_with_a_whole_diagnostic(self, problem, rng):
    posterior = Line.fit(self, problem, rng)
    return LinePosterior(posterior.slopes, posterior.shift, {"steps": 3})


def fit_without_diagnostics(self, problem, rng):
    posterior = Line.fit(self, problem, rng)
    return SimpleNamespace(predict=posterior.predict)


def predict_with_an_own_shift(self, inputs, rng):
    shift = torch.randn(len(inputs), 1, generator=rng, dtype=inputs.dtype)
    return GaussianPredictive((self.outputs(inputs) + shift)[None], torch.ones(1, len(inputs), 1))


def predict_anything(self, inputs, rng):
    mean = (self.outputs(inputs) + torch.randn(1))[None]
    return GaussianPredictive(mean, torch.ones_like(mean))


def predict_nan(self, inputs, rng):
    mean = self.outputs(inputs)[None] * torch.nan
    return GaussianPredictive(mean, torch.ones_like(mean))


class Boastful(GaussianPredictive):
    """Has twice the density of a Gaussian."""

    def log_prob(self, target):
        return super().log_prob(target) + 0.7


def predict_boastfully(self, inputs, rng):
    mean = self.outputs(inputs)[None]
    return Boastful(mean, torch.ones_like(mean))


def predict_one_point(self, inputs, rng):
    mean = self.outputs(inputs)[None, :1]
    return GaussianPredictive(mean, torch.ones_like(mean))


def outputs_of_a_batch(self, inputs):
    return LinePosterior.outputs(self, inputs - inputs.mean(0))


def fit_many_with_one_stream(self, problems, rngs):
    return [self.one(problem, rngs[0]) for problem in problems]


def fit_many_in_single_precision(self, problems, rngs):
    results = Line.fit_many(self, problems, rngs)
    if len(results) > 1:
        results[1] = LinePosterior(results[1].slopes.float(), results[1].shift)
    return results


def fit_many_that_raises(self, problems, rngs):
    return [self.fit(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]


class Rounded(GaussianPredictive):
    """Is rounded by the store."""

    @classmethod
    def unpack(cls, arrays):
        return cls(**{name: tensor.half().to(tensor.dtype) for name, tensor in arrays.items()})


def predict_rounded(self, inputs, rng):
    mean = self.outputs(inputs)[None]
    return Rounded(mean, torch.ones_like(mean))


def log_probs_of_a_regression(self, inputs, rng):
    return self.outputs(inputs)


@dataclass(frozen=True)
class Softmax:
    """A classifier by sums of the inputs, whose log_probs are scaled by a factor."""

    factor: float
    diagnostics = {}  # noqa: RUF012

    def predict(self, inputs, rng):
        return CategoricalPredictive(self.exact(inputs).detach()[None])

    def log_probs(self, inputs, rng):
        return Scaled.apply(self.exact(inputs), self.factor)

    def exact(self, inputs):
        sums = inputs.flatten(1).sum(1, keepdim=True)
        return torch.cat([sums, -sums, 0 * sums], 1).log_softmax(1)


class Scaled(torch.autograd.Function):
    """The identity, whose gradient is scaled by a factor."""

    @staticmethod
    def forward(ctx, values, factor):
        ctx.factor = factor
        return values.clone()

    @staticmethod
    def backward(ctx, *gradients):
        return ctx.factor * gradients[0], None


def fit_softmax(factor):
    def fit(self, problem, rng):
        if not isinstance(problem.likelihood, Categorical):
            raise Unsupported("needed classes")
        return Softmax(factor)

    return fit


def fit_many_by_place(self, problems, rngs):
    """Equals separate fits only if a problem's place among three is that of its seed."""
    results = Line.fit_many(self, problems, rngs)
    return results if len(results) == 3 else [results[0], *reversed(results[1:])][::-1]


def fit_many_coupled_by_rows(self, problems, rngs):
    results = Line.fit_many(self, problems, rngs)
    if len(problems[0].train) == 31:
        results[1] = LinePosterior(results[1].slopes, results[0].shift)
    return results


def fit_many_with_shared_data(self, problems, rngs):
    shared = len({id(problem) for problem in problems}) < len(problems)
    return Line.fit_many(self, problems, rngs[:1] * len(rngs) if shared else rngs)


def predict_quantiles(self, inputs, rng):
    values = self.outputs(inputs)[..., None] + torch.tensor([-1.0, 0.0, 1.0], dtype=inputs.dtype)
    return QuantilePredictive(torch.tensor([0.1, 0.5, 0.9], dtype=inputs.dtype), values)


def predict_shuffled_quantiles(self, inputs, rng):
    quantiles = predict_quantiles(self, inputs, rng)
    shift = torch.randn(len(inputs), 1, 1, generator=rng, dtype=inputs.dtype)
    return QuantilePredictive(quantiles.levels, quantiles.values + shift)


def predict_nothing(self, inputs, rng):
    return None


def predict_one_row_less(self, inputs, rng):
    whole = predict_quantiles(self, inputs, rng)
    return QuantilePredictive(whole.levels, whole.values[1:])


def predict_classes(self, inputs, rng):
    return CategoricalPredictive(torch.zeros(1, len(inputs), 2).log_softmax(-1))


def predict_for_points(self, inputs, rng):
    """Predict a mean of the points, of which there may be none."""
    assert len(inputs), "no points"
    return LinePosterior.predict(self, inputs, rng)


def fit_with_a_spread(self, problem, rng):
    """Divide by the standard deviation of the targets, which may be 0."""
    posterior = Line.fit(self, problem, rng)
    return self.posterior(posterior.slopes, posterior.shift / problem.train.targets.std())


def fit_that_ends_in(converged):
    def fit(self, problem, rng):
        posterior = Line.fit(self, problem, rng)
        return LinePosterior(posterior.slopes, posterior.shift, {"converged": converged})

    return fit


def fit_that_exits(self, problem, rng):
    if len(problem.train) < 10:
        sys.exit(0)
    return Line.fit(self, problem, rng)


def fit_refusing(message):
    def fit(self, problem, rng):
        if len(problem.train) < 10:
            raise Unsupported(message)
        return Line.fit(self, problem, rng)

    return fit
