"""Checks of one fit and its predictions."""

import math

import torch

from bnnbench.datasets.base import Categorical
from bnnbench.engine.run.guards.consistency import check_consistent
from bnnbench.engine.run.guards.real_answers import Inconsistent
from bnnbench.engine.run.packing import pack, stored_form, unpack, vars_of
from bnnbench.methods.base import (
    Differentiable,
    NotDifferentiable,
    Posterior,
    differentiable,
)
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
)
from bnnbench.suites.check.fits import (
    Broken,
    Fits,
    by_point,
    is_method,
    require,
    require_close,
    require_identical,
    same,
)
from bnnbench.suites.check.problems import stream
from bnnbench.suites.check.soundness import require_sound

RNG = "draw all random numbers with the generator `rng` passed to fit and predict"


def has_the_form_of_the_protocols(fits: Fits) -> None:
    """The method and its posterior implement their protocols."""
    require(is_method(fits.method), "it has no fit(problem, rng)")
    lacking = [n for n in ("diagnostics", "predict") if not hasattr(fits.posterior, n)]
    require(not lacking, f"its posterior has no {' and no '.join(lacking)}")
    require(isinstance(fits.posterior, Posterior), "its posterior does not implement Posterior")


def repeats_by_an_equal_stream(fits: Fits) -> None:
    """Equal streams give equal predictions."""
    again = fits.repetition.posterior
    message = f"fits with equal streams must be equal to the last bit; {RNG}"
    require_identical(fits.posterior, again, fits.inputs, message)


def predicts_again_the_same(fits: Fits) -> None:
    """Repeating a prediction with an equal stream gives an equal result."""
    message = f"predictions with equal streams must be equal to the last bit; {RNG}"
    require_identical(fits.posterior, fits.posterior, fits.inputs, message)


def predicts_in_halves(fits: Fits) -> None:
    """Predicting in two halves changes nothing beyond rounding."""
    whole = by_point(fits.posterior.predict(fits.inputs, stream(2)))
    parts = (fits.inputs[:5], fits.inputs[5:])
    first, second = (by_point(fits.posterior.predict(part, stream(2))) for part in parts)
    joined = {name: torch.cat([first[name], second[name]]) for name in whole}
    message = (
        "a point's prediction depends on the other points in the batch: draw the same number of "
        "random numbers for any points, and use no batch statistics"
    )
    require_close(whole, joined, message)


def permutes_with_the_points(fits: Fits) -> None:
    """Permuting points permutes predictions."""
    order = torch.randperm(len(fits.inputs), generator=stream(3))
    straight = by_point(fits.posterior.predict(fits.inputs, stream(2)))
    expected = {name: array[order] for name, array in straight.items()}
    shuffled = by_point(fits.posterior.predict(fits.inputs[order], stream(2)))
    message = "a point's prediction depends on its position: a draw is one function for all points"
    require_close(expected, shuffled, message)


def leaves_global_generators(fits: Fits) -> None:
    """Global generators are unchanged."""
    moved = " and of ".join(fits.repetition.moved_generators)
    require(not moved, f"the global generator of {moved} was advanced; {RNG}")


def leaves_training_data(fits: Fits) -> None:
    """Training data are unchanged."""
    changed = " and ".join(fits.repetition.changed_data)
    require(not changed, f"the training {changed} were changed in place: work on a copy")


def predicts_every_point(fits: Fits) -> None:
    """Predictions have a row for every point, are of the target's kind and are finite."""
    for count in (1, 5):
        prediction = fits.posterior.predict(fits.inputs[:count], stream(2))
        require_sound(prediction, fits.problem, count)


def predicts_distributions(fits: Fits) -> None:
    """Class probabilities sum to one, and variances are positive."""
    prediction = fits.posterior.predict(fits.inputs, stream(2))
    if isinstance(prediction, CategoricalPredictive):
        error = (prediction.log_probs.double().exp().sum(-1) - 1).abs().max()
        message = f"probabilities sum to 1 with an error of {error:.2g}: use log_softmax of logits"
        require(error <= 1e-5, message)
    else:
        gaussian = isinstance(prediction, GaussianPredictive)
        variance = prediction.variances if gaussian else getattr(prediction, "variance", None)
        sound = variance is None or (variance > 0).all()
        require(sound, "a variance is zero or negative")


