"""`bnnbench check` finds each way to break the contract, and nothing else."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.suites.check import __main__ as command
from bnnbench.suites.check.contract import OF_FITS, OF_MANY, OF_METHODS
from bnnbench.suites.check.predictions import first_fault
from bnnbench.suites.check.results import ANY, FITS, checked
from tests.warm import python

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class LinePosterior:
    """A least-squares line, whose intercept every draw shifts."""

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
    """Comes back from the store rounded."""

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
    """A classifier by the sums of inputs, whose log_probs are scaled by a factor."""

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
    """Fit as if alone only where a problem has the place of its seed among three."""
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


def titles(*names: str) -> set[str]:
    return {c.title for c in (*OF_METHODS, *OF_FITS, *OF_MANY) if c.run.__name__ in names}


def failed(method: Any) -> set[str]:
    return {result.title for result in checked(method).failed}


def test_a_sound_method_keeps_the_contract():
    results = checked(Line())
    assert results.failed == []
    assert results.taken == ("mlp regression", "linear regression", "cnn regression")
    assert set(results.refused.values()) == {"needed a regression; got classes"}


def predict_quantiles(self, inputs, rng):
    values = self.outputs(inputs)[..., None] + torch.tensor([-1.0, 0.0, 1.0], dtype=inputs.dtype)
    return QuantilePredictive(torch.tensor([0.1, 0.5, 0.9], dtype=inputs.dtype), values)


def predict_shuffled_quantiles(self, inputs, rng):
    quantiles = predict_quantiles(self, inputs, rng)
    shift = torch.randn(len(inputs), 1, 1, generator=rng, dtype=inputs.dtype)
    return QuantilePredictive(quantiles.levels, quantiles.values + shift)


def test_predictions_of_any_shape_are_compared_by_their_points():
    on_the_spot = titles("has_plain_settings", "travels")
    assert failed(predicting(predict=predict_quantiles)) == on_the_spot
    found = failed(predicting(predict=predict_shuffled_quantiles))
    assert titles("permutes_with_the_points", "predicts_in_halves") <= found


@pytest.mark.parametrize(
    ("method", "names"),
    [
        (broken(fit=fit_moving_numpy), ["leaves_global_generators"]),
        (
            broken(fit=fit_by_the_global_generator),
            ["leaves_global_generators", "repeats_by_an_equal_stream"],
        ),
        (broken(fit=fit_that_scales_its_data), ["leaves_training_data"]),
        (broken(fit=fit_with_a_whole_diagnostic), ["has_finite_diagnostics"]),
        (predicting(predict=predict_anything), ["predicts_again_the_same"]),
        (predicting(predict=predict_with_an_own_shift), ["permutes_with_the_points"]),
        (predicting(predict=predict_nan), ["predicts_every_point"]),
        (predicting(predict=predict_one_point), ["predicts_every_point"]),
        (predicting(outputs=outputs_of_a_batch), ["predicts_in_halves"]),
        (
            predicting(variances=lambda self, mean: torch.zeros_like(mean)),
            ["predicts_distributions"],
        ),
        (broken(fit_many=fit_many_with_one_stream), ["equals_fits_alone", "fails_alone"]),
        (broken(fit_many=fit_many_in_single_precision), ["equals_fits_alone_in_float64"]),
        (broken(fit_many=fit_many_that_raises), ["fails_alone"]),
        (broken(fit_many=fit_many_coupled_by_rows), ["is_not_coupled_by_the_last_batch"]),
        (broken(fit_many=fit_many_by_place), ["does_not_depend_on_company"]),
        (broken(fit_many=fit_many_with_shared_data), ["shares_data_between_seeds"]),
        (broken(fit=fit_without_diagnostics), ["has_the_form_of_the_protocols"]),
        (broken(__repr__=lambda self: "Line(scale=2.0)"), ["travels"]),
        (predicting(predict=predict_rounded), ["survives_the_store"]),
        (predicting(log_probs=log_probs_of_a_regression), ["says_that_it_has_no_gradient"]),
        (broken(fit=fit_softmax(1.1)), ["has_the_gradient_of_its_probabilities"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_each_way_to_break_it_is_found(method, names):
    assert titles(*names) <= failed(method)


@pytest.mark.parametrize(
    ("method", "names"),
    [
        (broken(fit=fit_moving_numpy), ["leaves_global_generators"]),
        (broken(fit=fit_with_a_whole_diagnostic), ["has_finite_diagnostics"]),
        (broken(fit_many=fit_many_that_raises), ["fails_alone"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_one_fault_fails_one_check(method, names):
    found = failed(method) - titles("has_plain_settings", "travels")  # it is made on the spot
    assert found == titles(*names)


def test_a_class_that_can_be_changed_is_found():
    @dataclass
    class Loose:
        scale: float = 0.1
        fit = Line.fit
        posterior = Line.posterior

    assert titles("has_plain_settings", "travels") <= failed(Loose())


def test_a_bug_is_told_from_a_problem_that_is_not_taken():
    def fit(self, problem, rng):
        return problem.likelihood.classes

    results = checked(broken(fit=fit))
    (first, *_) = results.failed
    assert first.title == FITS
    assert "AttributeError" in first.failures["mlp regression"]
    assert "let fit raise Unsupported" in first.failures["mlp regression"]


def test_an_exact_gradient_passes():
    title = titles("has_the_gradient_of_its_probabilities")
    assert not title & failed(broken(fit=fit_softmax(1.0)))


def test_a_method_that_refuses_everything_does_not_keep_it():
    def fit(self, problem, rng):
        raise Unsupported("needed a miracle")

    (only,) = [r for r in checked(broken(fit=fit)).failed if r.title == ANY]
    assert "needed a miracle" in only.failures[""]


def test_a_classifier_of_logits_is_found():
    @dataclass(frozen=True)
    class Logits:
        diagnostics = {}  # noqa: RUF012

        def predict(self, inputs, rng):
            return CategoricalPredictive(torch.zeros(1, len(inputs), 3))

    def fit(self, problem, rng):
        return Logits()

    results = checked(broken(fit=fit))
    (result,) = [r for r in results.failed if r.title in titles("predicts_distributions")]
    assert "give log_softmax of logits" in result.failures["mlp classification"]


def test_nan_is_not_taken_for_chance_or_for_a_fault_of_the_store():
    found = failed(predicting(predict=predict_nan))
    assert found == titles("predicts_every_point", "has_plain_settings", "travels")
    (reason,) = {
        reason
        for result in checked(predicting(predict=predict_nan)).failed
        if result.title in titles("predicts_every_point")
        for reason in result.failures.values()
    }
    assert reason == "predicts NaN for 1 point (GaussianPredictive.means)"


def predict_nothing(self, inputs, rng):
    return None


def predict_one_row_less(self, inputs, rng):
    whole = predict_quantiles(self, inputs, rng)
    return QuantilePredictive(whole.levels, whole.values[1:])


@pytest.mark.parametrize(
    ("method", "kinds", "fault"),
    [
        (Line(), ["mlp regression"], ""),
        (Line(), ["mlp classification", "mlp regression"], ""),
        (Line(), ["mlp classification"], "needed a regression; got classes"),
        (predicting(predict=predict_nan), ["mlp regression"], "predicts NaN for 1 point"),
        (predicting(predict=predict_nothing), ["mlp regression"], "returns a NoneType: return a"),
        (predicting(predict=predict_one_row_less), ["mlp regression"], "0 predictions for 1 point"),
        (broken(fit=lambda *_: None), ["mlp regression"], "no diagnostics and no predict"),
        (broken(fit=lambda *_: 1 / 0), ["mlp regression"], "ZeroDivisionError: division by zero"),
    ],
    ids=range(8),
)
def test_what_keeps_predictions_from_being_scored_is_named(method, kinds, fault):
    found = first_fault(method, kinds)
    assert fault in found
    assert bool(found) == bool(fault)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (
            ["tests.suites.check.test_check:Line(scale=0.5)"],
            0,
            "The contract is kept: 22 checks passed",
        ),
        (["tests.suites.fakes:Blank"], 3, "predict"),
        (["tests.suites.fakes:Line"], 2, "has no fit"),
        (["admw"], 2, "did you mean 'adamw'?"),
        (["adamw(epoch=3)"], 2, "did you mean 'epochs'?"),
        (["adamw("], 2, "is missing at the end"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_command_prints_a_page_and_exits_by_what_it_found(capsys, arguments, code, text):
    assert command.main(arguments) == code
    output = capsys.readouterr()
    assert text in output.out + output.err
    assert ("FAILED" in output.out) == (code == 3)


def test_epochs_are_few_unless_they_are_to_stay(capsys):
    command.main(["tests.suites.fakes:Slow(seconds=0.001)"])
    assert "Slow (seconds=0.001; epochs=2)" in capsys.readouterr().out
    command.main(["tests.suites.fakes:Slow(seconds=0.001)", "--as-given"])
    assert "Slow (seconds=0.001)\n" in capsys.readouterr().out


def test_the_method_of_the_readme_keeps_the_contract(tmp_path):
    code, *_ = (ROOT / "docs" / "adding_a_method.md").read_text().split("```python\n")[1:]
    (tmp_path / "nearest.py").write_text(code.partition("```")[0])
    done = subprocess.run(
        python("-m", "bnnbench", "check", "nearest.py:NearestNeighbours"),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "takes    classification by a perceptron" in done.stdout
    assert "takes    regression by a perceptron" in done.stdout
