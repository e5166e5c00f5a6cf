"""Names and groups of conditions on pages, and their form in records."""

import json

import pytest

from bnnbench.datasets.conditions.acquired import Acquired
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.corrupted import ALL_19, Corrupted
from bnnbench.datasets.conditions.corruption_means import means
from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.datasets.conditions.parts import First, Inside
from bnnbench.datasets.conditions.perturbations import GaussianNoise, SignNoise
from bnnbench.datasets.conditions.rotated import Rotated, RotatedToNearest
from bnnbench.datasets.conditions.traits import Traits, families, from_data
from bnnbench.datasets.conditions.transfer import Transfer
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.cuts.stl10_shared import Stl10Shared
from bnnbench.datasets.official.svhn import Svhn, SvhnFirst1083
from bnnbench.engine.declare.attacks import Fgsm, Pgd

ALL = (
    Clean(),
    Inside(),
    First(200),
    Rotated(30),
    RotatedToNearest(30),
    Rotated(22.5),
    Corrupted("frost", 3),
    Corrupted("gaussian_blur", 1),
    GaussianNoise(0.1),
    GaussianNoise(1e-5),
    SignNoise(0.2, "pixel", clamp=True),
    Fgsm(0.3),
    Pgd(0.1, steps=20),
    OutOfDistribution(Svhn()),
    OutOfDistribution(Svhn(), normalised=False),
    OutOfDistribution(SvhnFirst1083()),
    Transfer(Stl10Shared()),
    Transfer(Stl10Shared(monkeys=True)),
    Acquired(Clean(), 1),
    Acquired(Inside(), 7),
)


def named(condition) -> str:
    return condition.name


@pytest.mark.parametrize("condition", ALL, ids=named)
def test_records_give_traits_back(condition):
    data = json.loads(json.dumps(condition.traits.as_data()))
    assert from_data(data) == condition.traits


def test_titles_are_plain_english():
    titles = {condition.name: condition.traits.title for condition in ALL}
    assert titles["clean"] == "test data"
    assert titles["ood_svhn_unnormalised"] == "out of distribution: SVHN without normalisation"
    assert titles["acquired_1"] == "test data after 1 acquisition"
    assert titles["corrupted_gaussian_blur_1"] == "Corruption: gaussian blur, severity 1"
    assert len(set(titles.values())) == len(titles)


def test_a_part_of_a_source_is_a_variant_of_the_whole():
    assert OutOfDistribution(Svhn()).traits.variant_of == ""
    for source in (SvhnFirst1083(), Limited(SvhnFirst1083(), 10)):
        assert OutOfDistribution(source).traits.variant_of == "ood_svhn"
    assert Transfer(Stl10Shared(monkeys=True)).traits.variant_of == "transfer_stl10"


def test_a_family_has_several_sizes_in_their_order():
    conditions = [GaussianNoise(2), Clean(), GaussianNoise(10), Fgsm(0.1), GaussianNoise(0.5)]
    sizes = families({c.name: c.traits for c in conditions})
    assert list(sizes.values()) == [{"noise_0.5": 0.5, "noise_2": 2.0, "noise_10": 10.0}]
    assert next(iter(sizes)).title == "Gaussian noise"


def test_a_mean_over_corruptions_names_its_parts():
    traits = means({condition.name for condition in ALL_19})
    assert len(traits) == 10
    assert len(traits["corrupted_3"].parts) == 19
    assert len(traits["corrupted_test15_3"].parts) == 15
    assert means({"corrupted_frost_3"}) == {}


def test_traits_of_a_later_version_are_left_out():
    assert from_data({"title": "moonlit", "moon": "full"}) == Traits("moonlit")