def gives_answers_of_one_distribution(fits: Fits) -> None:
    """Density, cdf, moments and draws of predictions are those of one distribution."""
    prediction, targets = fits.posterior.predict(fits.inputs, stream(2)), fits.problem.train.targets
    of_classes = getattr(prediction, "of_classes", None)
    other_kind = of_classes is not None and bool(of_classes) is targets.is_floating_point()
    if other_kind or any(array.isnan().any() for array in vars_of(prediction).values()):
        return  # another rule is violated
    forms = [(prediction, targets)]
    if targets.is_floating_point() and hasattr(prediction, "rescaled"):
        forms.append((prediction.rescaled(3.0, 2.0), 3 + 2 * targets.double()))
    try:
        for form in forms:
            check_consistent(*form)
    except Inconsistent as error:
        raise Broken(str(error)) from error


def has_finite_diagnostics(fits: Fits) -> None:
    """Diagnostics map names to finite numbers."""
    for name, value in fits.posterior.diagnostics.items():
        require(isinstance(name, str), f"the name of a diagnostic must be a string; got {name!r}")
        number = isinstance(value, float) and math.isfinite(value)
        require(number, f"the diagnostic {name} is {value!r}: return a finite float")


def survives_the_store(fits: Fits) -> None:
    """Predictions survive storing and reading unchanged."""
    prediction = stored_form(fits.posterior.predict(fits.inputs, stream(2)))
    targets = fits.problem.train.targets
    again, targets_again = unpack(pack({"clean": (prediction, targets)}))["clean"]
    require(torch.equal(targets_again, targets), "targets changed in the store")
    require(type(again) is type(prediction), f"it came back as a {type(again).__name__}")
    before, after = vars_of(prediction), vars_of(again)
    require(before.keys() == after.keys(), "the prediction's arrays came back under other names")
    equal = all(same(after[name], before[name]) for name in before)
    require(equal, "the prediction's arrays came back changed: check pack and unpack of its class")


def says_that_it_has_no_gradient(fits: Fits) -> None:
    """A prediction without gradient raises NotDifferentiable."""
    if not isinstance(fits.posterior, Differentiable):
        return  # then the engine raises NotDifferentiable
    if isinstance(fits.problem.likelihood, Categorical):
        return  # covered by the next check
    inputs = fits.inputs[:6].clone().requires_grad_()
    try:
        differentiable(fits.posterior).log_probs(inputs, stream(2))
    except NotDifferentiable:
        return
    raise Broken("log_probs of a regression must raise NotDifferentiable (require_classifier)")


def has_the_gradient_of_its_probabilities(fits: Fits) -> None:
    """Class probabilities have correct gradients with respect to inputs, if log_probs exists."""
    if not (
        isinstance(fits.posterior, Differentiable)
        and isinstance(fits.problem.likelihood, Categorical)
    ):
        return
    problem = fits.make(0, dtype=torch.float64)
    posterior = fits.method.fit(problem, stream(1))
    inputs = problem.train.inputs[:6].clone().requires_grad_()
    log_probs = posterior.log_probs(inputs, stream(2))
    expected = posterior.predict(inputs.detach(), stream(2)).mixture_log_probs
    near = torch.allclose(log_probs.detach(), expected, rtol=0, atol=1e-9)
    require(near, "log_probs differ from predict's with an equal stream")
    if not log_probs.requires_grad:
        ignores = posterior.diagnostics.get("ignores_inputs") == 1
        require(ignores, "log_probs have no gradient: compute them outside torch.no_grad()")
        return
    slopes = torch.randn(log_probs.shape, generator=stream(3), dtype=torch.float64)
    direction = torch.randn(inputs.shape, generator=stream(4), dtype=torch.float64)
    (gradient,) = torch.autograd.grad((slopes * log_probs).sum(), inputs)
    step = 1e-6 * direction
    ahead, behind = (posterior.log_probs(inputs.detach() + s, stream(2)) for s in (step, -step))
    difference = (slopes * (ahead - behind)).sum() / 2e-6
    slope = (gradient * direction).sum()
    message = f"the gradient of log_probs is {slope:.6g}, its finite difference {difference:.6g}"
    require(torch.allclose(slope, difference, rtol=1e-4, atol=1e-6), message)
