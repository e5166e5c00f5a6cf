"""Maps of layers: members side by side, adjoints, and sums as products of rows."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from bnnbench.methods.message_passing.maps import base
from bnnbench.methods.message_passing.maps.base import Dense
from bnnbench.methods.message_passing.maps.convolution import (
    FEW_CHANNELS,
    Convolution,
    one_by_one,
)
from bnnbench.methods.networks.architectures import Conv2d, Linear

MAPS = {
    "dense": Dense(Linear(4), 6),
    "convolution": Convolution(Conv2d(4, 3), (2, 7, 6)),
    "padded, of a stride": Convolution(Conv2d(4, 3, stride=2, padding=1), (2, 7, 6)),
    "of one channel": Convolution(Conv2d(1, 3), (3, 5, 5)),
    "of single pixels": Convolution(Conv2d(4, 1), (8, 5, 6)),
    "of every second pixel": Convolution(Conv2d(4, 1, stride=2, padding=1), (4, 5, 6)),
    "of one pixel in four": Convolution(Conv2d(4, 1, stride=2), (4, 2, 2)),
    "padded on one side": Convolution(Conv2d(4, 2, padding=(0, 1)), (2, 5, 6)),
}
each_map = pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)


def normal(*shape: int, seed: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=rng, dtype=torch.float64)


def tensors(map, members, examples=5):
    """Return inputs, weights and values of examples."""
    inputs = map.input_shape if isinstance(map, Convolution) else (map.inputs,)
    return (
        normal(members, examples, *inputs, seed=1),
        normal(members, *map.weight_shape, seed=2),
        normal(members, examples, *map.output_shape, seed=3),
    )


@each_map
def test_members_side_by_side_are_those_alone(map):
    x, w, z = tensors(map, 3)
    for room, values in ((map.values_room, x), (map.weights_room, w), (map.values_room, z)):
        laid = room(values[:1], 3).copy_(values)
        assert laid.shape == values.shape
    for product, a, b in ((map.forward, x, w), (map.to_inputs, z, w), (map.to_weights, z, x)):
        rooms = (map.weights_room if part is w else map.values_room for part in (a, b))
        together = product(
            *(room(t[:1], 3).copy_(t) for room, t in zip(rooms, (a, b), strict=True))
        )
        alone = [product(a[k : k + 1], b[k : k + 1]) for k in range(3)]
        assert_close(together, torch.cat(alone))
        assert_close(one_by_one(product, a, b), torch.cat(alone))


@each_map
@pytest.mark.parametrize("members", [1, 3])
def test_sums_over_examples_as_a_gpu_makes_them_are_gradients(map, members, monkeypatch):
    """Few channels are products of rows there; compared with autograd through the forward map."""
    x, w, z = tensors(map, members)
    w.requires_grad_()
    (truth,) = torch.autograd.grad(map.forward(x, w), w, z)
    monkeypatch.setattr(base, "as_on_a_gpu", lambda values: True)
    sums = map.to_weights(z, x)
    assert_close(sums, truth)
    if isinstance(map, Convolution) and map.input_shape[0] <= FEW_CHANNELS and members == 1:
        assert sums.stride() == map.weights_room(sums, 1).stride()


def test_a_convolution_agrees_with_the_library():
    map = MAPS["padded, of a stride"]
    x, w, _ = tensors(map, 1)
    assert_close(map.forward(x, w)[0], F.conv2d(x[0], w[0], stride=2, padding=1))


@each_map
def test_both_adjoints_have_the_same_products(map):
    x, w, z = tensors(map, 1)
    whole = (map.forward(x, w) * z).sum()
    assert_close((map.to_inputs(z, w) * x).sum(), whole)
    assert_close((map.to_weights(z, x) * w).sum(), whole)


@each_map
@pytest.mark.parametrize("examples", [1, 5])
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_of_laid_tensors_are_products_of_rows(map, examples, members, dtype):
    x, w, z = tensors(map, members, examples)
    laid = (
        room(t[:1].to(dtype), members).copy_(t)
        for room, t in ((map.values_room, x), (map.weights_room, w), (map.values_room, z))
    )
    x, w, z = (t.to(dtype).double() for t in (x, w, z))
    truth = [
        map.from_rows(map.output_rows(own).mT @ map.rows(each))
        for each, own in zip(x.split(1), z.split(1), strict=True)
    ]
    x, w, z = laid
    assert_close(map.to_weights(z, x).double(), torch.cat(truth), rtol=1e-4, atol=1e-4)


@each_map
def test_products_of_rows_are_the_sums(map):
    x, w, z = tensors(map, 1)
    rows, weights = map.rows(x), map.weight_rows(w)
    assert_close(rows @ weights.mT, map.output_rows(map.forward(x, w)))
    assert_close(map.sum_rows(map.output_rows(z) @ weights, x), map.to_inputs(z, w))
    assert_close(map.from_rows(map.output_rows(z).mT @ rows), map.to_weights(z, x))
    assert torch.equal(map.from_rows(weights.contiguous()), w)
