"""What every method keeps, be it one of ours or the toy that the README shows."""

import dataclasses
import importlib.util
import json
import pickle
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import (
    BatchedMethod,
    InferenceDiverged,
    Method,
    NotDifferentiable,
    PackageMissing,
    Posterior,
    Problem,
    Unsupported,
    differentiable,
)
from bnnbench.methods.ciber.from_draws import CiberOfHmc
from bnnbench.methods.ciber.method import CLEAN_SECOND, PAPER_LAST
from bnnbench.methods.dvi.method import Dvi
from bnnbench.methods.function_space.method import FunctionSpace, WeightSpace
from bnnbench.methods.function_space.models import Dropout, MeanField, Members
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.function_space.rank1 import Rank1
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.marginal import MarginalPosterior
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)
from bnnbench.methods.predictions.sets import IntervalPredictive, SetPredictive
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites.engine.declare import names
from bnnbench.suites.engine.declare.description import canonical_json, describe
from bnnbench.suites.engine.run.packing import pack, stored_form, unpack, vars_of
from bnnbench.suites.engine.run.soundness import check, check_fields
from tests import global_generators
from tests.methods.problems import classification, images, regression, stream, streams

PATHS = {**METHODS, "toy": "tests.contracts.toy_method:NearestNeighbours"}
VARIANTS: dict[str, Method] = {
    f"{type(method).__name__} of {type(method.model).__name__}": method
    for method in (
        *map(FunctionSpace, (Dropout(), Members(), MeanField(), Radial(), Rank1())),
        WeightSpace(Rank1()),
    )
} | {
    "Ciber of the second layer": CLEAN_SECOND,
    "Ciber of the paper": PAPER_LAST,
    "Ciber of HMC": CiberOfHmc(),
    "Dvi of variances alone": Dvi(heteroscedastic=False, covariance="diagonal"),
    "Laplace of the diagonal": Laplace(structure=Diagonal(), prediction="glm_mc"),
    "Laplace of the last layer": Laplace(structure=Full("last")),
    "Laplace of a subnetwork": Laplace(structure=Subnetwork(20), prior_precisions=(1.0,)),
    "MessagePassing with informed means": MessagePassing(prior=InformedPrior()),
    "MessagePassing with chosen variance": MessagePassing(predictive_variances=(0.3, 1.0)),
    "Tuned dropout with its own noise": Tuned(McDropout(), noise="own", halving=True),
    "Laplace by draws of weights": Laplace(prior_precisions=(1.0, 10.0), prediction="mc"),
}
"""Methods that a class has beside its default, and that share little code with that."""
PROBLEMS: dict[str, Callable[..., Problem]] = {
    "mlp regression": regression,
    "mlp classification": classification,
    "linear regression": partial(regression, noise_std=0.5, architecture=(Linear(1, bias=False),)),
    "cnn regression": partial(images, real=True),
    "cnn classification": images,
}
MLPS = ("mlp regression", "mlp classification")
COVERED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("exact_linear", "linear_from_draws"), ("linear regression",)),
    **dict.fromkeys(("pbp", "backprop", "graves_vi", "laplace_diagonal"), MLPS),
    **dict.fromkeys(
        ("dvi", "Dvi of variances alone", "orthogonal_gp", "deep_gp"),
        ("mlp regression", "linear regression"),
    ),
    "deep_kernel": ("mlp regression",),
    "gaussian_process": ("mlp regression", "linear regression"),
    **dict.fromkeys(("tempered", "label_smoothing"), ("mlp classification", "cnn classification")),
    **dict.fromkeys(
        ("neural_linear", "Ciber of the second layer"), ("mlp regression", "cnn regression")
    ),
    **dict.fromkeys(
        ("ciber_of_hmc", "Ciber of HMC"), ("mlp regression", "linear regression", "cnn regression")
    ),
    **dict.fromkeys(
        (
            *("function_space", "weight_space"),
            *(name for name in VARIANTS if name.startswith(("FunctionSpace", "WeightSpace"))),
        ),
        ("mlp classification", "cnn classification"),
    ),
}
"""Method → the problems that it covers; a method that is not named here covers all of them."""
WITHOUT_GRADIENT = {
    *("hmc", "hmc_hamiltorch", "pbp", "message_passing", "moment_approximation"),
    *(name for name in VARIANTS if name.startswith("MessagePassing")),
    "message_passing_crossed",
    *("untrained_network", "laplace_diagonal", "conformal", "toy"),
}
"""Methods whose posterior of a classifier has no gradient with respect to the inputs."""
PACKAGES = {"hmc_hamiltorch": "hamiltorch"}
"""Method → a package of its own; where that is missing, a test says that the method says so."""
MISSING = {name for name, package in PACKAGES.items() if not importlib.util.find_spec(package)}
NAMES = [name for name in [*PATHS, *VARIANTS] if name not in MISSING]
SMALL = {"evidence_updates": 3, "epochs": 2, "trials": 2, "batch_size": 8, "draws": 3, "size": 2}
SMALL |= {"chains": 3, "warmup": 24, "leapfrog_steps": 3, "iterations": (1, 2), "start": 0.0}
SMALL |= {"schedule": Coupled(4), "lengths": (1, 2), "level": 0.5}


