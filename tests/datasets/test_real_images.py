"""The real files, compared with statements of their publishers and others."""

import numpy as np
import pytest
import torch

from bnnbench.datasets.conditions.out_of_distribution import OutOfDistribution
from bnnbench.datasets.conditions.rotated import Rotated
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.cifar100 import Cifar100
from bnnbench.datasets.official.fashion_mnist import FashionMnist
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.datasets.official.svhn import SvhnFirst1083
from tests.datasets.conditions.test_base import ordered, parted


@pytest.fixture(autouse=True)
def _real(data_folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))


def here(source, *part):
    if missing := source.missing(*part):
        pytest.skip(f"real data: {missing[0]} is not there")
    return source


@pytest.mark.long
def test_cifar10_is_standardised_with_the_known_mean_and_std():
    data = here(Cifar10()).load(0)
    mean, std = data.scaling.mean.flatten().tolist(), data.scaling.std.flatten().tolist()
    assert mean == pytest.approx([0.49140, 0.48216, 0.44653], abs=5e-6)
    assert std == pytest.approx([0.24703, 0.24349, 0.26159], abs=5e-6)
    assert data.train.inputs.shape == (50_000, 3, 32, 32)
    assert data.train.inputs.dtype == torch.float32
    some = data.train.inputs[:, 1, 16].double()
    assert abs(float(some.mean())) < 0.2  # a middle row, near the mean of all
    assert data.facts["class_counts_train"] == [5000] * 10
    assert data.facts["class_counts_test"] == [1000] * 10


@pytest.mark.long
def test_cifar10_pixels_come_back_through_the_scaling():
    data, (raw, labels) = here(Cifar10()).load(0), Cifar10().images("test")
    back = data.scaling.invert(data.test.inputs[:50].double()) * 255
    np.testing.assert_allclose(back.numpy(), raw[:50].transpose(0, 3, 1, 2), atol=1e-4)
    assert data.test.targets.tolist() == labels.tolist()


def test_the_same_load_is_shared_and_costs_nothing():
    assert here(Cifar10()).load(0) is Cifar10().load(0)


def test_cifar10_begins_with_the_frog_and_the_trucks_that_everyone_knows():
    _, labels = here(Cifar10()).images("train")
    assert labels[:5].tolist() == [6, 9, 9, 4, 1]


def test_cifar100_test_images_are_read_without_the_training_file():
    images, labels = here(Cifar100(), "test").images("test")
    assert images.shape == (10_000, 32, 32, 3)
    assert np.bincount(labels).tolist() == [100] * 100


def test_fashion_mnist_test_images_are_read_without_the_training_file():
    images, labels = here(FashionMnist(), "test").images("test")
    assert images.shape == (10_000, 28, 28, 1)
    assert np.bincount(labels).tolist() == [1000] * 10


def test_mnist_has_the_published_counts_mean_and_std():
    data = here(Mnist()).load(0)
    assert data.facts["class_counts_train"] == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert data.facts["class_counts_test"] == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert float(data.scaling.mean) == pytest.approx(0.1307, abs=5e-5)
    assert float(data.scaling.std) == pytest.approx(0.3081, abs=5e-5)


@pytest.mark.parametrize(("degrees", "level"), [(0, 33.7912), (30, 33.7852), (90, 33.7912)])
def test_turned_mnist_keeps_the_grey_level_that_bilinear_rotation_gives(degrees, level):
    data = here(Mnist()).load(0)
    turned = Rotated(degrees).select(data).inputs
    assert float(data.scaling.invert(turned.double()).mean()) * 255 == pytest.approx(
        level, abs=1e-4
    )


def test_svhn_images_among_cifar10_go_through_cifar10s_preprocessing():
    data = Limited(here(Cifar10()), train=500, test=200).load(0)
    split = OutOfDistribution(here(SvhnFirst1083())).select(data)
    raw, _ = SvhnFirst1083().images("test")
    planes = torch.from_numpy(raw.transpose(0, 3, 1, 2).astype(np.float64)) / 255
    expected = (planes - data.scaling.mean) / data.scaling.std
    known, foreign = parted(split)
    torch.testing.assert_close(foreign.double(), ordered(expected), atol=1e-5, rtol=0)
    assert torch.equal(known, ordered(data.test.inputs))
    assert split.targets.bincount().tolist() == [200, 1083]
