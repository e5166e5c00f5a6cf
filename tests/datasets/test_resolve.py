"""The choice of a source, by available files and permissions."""

from dataclasses import dataclass, field

import pytest

from bnnbench.datasets import SOURCES, source
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.svhn import PATH, Svhn, SvhnFirst1083
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.resolve import resolve
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsCifar10, PhotographCrops


@dataclass(frozen=True)
class Remote:
    """A source that can, or cannot, be downloaded."""

    reachable: bool
    have: list = field(default_factory=list, hash=False)

    name, folds, origin, licence, bytes = "remote", 1, "original", "none", 1

    def load(self, fold):
        raise NotImplementedError

    def missing(self):
        return () if self.have else ("remote.bin",)

    def fetch(self):
        if not self.reachable:
            raise DataUnavailable("remote: no answer")
        self.have.append("remote.bin")

    def fallbacks(self):
        return (DiabetesAsUci(),)


@pytest.fixture(autouse=True)
def _empty(folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")


@pytest.mark.parametrize("policy", ["auto", "original"])
def test_what_is_there_is_used(policy):
    for offline in (True, False):
        remote = Remote(reachable=False, have=["remote.bin"])
        assert resolve(remote, policy, offline) is remote


@pytest.mark.parametrize("policy", ["auto", "original"])
def test_what_is_missing_is_fetched(policy):
    remote = Remote(reachable=True)
    assert resolve(remote, policy) is remote
    assert remote.missing() == ()


def test_offline_nothing_is_fetched_and_the_stand_in_is_used():
    remote = Remote(reachable=True)
    assert resolve(remote, "auto", offline=True) == DiabetesAsUci()
    assert remote.have == []


def test_auto_takes_the_stand_in_where_nothing_can_be_fetched():
    assert resolve(Remote(reachable=False)) == DiabetesAsUci()
    assert resolve(Uci("yacht")) == DiabetesAsUci()
    assert resolve(Cifar10()) == DigitsAsCifar10()


@pytest.mark.parametrize("offline", [True, False])
def test_original_refuses_stand_ins_and_says_how_to_get_the_files(offline, folder):
    with pytest.raises(DataUnavailable) as refusal:
        resolve(Cifar10(), "original", offline)
    for hint in ("bnnbench data fetch cifar10", str(folder), "--data-dir", "--data auto"):
        assert hint in str(refusal.value)


def test_original_refuses_a_stand_in_that_a_suite_names():
    with pytest.raises(DataUnavailable, match="stand-in"):
        resolve(DiabetesAsUci(), "original")


def test_stand_in_takes_the_stand_in_even_where_the_files_are():
    assert resolve(Remote(reachable=True, have=["x"]), "stand-in") == DiabetesAsUci()
    assert resolve(Svhn(), "stand-in", part="test") == PhotographCrops()
    assert resolve(DiabetesAsUci(), "stand-in") == DiabetesAsUci()


def test_svhn_to_look_at_is_first_its_known_subset_then_photographs(folder):
    assert resolve(Svhn(), part="test") == PhotographCrops()
    folder.mkdir()
    (folder / PATH).write_bytes(b"there")
    assert resolve(Svhn(), part="test") == SvhnFirst1083()
    assert resolve(Svhn()) == DigitsAsCifar10()


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_ends_in_something_that_needs_nothing(name):
    original = source(name)
    last = (original, *original.fallbacks())[-1]
    assert last.missing() == ()
    if hasattr(original, "images"):
        last = (original, *original.fallbacks("test"))[-1]
        assert last.missing("test") == ()
        assert len(last.images("test")[0]) > 0
