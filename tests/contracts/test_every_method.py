"""The contract of every method, including the toy method in the README."""

import dataclasses
import importlib.util
import io
import pickle
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import torch

from bnnbench.engine.run.packing import vars_of
from bnnbench.methods import METHODS, card, environments, glossary, method_type
from bnnbench.methods.base import (
    Differentiable,
    Method,
    NotDifferentiable,
    PackageMissing,
    Unsupported,
    differentiable,
)
from bnnbench.methods.card import Card, card_of
from bnnbench.methods.ciber.from_draws import CiberOfHmc
from bnnbench.methods.ciber.method import CLEAN_SECOND, PAPER_LAST
from bnnbench.methods.dvi.method import Dvi
from bnnbench.methods.function_space.method import FunctionSpace, WeightSpace
from bnnbench.methods.function_space.models import Dropout, MeanField, Members
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.function_space.rank1 import Rank1
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites.check.contract import OF_FITS, OF_MANY, OF_METHODS, Check
from bnnbench.suites.check.fits import Fits, require, require_identical
from bnnbench.suites.check.problems import PROBLEMS, problems_of, regression, stream
from bnnbench.suites.check.small import small
from bnnbench.suites.check.soundness import require_sound

PATHS = {**METHODS, "toy": "tests.contracts.toy_method:NearestNeighbours"}
VARIANTS: Mapping[str, Method] = {
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
    "Tuned dropout with its own noise": Tuned(McDropout(where="every"), noise="own", halving=True),
    "Laplace by draws of weights": Laplace(prior_precisions=(1.0, 10.0), prediction="mc"),
}
"""Settings of a class that share little code with its default."""
OF_VARIANTS: dict[str, tuple[str, ...]] = {
    "Dvi of variances alone": card_of("dvi").problems,
    "Ciber of the second layer": card_of("neural_linear").problems,
    "Ciber of HMC": card_of("ciber_of_hmc").problems,
    **{
        name: card_of("function_space").problems
        for name in VARIANTS
        if name.startswith(("FunctionSpace", "WeightSpace"))
    },
}
"""Variant → the kinds of problems that it covers; a variant that is absent here covers all."""
WITHOUT_GRADIENT = {
    *(name for name, path in METHODS.items() if ".libraries." in path),
    *(name for name in METHODS if not card_of(name).gradients),
    *(name for name in VARIANTS if name.startswith("MessagePassing")),
    "toy",
}
"""Methods whose posterior of a classifier has no gradient with respect to the inputs."""
PACKAGES = {
    name: method_type(path).library
    for name, path in METHODS.items()
    if hasattr(method_type(path), "library")
} | {"hmc_hamiltorch": "hamiltorch"}
"""Method → its optional package, which its error names if the package is missing."""


def is_had(package: str) -> bool:
    """Return whether a package is installed, or has an environment (`BNNBENCH_ENVS`)."""
    if package in environments.LIBRARIES:
        return environments.interpreter_of(package) is not None
    return importlib.util.find_spec(package) is not None


MISSING = {
    name
    for name, package in PACKAGES.items()
    if not is_had(package) or getattr(method_type(METHODS[name])(), "lacks", "")
}
"""Methods that lack their package, or a file that only a user has."""
NAMES = [name for name in [*PATHS, *VARIANTS] if name not in MISSING]


def covered(name: str) -> tuple[str, ...]:
    return OF_VARIANTS.get(name) or card_of(name).problems


def kind_of(name: str) -> type:
    return type(VARIANTS[name]) if name in VARIANTS else method_type(PATHS[name])


def small_method(name: str) -> Any:
    return small(VARIANTS[name] if name in VARIANTS else kind_of(name)())


@cache
def fits_of(name: str, kind: str) -> Fits:
    method = small_method(name)
    return Fits(method, problems_of(method)[kind])


def travels_to_other_processes(fits: Fits) -> None:
    """A pickled posterior predicts the same."""
    copy = pickle.loads(pickle.dumps(fits.posterior))
    require_identical(fits.posterior, copy, fits.inputs)


def takes_no_more_memory_together(fits: Fits) -> None:
    """Posteriors of problems fitted together hold no more memory than those of single fits."""
    alone = [fits.alone(seed) for seed in range(3)]
    require(held_bytes(fits.together) <= held_bytes(alone), "copies of a stack are kept")


