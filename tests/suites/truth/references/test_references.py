"""The references of this project, verified from their files, without network and data."""

import pytest

from bnnbench.datasets.cuts.known_noise import KnownNoise
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.references.reading import home, names, read, rejected
from bnnbench.suites.truth import SUITES
from bnnbench.suites.truth.references.models import RECIPES
from bnnbench.suites.truth.references.verifying import verified

NAMES = names(home())


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_is_sound(name):
    reference, warnings = verified(home() / name)
    assert reference.certificate["model_hash"] == RECIPES[name].model.hash
    assert reference.certificate["name"] == name
    assert all("data absent" in warning for warning in warnings)


def unavailable(source: Uci, fold: int) -> None:
    raise AssertionError(f"{source} is not on this machine")


def test_a_reference_is_verified_where_there_are_no_data(monkeypatch):
    monkeypatch.setattr(Uci, "missing", lambda self: ("data.txt",))
    monkeypatch.setattr(Uci, "load", unavailable)
    _, warnings = verified(home() / NAMES[0])
    assert warnings == [f"{NAMES[0]}: data absent, not compared"]


def test_draws_of_different_models_differ():
    identities = [read(home() / name).identity for name in NAMES]
    assert len(set(identities)) == len(NAMES)


def test_files_are_small():
    sizes = [path.stat().st_size for path in home().rglob("*") if path.is_file()]
    assert max(sizes) < 400_000
    assert sum(sizes) < 5_000_000


def test_what_failed_is_kept_out_and_says_why():
    failed = rejected(home())
    assert not failed.keys() & set(NAMES)
    assert all(failed.values())


@pytest.mark.parametrize("profile", ["quick", "full", "tanh"])
def test_a_suite_has_certified_cases_alone(profile):
    for case in SUITES[profile].cases:
        assert case.name in NAMES
        model = RECIPES[case.name].model
        assert (case.network, case.prior) == (model.architecture, model.prior)
        assert case.source == KnownNoise(model.source, model.noise.std)
