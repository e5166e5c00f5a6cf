"""Two moons and the plane around them."""

import math

import numpy as np
import pytest
import torch
from sklearn.datasets import make_moons

from bnnbench.datasets.base import DataSource
from bnnbench.datasets.conditions.base import Condition
from bnnbench.datasets.conditions.plane import Plane
from bnnbench.datasets.generated.curves import Sine
from bnnbench.datasets.generated.two_moons import TwoMoons

PLANE = Plane((-2.0, -1.5), (3.0, 2.0), step=0.5, distance=0.5)


def test_the_first_fold_agrees_with_the_paper():
    inputs, labels = make_moons(n_samples=100, noise=0.2, random_state=456)
    train = TwoMoons().load(0).train
    np.testing.assert_allclose(train.inputs, inputs, atol=1e-6)
    assert train.targets.tolist() == list(labels)


def test_folds_and_parts_are_drawn_apart():
    parts = [getattr(TwoMoons().load(fold), part) for fold in (0, 1) for part in ("train", "test")]
    assert [len(part) for part in parts] == [100, 1000] * 2
    firsts = {tuple(part.inputs[0].tolist()) for part in parts}
    assert len(firsts) == 4
    assert isinstance(TwoMoons(), DataSource)


def test_points_lie_around_half_circles_at_the_stated_distance():
    test = TwoMoons().load(3).test
    x, y = test.inputs.double().T
    upper = test.targets == 0
    centre_x, centre_y = torch.where(upper, 0.0, 1.0), torch.where(upper, 0.0, 0.5)
    off = ((x - centre_x).square() + (y - centre_y).square()).sqrt() - 1
    assert off.std().item() == pytest.approx(0.2, rel=0.1)


def test_a_plane_is_a_grid_whose_targets_say_what_is_far():
    assert isinstance(PLANE, Condition)
    data = TwoMoons().load(0)
    split = PLANE.select(data)
    assert len(split) == 11 * 8
    assert split.inputs[0].tolist() == [-2.0, -1.5]
    assert split.inputs[1].tolist() == [-2.0, -1.0]
    assert split.inputs[-1].tolist() == [3.0, 2.0]
    for point, target in zip(split.inputs, split.targets, strict=True):
        nearest = min(math.dist(point, row) for row in data.train.inputs)
        assert int(target) == (nearest > 0.5)
    assert 0 < split.targets.float().mean() < 1


def test_a_plane_needs_room_and_two_features():
    with pytest.raises(ValueError, match="0 < step <= high - low"):
        Plane((0.0, 0.0), (1.0, 0.01), step=0.1, distance=1.0)
    with pytest.raises(ValueError, match="two features"):
        PLANE.select(Sine().load(0))
