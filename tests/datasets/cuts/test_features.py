"""Features of images by a network that is shipped with its weights."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from bnnbench.datasets.conditions.out_of_distribution import FeaturesOutOfDistribution
from bnnbench.datasets.cuts import backbone
from bnnbench.datasets.cuts.features import Features
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.stand_ins import DigitsAsCifar10, PhotographCrops

SMALL = Features(DigitsAsCifar10(), train=300, test=200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder in which features are computed once for all tests."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BNNBENCH_DATA", str(folder))
        yield folder


def test_a_linear_head_of_another_library_classifies_by_them(folder):
    rows = SMALL.table(0)
    head = LogisticRegression(max_iter=2000).fit(rows.train_inputs, rows.train_targets)
    assert head.score(rows.test_inputs, rows.test_targets) > 0.6
    dataset = SMALL.load(0)
    assert dataset.train.inputs.shape == (300, 128)
    assert dataset.origin == "stand-in"
    torch.testing.assert_close(dataset.train.inputs.mean(0), torch.zeros(128), atol=1e-5, rtol=0)


def test_they_are_kept_and_made_anew_where_the_file_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path))
    images = DigitsAsCifar10().images("test")[0][:20]
    first = backbone.features_of(images)
    (file,) = (tmp_path / backbone.FOLDER).glob("*.npz")
    made = file.stat().st_mtime_ns
    assert np.array_equal(backbone.features_of(images), first)
    assert file.stat().st_mtime_ns == made
    file.write_bytes(b"damaged")
    assert np.array_equal(backbone.features_of(images), first)


def test_an_image_has_its_features_whatever_its_company(folder):
    images = DigitsAsCifar10().images("test")[0][:20]
    alone = np.concatenate([backbone.features_of(image[None]) for image in images[:3]])
    np.testing.assert_allclose(backbone.features_of(images)[:3], alone, atol=1e-5)


def test_other_shapes_are_refused(folder):
    with pytest.raises(ValueError, match=r"colour images of 32 x 32 pixels.*got 28 x 28 x 1"):
        backbone.features_of(np.zeros((2, 28, 28, 1), np.uint8))


def test_rows_that_the_network_has_seen_are_refused():
    with pytest.raises(ValueError, match="at most 2000 training rows"):
        Features(train=3000)


def test_features_out_of_distribution_are_scaled_like_those_of_training_rows(folder):
    dataset = SMALL.load(0)
    mixed = FeaturesOutOfDistribution(PhotographCrops()).select(dataset)
    images, _ = PhotographCrops().images("test")
    table = SMALL.table(0)
    mean, std = table.train_inputs.mean(0), table.train_inputs.std(0)
    expected = (backbone.features_of(images) - mean) / np.where(std > 0, std, 1.0)
    outside = mixed.inputs[mixed.targets == 1].double().numpy()
    assert len(mixed) == len(dataset.test) + len(images)
    order = np.lexsort(outside.T), np.lexsort(expected.T)
    np.testing.assert_allclose(outside[order[0]], expected[order[1]], rtol=1e-4, atol=1e-4)


@pytest.mark.long
def test_a_linear_head_of_another_library_is_as_good_as_the_network(data_folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))
    if missing := Cifar10().missing():
        pytest.skip(f"real data: {missing[0]} is not there")
    rows = Features().table(0)
    scale = rows.train_inputs.std(0).max()
    head = LogisticRegression(C=0.1, max_iter=2000)
    head.fit(rows.train_inputs / scale, rows.train_targets)
    assert head.score(rows.test_inputs / scale, rows.test_targets) > 0.9


def test_a_limit_keeps_classes(folder):
    limited = Limited(SMALL, train=50, test=20).load(0)
    assert limited.likelihood.classes == 10
    assert limited.train.targets.dtype == torch.int64
    assert len(limited.train) == 50
