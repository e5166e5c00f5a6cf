"""Perturbed inputs: their distribution, scale and names."""

import dataclasses
import math

import pytest
import torch
from scipy import stats

from bnnbench.datasets.base import Categorical, Dataset, Scaling, Split
from bnnbench.datasets.conditions.base import Condition
from bnnbench.datasets.conditions.perturbations import GaussianNoise, SignNoise

KINDS = (GaussianNoise, SignNoise)


def dataset(points=40, shape=(3, 8, 8)):
    """Return images, with intensities in [0, 1], standardised by channel with their own scaling."""
    pixels = torch.rand(points, *shape, generator=torch.Generator().manual_seed(1))
    scaling = Scaling(
        torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1), torch.tensor([0.2, 0.25, 0.5]).view(3, 1, 1)
    )
    split = Split(scaling.apply(pixels), torch.arange(points) % 10)
    return Dataset(split, split, Categorical(10), "original", scaling)


def changes(condition, data):
    return (condition.select(data).inputs - data.test.inputs).double()


def test_noise_has_the_law_that_its_name_says():
    data = dataset(points=200)
    changed = changes(GaussianNoise(0.3), data).flatten()
    assert stats.kstest(changed.numpy(), "norm", args=(0, 0.3)).pvalue > 1e-3
    pairs = torch.stack([changed[:-1], changed[1:]])
    assert abs(float(torch.corrcoef(pairs)[0, 1])) < 4 / math.sqrt(len(changed))


def test_sign_noise_goes_up_and_down_by_the_size():
    changed = changes(SignNoise(0.3), dataset()).flatten()
    torch.testing.assert_close(changed.abs(), torch.full_like(changed, 0.3), rtol=0, atol=1e-6)
    assert abs(float((changed > 0).double().mean()) - 0.5) < 2 / math.sqrt(len(changed))


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_sees_the_same_and_other_seeds_another(kind):
    data = dataset()
    first, again = (kind(0.2).select(data) for _ in range(2))
    assert torch.equal(first.inputs, again.inputs)
    assert torch.equal(first.targets, data.test.targets)
    assert not torch.equal(kind(0.2, seed=1).select(data).inputs, first.inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_share_their_draws(kind):
    data = dataset()
    small, large = (changes(kind(size), data) for size in (0.1, 0.4))
    torch.testing.assert_close(4 * small, large, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_of_pixels_is_one_of_intensities(kind):
    data = dataset()
    pixels = data.scaling.std * changes(kind(0.1, "pixel"), data)
    standardised = changes(kind(0.1), data)
    torch.testing.assert_close(pixels, standardised, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_clamped_images_have_intensities_and_unclamped_ones_leave_them(kind):
    data = dataset()
    for clamp in (False, True):
        moved = data.scaling.invert(kind(0.3, "pixel", clamp).select(data).inputs.double())
        assert bool((moved < -1e-6).any() or (moved > 1 + 1e-6).any()) is not clamp


@pytest.mark.parametrize("kind", KINDS)
def test_no_size_is_no_change_and_test_data_are_left_as_they_were(kind):
    data = dataset()
    before = data.test.inputs.clone()
    assert torch.equal(kind(0.0, "pixel", clamp=True).select(data).inputs, before)
    kind(0.5).select(data)
    assert torch.equal(data.test.inputs, before)


def test_names_and_titles_tell_settings_apart():
    noise = GaussianNoise(0.1)
    assert isinstance(noise, Condition)
    others = [
        dataclasses.replace(noise, **change)
        for change in ({"size": 0.2}, {"scale": "pixel"}, {"clamp": True}, {"seed": 2})
    ]
    names = [c.name for c in (noise, *others)]
    assert names == ["noise_0.1", "noise_0.2", "noise_pixel_0.1", "noise_clamp_0.1",
                     "noise_seed2_0.1"]  # fmt: skip
    titles = [c.traits.title for c in (noise, *others)]
    assert titles[0] == "Gaussian noise, standard deviation 0.1"
    assert titles[2] == "Gaussian noise: pixel, standard deviation 0.1"
    assert len(set(titles)) == len(titles)
    families = [c.traits.family for c in (noise, *others)]
    assert families[0] == families[1]
    assert len(set(families)) == 4


@pytest.mark.parametrize("size", [-0.1, math.inf, math.nan])
def test_a_size_is_finite_and_not_negative(size):
    with pytest.raises(ValueError, match="size"):
        GaussianNoise(size)
