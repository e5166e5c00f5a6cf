"""Arrays, plain values and annotations."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Posterior
from bnnbench.methods.saved.decoding import Decoder
from bnnbench.methods.saved.encoding import Encoder
from bnnbench.methods.saved.errors import NotLoaded
from bnnbench.methods.saved.hints import fits
from tests.contracts.toy_method import NearestNeighbours


def again(value):
    encoder = Encoder()
    node = encoder.node(value, "value")
    return Decoder(encoder.collected.arrays, (), frozenset()).value(node)


BASE = torch.randn(4, 6, 5, generator=torch.Generator().manual_seed(0))
TENSORS = [
    BASE, BASE.mT, BASE.permute(2, 0, 1), BASE[1:3, ::2], BASE[:, :1].permute(1, 2, 0),
    BASE.double(), BASE.half(), BASE.bfloat16(), BASE > 0, torch.tensor(math.nan),
    torch.empty(0, 3), torch.arange(5), BASE[0, :1].expand(7, -1), torch.complex(BASE, BASE),
]  # fmt: skip


@pytest.mark.parametrize("tensor", TENSORS)
def test_a_tensor_comes_back_with_its_type_and_order(tensor):
    one = again(tensor)
    assert one.dtype == tensor.dtype
    torch.testing.assert_close(one, tensor, rtol=0, atol=0, equal_nan=True)
    dense = torch.empty_like(tensor, memory_format=torch.preserve_format)
    assert one.stride() == dense.stride() or tensor.stride() != dense.stride() or not tensor.numel()
    assert again(one).stride() == one.stride()


@pytest.mark.parametrize(
    "array", [np.eye(3)[:, ::2], np.asfortranarray(np.ones((2, 3))), np.int8(3)]
)
def test_an_array_of_numpy_comes_back_with_its_order(array):
    one = again(array)
    assert type(one) is type(array)
    assert one.dtype == array.dtype
    assert one.flags.f_contiguous >= array.flags.f_contiguous
    np.testing.assert_array_equal(one, array)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -0.0, 1e-310, "ü\n", (1, [2.0, ()]), {3: "a", (1, 2): {"b": None}, 0.5: ()},
     torch.float64],
)  # fmt: skip
def test_plain_values_come_back_with_their_types(value):
    assert repr(again(value)) == repr(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_lacks_come_back(value):
    assert repr(again(value)) == repr(value)


def test_equal_arrays_are_stored_once():
    encoder = Encoder()
    encoder.node((torch.ones(3), torch.ones(3), torch.ones(3, dtype=torch.int32)))
    assert len(encoder.collected.arrays) == 2


def test_a_node_of_no_form_is_refused():
    with pytest.raises(NotLoaded, match="unknown form, with the keys code"):
        Decoder({}, (), frozenset()).value({"code": "1"})


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, int, True), (True, int, False), (1.0, int, False), (1, float, True),
        ("1", float, False),
        (None, int | None, True), ("a", Literal["a", "b"], True), ("c", Literal["a"], False),
        ((1, 2), tuple[int, ...], True), ((1, "2"), tuple[int, ...], False),
        ((1,), tuple[int, int], False), ([1], tuple[int, ...], False), ("ab", Sequence[str], False),
        ({"a": 1.0}, Mapping[str, float], True), ({1: 1.0}, Mapping[str, float], False),
        (torch.ones(2, 3), Float[Tensor, "rows columns"], True),
        (torch.ones(2), Float[Tensor, "rows columns"], False),
        (torch.ones(2, 3).long(), Float[Tensor, "rows columns"], False),
        (torch.relu, Callable[[Tensor], Tensor], True), (3, Callable[..., Any], False),
        (object(), Posterior, False), (3, Any, True), (3, "unresolved", True),
    ],
)  # fmt: skip
def test_a_value_fits_its_annotation_or_does_not(value, hint, expected):
    assert fits(value, hint) == expected


def test_a_protocol_fits_what_has_its_members():
    assert fits(NearestNeighbours(), NearestNeighbours)
    assert not fits(NearestNeighbours(), Posterior)