def small(method: Any, settings: Mapping[str, Any] = SMALL) -> Any:
    """Return the method with settings that make it quick, also in the methods it contains."""
    changes = {
        field.name: settings[field.name] if named else small(value, settings)
        for field in dataclasses.fields(method)
        if (named := is_named(value := getattr(method, field.name), field.name, settings))
        or dataclasses.is_dataclass(value)
    }
    return dataclasses.replace(method, **changes)


def is_named(value: object, name: str, settings: Mapping[str, Any]) -> bool:
    """Return whether the settings have a value of this name and kind: some names have several."""
    kinds = (tuple, str, Coupled)
    return name in settings and all(
        isinstance(value, kind) == isinstance(settings[name], kind) for kind in kinds
    )


def covered(name: str) -> tuple[str, ...]:
    return COVERED.get(name, tuple(PROBLEMS))


def kind_of(name: str) -> type:
    return type(VARIANTS[name]) if name in VARIANTS else method_type(PATHS[name])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test the methods, and with them the problems, that it applies to."""
    if "method" not in metafunc.fixturenames:
        return
    names = NAMES
    if "batched" in metafunc.fixturenames:
        names = [name for name in names if hasattr(kind_of(name), "fit_many")]
    if "make" in metafunc.fixturenames:
        chosen = getattr(metafunc.function, "chosen", lambda name, problem: True)
        pairs = [
            (name, problem) for name in names for problem in covered(name) if chosen(name, problem)
        ]
        metafunc.parametrize(("method", "make"), pairs, indirect=True, scope="module")
    else:
        metafunc.parametrize("method", names, indirect=True, scope="module")


def of_pairs(choose: Callable[[str, str], bool]) -> Callable[[Any], Any]:
    """Return a decorator by which a test applies to some methods and problems that they cover."""

    def decorated(test: Any) -> Any:
        test.chosen = choose
        return test

    return decorated


@pytest.fixture(scope="module")
def method(request) -> Method:
    name = request.param
    return small(VARIANTS[name] if name in VARIANTS else kind_of(name)())


@pytest.fixture(scope="module")
def batched(method) -> BatchedMethod:
    assert isinstance(method, BatchedMethod)
    return method


@pytest.fixture(scope="module")
def make(request) -> Callable[..., Problem]:
    return PROBLEMS[request.param]


@pytest.fixture(scope="module")
def fitted(method, make) -> tuple[Problem, Posterior]:
    problem = make(0)
    return problem, method.fit(problem, stream(1))


@dataclasses.dataclass(frozen=True)
class Repetition:
    """A second fit and prediction, and what they changed."""

    posterior: Posterior
    generators_are_left: bool
    data_are_left: bool


@pytest.fixture(scope="module")
def repetition(method, fitted) -> Repetition:
    problem, _ = fitted
    inputs, targets = problem.train.inputs.clone(), problem.train.targets.clone()
    before = global_generators.states()
    posterior = method.fit(problem, stream(1))
    posterior.predict(problem.train.inputs, stream(2))
    generators_are_left = global_generators.states() == before
    equal = torch.equal(problem.train.inputs, inputs), torch.equal(problem.train.targets, targets)
    return Repetition(posterior, generators_are_left, all(equal))


@pytest.fixture(scope="module")
def alone(batched, make) -> Callable[[int], Posterior]:
    """The fits of problems by themselves: of the problem of a seed, by the stream of seed + 10."""
    return cache(lambda seed: batched.fit(make(seed), stream(10 + seed)))


@pytest.fixture(scope="module")
def problem(fitted) -> Problem:
    return fitted[0]


@pytest.fixture(scope="module")
def posterior(fitted) -> Posterior:
    return fitted[1]


def numbers(posterior: Posterior, inputs: Tensor) -> tuple[list[Tensor], dict[str, float]]:
    """Return all that a posterior says, by a stream of its own."""
    prediction = posterior.predict(inputs, stream(2))
    return list(vars_of(prediction).values()), dict(posterior.diagnostics)


def assert_identical(one: Any, other: Any, inputs: Tensor) -> None:
    (tensors, diagnostics), (others, other_diagnostics) = (
        numbers(one, inputs),
        numbers(other, inputs),
    )
    assert diagnostics == other_diagnostics
    for a, b in zip(tensors, others, strict=True):
        assert torch.equal(a, b)


def assert_close(one: Predictive, other: Predictive) -> None:
    for a, b in zip(vars_of(one).values(), vars_of(other).values(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def joined(one: Predictive, other: Predictive) -> Predictive:
    others = vars_of(other)
    return type(one).unpack(
        {
            name: tensor if axis is None else torch.cat([tensor, others[name]], dim=axis)
            for name, tensor, axis in by_point(one)
        }
    )


def by_point(prediction: Predictive) -> list[tuple[str, Tensor, int | None]]:
    """Return each tensor with its axis of points; None where there is no such axis."""
    axis = 0 if isinstance(prediction, IntervalPredictive | SetPredictive) else 1
    return [
        (name, tensor, axis if tensor.ndim > axis else None)
        for name, tensor in vars_of(prediction).items()
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name in COVERED])
def test_a_problem_that_a_method_does_not_cover_is_refused_with_a_cure(name):
    refusing = small(VARIANTS[name] if name in VARIANTS else kind_of(name)())
    for problem in PROBLEMS.keys() - covered(name):
        with pytest.raises(Unsupported, match="needed"):
            refusing.fit(PROBLEMS[problem](0), stream(1))


def test_the_table_of_what_is_covered_names_methods_and_their_problems():
    everything = {*PATHS, *VARIANTS}
    assert {*COVERED, *WITHOUT_GRADIENT, *PACKAGES} <= everything
    for problems in COVERED.values():
        assert problems
        assert set(problems) < set(PROBLEMS)


def test_a_method_without_its_package_names_the_command_that_installs_it():
    for name in MISSING:
        with pytest.raises(PackageMissing, match=rf"needed {PACKAGES[name]} .*pip install"):
            kind_of(name)().fit(regression(), stream(1))


def test_it_and_its_posterior_have_the_form_of_the_protocols(method, posterior):
    assert isinstance(method, Method)
    assert isinstance(posterior, Posterior)


def test_equal_streams_give_equal_predictions(problem, posterior, repetition):
    assert_identical(posterior, repetition.posterior, problem.train.inputs)


def test_predicting_again_with_an_equal_stream_gives_the_same(posterior, problem):
    assert_identical(posterior, posterior, problem.train.inputs)


def test_predicting_in_two_halves_changes_nothing_beyond_rounding(posterior, problem):
    inputs = problem.train.inputs
    whole = posterior.predict(inputs, stream(2))
    halves = [posterior.predict(part, stream(2)) for part in (inputs[:5], inputs[5:])]
    assert_close(whole, joined(*halves))


def test_permuting_points_permutes_predictions(posterior, problem):
    inputs = problem.train.inputs
    order = torch.randperm(len(inputs), generator=stream(3))
    straight = posterior.predict(inputs, stream(2))
    permuted = {
        name: tensor if axis is None else tensor.index_select(axis, order)
        for name, tensor, axis in by_point(straight)
    }
    assert_close(type(straight).unpack(permuted), posterior.predict(inputs[order], stream(2)))


def test_global_generators_are_left_as_they_were(repetition):
    assert repetition.generators_are_left


def test_training_data_are_left_as_they_were(repetition):
    assert repetition.data_are_left


def test_predictions_have_a_row_for_every_point_and_are_finite(posterior, problem):
    for count in (1, 5):
        prediction = posterior.predict(problem.train.inputs[:count], stream(2))
        assert len(prediction) == count
        categorical = isinstance(problem.likelihood, Categorical)
        width = problem.likelihood.classes if categorical else 1
        check_fields(prediction)
        check(prediction, count, width)
        for _, tensor, axis in by_point(prediction):
            if isinstance(prediction, CategoricalPredictive | GaussianPredictive):
                assert tensor.shape[1:] == (count, width)
            assert axis is None or tensor.shape[axis] == count
            assert tensor.isfinite().all()
            assert not tensor.requires_grad


def test_class_probabilities_sum_to_one_and_variances_are_positive(posterior, problem):
    prediction = posterior.predict(problem.train.inputs, stream(2))
    if isinstance(prediction, CategoricalPredictive):
        sums = prediction.log_probs.double().exp().sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-5)
    elif not isinstance(prediction, IntervalPredictive | SetPredictive):
        gaussian = isinstance(prediction, GaussianPredictive)
        variance = prediction.variances if gaussian else prediction.variance
        assert (variance > 0).all()


def is_differentiable(name: str, problem: str) -> bool:
    return name not in WITHOUT_GRADIENT and "classification" in problem


@of_pairs(lambda name, problem: not is_differentiable(name, problem))
def test_what_cannot_be_followed_back_to_the_inputs_says_so(request, posterior, problem):
    inputs = problem.train.inputs[:6].clone().requires_grad_()
    without = request.node.callspec.params["method"] in WITHOUT_GRADIENT
    reason = "has no log_probs" if without else "regression|has no log_probs"
    with pytest.raises(NotDifferentiable, match=reason):
        differentiable(posterior).log_probs(inputs, stream(2))


@of_pairs(is_differentiable)
def test_class_probabilities_can_be_followed_back_to_the_inputs(method, make):
    problem = make(0, dtype=torch.float64)
    posterior: Any = method.fit(problem, stream(1))
    inputs = problem.train.inputs[:6].clone().requires_grad_()
    found = posterior.log_probs(inputs, stream(2))
    prediction: Any = posterior.predict(inputs.detach(), stream(2))
    torch.testing.assert_close(found.detach(), prediction.mixture_log_probs, rtol=0, atol=1e-9)
    if not found.requires_grad:
        assert isinstance(posterior, MarginalPosterior)
        return
    slopes = torch.randn(found.shape, generator=stream(3), dtype=torch.float64)
    direction = torch.randn(inputs.shape, generator=stream(4), dtype=torch.float64)
    (gradient,) = torch.autograd.grad((slopes * found).sum(), inputs)
    step = 1e-6 * direction
    ahead, behind = (posterior.log_probs(inputs.detach() + s, stream(2)) for s in (step, -step))
    difference = (slopes * (ahead - behind)).sum() / 2e-6
    torch.testing.assert_close((gradient * direction).sum(), difference, rtol=1e-4, atol=1e-6)


def test_diagnostics_are_finite_numbers_by_name(posterior):
    for name, value in posterior.diagnostics.items():
        assert isinstance(name, str)
        assert isinstance(value, float)
        assert np.isfinite(value)


def test_the_store_gives_predictions_back_as_they_were(posterior, problem):
    prediction = stored_form(posterior.predict(problem.train.inputs, stream(2)))
    targets = problem.train.targets
    again, its_targets = unpack(pack({"clean": (prediction, targets)}))["clean"]
    assert torch.equal(its_targets, targets)
    assert type(again) is type(prediction)
    assert vars_of(again).keys() == vars_of(prediction).keys()
    for a, b in zip(vars_of(again).values(), vars_of(prediction).values(), strict=True):
        assert torch.equal(a, b)


def test_settings_are_plain_data_that_describe_the_method_wholly(method):
    description = describe(method)
    assert json.loads(canonical_json(description)) == description
    assert rebuilt(description) == method


def rebuilt(description: Any) -> Any:
    if isinstance(description, list):
        return tuple(map(rebuilt, description))
    if not isinstance(description, dict):
        return description
    fields = {name: rebuilt(value) for name, value in description.items() if name != "type"}
    return names.kind_of(description["type"])(**fields)


def test_a_method_compares_hashes_prints_and_travels_to_other_processes(method):
    twin = pickle.loads(pickle.dumps(method))
    assert twin == method
    assert hash(twin) == hash(method)
    assert eval(repr(method), {type(m).__name__: type(m) for m in nested(method)}) == method


def nested(method: Any) -> list[Any]:
    fields = [getattr(method, field.name) for field in dataclasses.fields(method)]
    values = [v for value in fields for v in (value if isinstance(value, tuple) else (value,))]
    return [
        method,
        *(v for value in values if dataclasses.is_dataclass(value) for v in nested(value)),
    ]


def test_fitting_side_by_side_equals_fitting_alone_bit_for_bit(batched, make, alone):
    problems = [make(seed) for seed in range(3)]
    together = batched.fit_many(problems, streams(10, 11, 12))
    for number, (problem, posterior) in enumerate(zip(problems, together, strict=True)):
        assert_identical(posterior, alone(number), problem.train.inputs)


def test_so_it_does_in_float64(batched, make):
    problems = [make(seed, dtype=torch.float64) for seed in range(2)]
    together = batched.fit_many(problems, streams(10, 11))
    for number, (problem, posterior) in enumerate(zip(problems, together, strict=True)):
        single = batched.fit(problem, stream(10 + number))
        assert_identical(posterior, single, problem.train.inputs)


@pytest.mark.parametrize("rows", [16, 17, 31])
@of_pairs(lambda name, problem: problem in MLPS)
def test_the_size_of_the_last_batch_does_not_couple_problems(batched, make, rows):
    problems = [make(seed, rows) for seed in range(2)]
    together = batched.fit_many(problems, streams(10, 11))
    single = batched.fit(problems[1], stream(11))
    assert_identical(together[1], single, problems[1].train.inputs)


def test_the_company_of_a_problem_does_not_matter(batched, make, alone):
    """Each of three that are fitted together equals one that is alone, too: see above."""
    a, c = make(0), make(2)
    together = batched.fit_many([c, a], streams(12, 10))
    assert_identical(together[0], alone(2), c.train.inputs)
    assert_identical(together[1], alone(0), a.train.inputs)


@of_pairs(lambda name, problem: problem == covered(name)[0])
def test_seeds_of_one_fold_may_share_its_data(batched, make, alone):
    shared = make(0)
    together = batched.fit_many([shared, shared], streams(9, 10))
    assert_identical(together[1], alone(0), shared.train.inputs)


def test_a_problem_that_fails_fails_alone(batched, make, alone):
    problems = [make(seed) for seed in range(3)]
    sick = problems[1].train
    infinite = Split(sick.inputs.clone().fill_(torch.inf), sick.targets)
    problems[1] = dataclasses.replace(problems[1], train=infinite)
    together = batched.fit_many(problems, streams(10, 11, 12))
    if not isinstance(together[1], InferenceDiverged):
        tensors, _ = numbers(together[1], problems[0].train.inputs)
        assert all(tensor.isfinite().all() for tensor in tensors)
    for number in (0, 2):
        assert_identical(together[number], alone(number), problems[number].train.inputs)


@pytest.mark.gpu
def test_it_stays_on_the_device_of_its_data(method, problem):
    device = torch.device("cuda")
    here = dataclasses.replace(problem, train=problem.train.to(device))
    rng = torch.Generator(device).manual_seed(1)
    prediction = method.fit(here, rng).predict(here.train.inputs, rng)
    assert {t.device.type for t in vars_of(prediction).values()} == {"cuda"}
