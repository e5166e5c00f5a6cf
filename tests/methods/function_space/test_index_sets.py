"""The points of index sets."""

import pytest
import torch

from bnnbench.datasets.base import Split
from bnnbench.datasets.conditions.rotated import rotate
from bnnbench.datasets.cuts.intensities import Signed
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.generated.two_moons import TwoMoons
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.datasets.stand_ins import DigitsAsMnist
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.function_space.index_sets import Grid, OtherData, RotatedCopies, TrainingData
from bnnbench.methods.networks.catalogue import mlp
from tests.methods.problems import classification, images, streams


def moons(count=1):
    data = TwoMoons().load(0)
    return [Problem(data.train, data.likelihood, mlp([5], 2))] * count


def batches(problems, rows=4):
    return torch.stack([problem.train.inputs[:rows] for problem in problems])


def test_training_data_are_the_batch():
    problems = [classification(seed) for seed in range(2)]
    batch = batches(problems)
    assert torch.equal(TrainingData().points(problems)(batch, streams(0, 1)), batch)


@pytest.mark.parametrize("angle", [0, 90, 180, 270, -90, 450])
def test_right_angles_are_what_interpolation_gives(angle):
    problems = [images(seed) for seed in range(2)]
    batch = batches(problems)
    found = RotatedCopies((angle,)).points(problems)(batch, streams(0, 1))
    # Pixel centres map to pixel centres, and no corner is lost: the background has no effect.
    for turned, straight in zip(found, batch, strict=True):
        expected = rotate(straight.double(), angle).float()
        torch.testing.assert_close(turned, expected, rtol=0, atol=1e-6)


def test_corners_from_outside_have_the_least_intensity_of_their_channel():
    problems = [images(seed) for seed in range(2)]
    batch = batches(problems)
    found = RotatedCopies((45, 30)).points(problems)(batch, streams(0, 1))
    assert found.shape == (2, 8, *problems[0].input_shape)
    for problem, turned in zip(problems, found, strict=True):
        least = problem.train.inputs.amin((0, 2, 3))
        torch.testing.assert_close(turned[:4, :, 0, 0], least.expand(4, -1))


def test_only_images_can_be_turned_and_an_angle_is_needed():
    with pytest.raises(Unsupported, match="needed images to rotate"):
        RotatedCopies((90,)).points([classification()])
    with pytest.raises(ValueError, match="at least one angle"):
        RotatedCopies(())


def test_a_grid_has_both_ends_and_is_the_same_for_every_problem():
    problems = moons(2)
    found = Grid((-1.0, 0.0), (1.0, 0.3), 0.1).points(problems)(batches(problems), ())
    assert found.shape == (2, 21 * 4, 2)
    assert torch.equal(found[0], found[1])
    torch.testing.assert_close(found[0, 0], torch.tensor([-1.0, 0.0]))
    torch.testing.assert_close(found[0, -1], torch.tensor([1.0, 0.3]))
    assert len({tuple(point) for point in found[0].tolist()}) == 84


def test_a_grid_fits_its_inputs():
    with pytest.raises(Unsupported, match="inputs with 3 features"):
        Grid((0.0,) * 3, (1.0,) * 3, 0.5).points(moons())
    for low, high, step in (
        ((0.0,), (1.0, 1.0), 0.1),
        ((2.0,), (1.0,), 0.1),
        ((0.0,), (1.0,), 0.0),
    ):
        with pytest.raises(ValueError, match="low <= high"):
            Grid(low, high, step)


def test_other_data_are_rows_of_the_other_source_by_each_problems_own_stream():
    source = Signed(Limited(DigitsAsMnist(), train=30, test=5))
    others = source.load(0).train.inputs
    problem = Problem(Split(others[:9], torch.arange(9)), source.load(0).likelihood, ())
    points = OtherData(source).points([problem] * 2)
    batch = torch.zeros(2, 40, 1, 28, 28)
    found = points(batch, streams(3, 4))
    assert found.shape == batch.shape
    rows = {tuple(image.flatten().tolist()) for image in others}
    assert all(tuple(image.flatten().tolist()) in rows for image in found.flatten(0, 1))
    assert not torch.equal(found[0], found[1])
    assert torch.equal(points(batch[1:], streams(4))[0], found[1])


def test_other_data_have_the_shape_of_the_inputs():
    with pytest.raises(Unsupported, match="two_moons has"):
        OtherData(TwoMoons()).points([classification()])


def test_index_sets_are_values():
    assert RotatedCopies((90, 180)) == RotatedCopies((90, 180))
    assert len({OtherData(Mnist()), OtherData(Mnist()), TrainingData(), TrainingData()}) == 2
    assert Grid((0.0,), (1.0,), 0.5) != Grid((0.0,), (1.0,), 0.25)
