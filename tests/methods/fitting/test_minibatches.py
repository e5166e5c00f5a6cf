"""Shuffled minibatches and streams of random numbers."""

import dataclasses

import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.datasets.cuts.augmented import CropsAndMirrors
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.minibatches import Minibatches
from bnnbench.methods.fitting.randomness import normal, spawn
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.networks.architectures import Flatten, Linear
from tests.methods.problems import regression, stream, streams


def numbered(offset, rows=10):
    """Return a problem whose inputs identify their row; targets are the negative inputs."""
    column = torch.arange(offset, offset + rows, dtype=torch.float32)[:, None]
    return dataclasses.replace(regression(), train=Split(column, -column))


def test_every_epoch_shows_each_member_each_of_its_rows_once():
    batches = Minibatches([numbered(0), numbered(100)], streams(1, 2), 4)
    for _ in range(3):
        epoch = list(batches.epoch())
        assert [inputs.shape for inputs, _ in epoch] == [(2, 4, 1), (2, 4, 1), (2, 2, 1)]
        inputs = torch.cat([inputs for inputs, _ in epoch], dim=1)[:, :, 0]
        targets = torch.cat([targets for _, targets in epoch], dim=1)[:, :, 0]
        assert torch.equal(targets, -inputs)
        assert inputs.sort(1).values.tolist() == [list(range(10)), list(range(100, 110))]


@pytest.mark.parametrize(
    ("batch_size", "least", "sizes"), [(4, 1, [4, 4, 1]), (4, 2, [4, 5]), (7, 3, [9]), (9, 2, [9])]
)
def test_a_last_batch_that_is_too_small_joins_the_one_before(batch_size, least, sizes):
    batches = Minibatches([numbered(0, 9)], streams(1), batch_size, least)
    epoch = [inputs[0, :, 0] for inputs, _ in batches.epoch()]
    assert [len(inputs) for inputs in epoch] == sizes
    assert len(batches) == len(sizes)
    assert torch.cat(epoch).sort().values.tolist() == list(range(9))
    plain = [inputs[0, :, 0] for inputs, _ in Minibatches([numbered(0, 9)], streams(1), 4).epoch()]
    assert torch.equal(torch.cat(epoch), torch.cat(plain))


@pytest.mark.parametrize(("rows", "batch_size"), [(1, 4), (9, 1)])
def test_batches_that_are_all_too_small_are_refused(rows, batch_size):
    with pytest.raises(Unsupported, match=r"at least 2 rows in a batch.*got 1: raise"):
        Minibatches([numbered(0, rows)], streams(1), batch_size, least=2)


def test_epochs_differ_in_order():
    batches = Minibatches([numbered(0, 50)], streams(1), 50)
    (first, _), (second, _) = next(batches.epoch()), next(batches.epoch())
    assert not torch.equal(first, second)


def test_a_members_order_does_not_depend_on_the_others():
    problems = [numbered(0), numbered(100), numbered(200)]
    together = Minibatches(problems, streams(1, 2, 3), 3)
    alone = Minibatches(problems[1:2], streams(2), 3)
    for (inputs, _), (own, _) in zip(together.epoch(), alone.epoch(), strict=True):
        assert torch.equal(inputs[1], own[0])


def test_members_that_share_data_are_shuffled_apart():
    shared = numbered(0, 50)
    inputs, _ = next(Minibatches([shared, shared], streams(1, 2), 50).epoch())
    assert not torch.equal(inputs[0], inputs[1])


@pytest.mark.parametrize(("batch_size", "count"), [(1, 10), (3, 4), (5, 2), (10, 1), (99, 1)])
def test_length_is_the_number_of_batches(batch_size, count):
    batches = Minibatches([numbered(0)], streams(1), batch_size)
    assert len(batches) == count == len(list(batches.epoch()))


def pictures(offset, rows=12):
    """Return a problem of images of constant intensity, which identifies their row."""
    images = torch.arange(offset, offset + rows, dtype=torch.float32)[:, None, None, None]
    train = Split(images.expand(-1, 1, 3, 3).clone(), torch.arange(rows) % 2)
    train = dataclasses.replace(train, augmentation=CropsAndMirrors(1, (-1.0,)))
    return Problem(train, Categorical(2), (Flatten(), Linear(2)))


def test_inputs_are_augmented_anew_in_each_epoch_and_keep_their_targets():
    batches = Minibatches([pictures(0)], streams(1), 4)
    seen = []
    for _ in range(2):
        epoch = list(batches.epoch())
        inputs = torch.cat([inputs[0] for inputs, _ in epoch])
        targets = torch.cat([targets[0] for _, targets in epoch])
        rows = inputs.flatten(1).amax(1)
        assert rows.sort().values.tolist() == list(range(12))
        assert torch.equal(targets, rows.long() % 2)
        assert (inputs == -1).any()
        seen.append(inputs[rows.argsort()])
    assert not torch.equal(*seen)


def test_a_member_s_augmentation_does_not_depend_on_the_others():
    together = Minibatches([pictures(0), pictures(50)], streams(1, 2), 5)
    alone = Minibatches([pictures(50)], streams(2), 5)
    for (inputs, _), (own, _) in zip(together.epoch(), alone.epoch(), strict=True):
        assert torch.equal(inputs[1], own[0])


@pytest.mark.parametrize("method", [MessagePassing(), Hmc(draws=4, chains=2)])
def test_methods_of_fixed_inputs_refuse_an_augmentation(method):
    with pytest.raises(Unsupported, match="without Augmented"):
        method.fit(pictures(0), stream(0))


def test_problems_of_different_length_are_refused():
    with pytest.raises(ValueError, match="equal numbers of rows"):
        Minibatches([numbered(0, 10), numbered(0, 11)], streams(1, 2), 4)


def test_a_problem_without_rows_is_refused():
    with pytest.raises(ValueError, match="got none"):
        Minibatches([numbered(0, 0)], streams(1), 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_normals_of_a_member_depend_only_on_its_stream(dtype):
    together = normal(streams(1, 2, 3), 5, 7, dtype=dtype)
    assert together.dtype == dtype
    assert torch.equal(together[1], normal(streams(2), 5, 7, dtype=dtype)[0])


def test_spawned_streams_follow_from_the_state_and_differ():
    parent, twin = stream(4), stream(4)
    first = [torch.rand(3, generator=child).tolist() for child in spawn(parent, 4)]
    again = [torch.rand(3, generator=child).tolist() for child in spawn(twin, 4)]
    later = [torch.rand(3, generator=child).tolist() for child in spawn(parent, 4)]
    assert first == again
    assert len({tuple(numbers) for numbers in first + later}) == 8