def held_bytes(posteriors: list[Any]) -> int:
    """Return the bytes of all memory that tensors of posteriors keep from being freed."""
    storages: dict[int, int] = {}

    class Tensors(pickle.Pickler):
        def persistent_id(self, value: object) -> str | None:
            if not isinstance(value, torch.Tensor):
                return None
            storages[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
            return "tensor"

    Tensors(io.BytesIO()).dump(posteriors)
    return sum(storages.values())


ALONE = (*OF_FITS, Check(travels_to_other_processes))
CHECKS = (*ALONE, *OF_MANY, Check(takes_no_more_memory_together))


RELATED = {
    *("ciber_by_grid", "ciber_of_hmc", "hmc_by_layer", "hmc_heteroscedastic", "fastfood"),
    *("message_passing_crossed", "laplace_diagonal"),
}
"""Slow methods that share most of their code with one of the default run."""


def is_long(name: str, kind: str) -> bool:
    """Return whether a case belongs to the long run: variants, and all but two kinds of each."""
    by_target = [k for k in covered(name) if k.split()[-1] == kind.split()[-1]]
    return name in VARIANTS or name in RELATED or kind != by_target[0]


@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_the_contract_of_a_method(name, subtests):
    for check in OF_METHODS:
        with subtests.test(check.run.__name__):
            check.run(small_method(name))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(name, kind, marks=[pytest.mark.long] if is_long(name, kind) else [])
        for name in NAMES
        for kind in covered(name)
    ],
)
def test_it_keeps_the_contract_of_a_fit(name, kind, subtests):
    checks = CHECKS if hasattr(kind_of(name), "fit_many") else ALONE
    for check in checks:
        if check.applies(kind, covered(name)):
            with subtests.test(check.run.__name__):
                check.run(fits_of(name, kind))


@pytest.mark.parametrize("name", [name for name in NAMES if set(covered(name)) < set(PROBLEMS)])
def test_a_problem_that_a_method_does_not_cover_is_refused_with_a_cure(name):
    for problem in PROBLEMS.keys() - covered(name):
        with pytest.raises(Unsupported, match="needed"):
            small_method(name).fit(PROBLEMS[problem](0), stream(1))


@pytest.mark.parametrize("name", METHODS)
def test_a_class_has_the_card_that_is_read_without_importing_it(name):
    stated = vars(method_type(METHODS[name]))["card"]
    assert stated == card_of(name)
    assert stated.family in card.FAMILIES
    assert stated.problems
    assert set(stated.problems) <= set(PROBLEMS)
    assert not (stated.around and stated.family != "other")


def test_a_method_outside_this_project_needs_no_card():
    assert card_of("toy") == card_of("mine.py:Mine") == Card()


def test_tables_of_variants_and_problems_are_complete():
    assert OF_VARIANTS.keys() <= VARIANTS.keys()
    assert tuple(PROBLEMS) == tuple(card.PROBLEMS)
    assert all(problems and set(problems) < set(PROBLEMS) for problems in OF_VARIANTS.values())


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_says_what_it_means(name):
    kind = method_type(METHODS[name])
    silent = [f.name for f in dataclasses.fields(kind) if not glossary.meaning(kind, f.name)]
    assert silent == []


def test_the_glossary_names_settings_that_exist():
    kinds = [method_type(path) for path in METHODS.values()]
    assert set(glossary.SHARED) <= {f.name for kind in kinds for f in dataclasses.fields(kind)}


def test_a_method_without_its_package_names_the_command_that_installs_it():
    for name in MISSING:
        with pytest.raises(PackageMissing, match=rf"needed {PACKAGES[name]} .*pip install"):
            kind_of(name)().fit(regression(), stream(1))


@pytest.mark.parametrize("name", NAMES)
def test_it_has_the_form_of_a_method(name):
    assert isinstance(small_method(name), Method)


CLASSIFIERS = [(n, k) for n in NAMES for k in covered(n) if "classification" in k]


@pytest.mark.parametrize(("name", "kind"), CLASSIFIERS)
def test_what_cannot_be_followed_back_to_the_inputs_says_so(name, kind):
    posterior = fits_of(name, kind).posterior
    assert isinstance(posterior, Differentiable) == (name not in WITHOUT_GRADIENT)
    if name in WITHOUT_GRADIENT:
        with pytest.raises(NotDifferentiable, match="has no log_probs"):
            differentiable(posterior)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "kind"), [(n, k) for n in NAMES for k in covered(n)])
def test_it_stays_on_the_device_of_its_data(name, kind):
    device = torch.device("cuda")
    fits = fits_of(name, kind)
    here = dataclasses.replace(fits.problem, train=fits.problem.train.to(device))
    rng = torch.Generator(device).manual_seed(1)
    prediction = fits.method.fit(here, rng).predict(here.train.inputs, rng)
    assert {t.device.type for t in vars_of(prediction).values()} == {"cuda"}


@pytest.mark.filterwarnings("ignore:var")  # torch's, of no numbers
@pytest.mark.parametrize("name", NAMES)
def test_no_rows_have_no_predictions(name):
    fits = fits_of(name, covered(name)[0])
    prediction = fits.posterior.predict(fits.inputs[:0], stream(2))
    require_sound(prediction, fits.problem, 0)
