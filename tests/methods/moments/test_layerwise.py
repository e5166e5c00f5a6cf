"""Layers by name, and the values behind each."""

import pytest
import torch

from bnnbench.methods.base import Unsupported
from bnnbench.methods.moments.layerwise import Layerwise, layer_names
from bnnbench.methods.networks.architectures import (
    BatchNorm,
    Dropout,
    Flatten,
    GaussianNoise,
    Linear,
    ReLU,
    Residual,
)
from bnnbench.methods.networks.catalogue import allconv_001, lenet_001
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

TABLE_2 = [(1, "CA"), (2, "C"), (3, "A"), (4, "C"), (5, "A"), (6, "F")]
TABLE_4 = [*zip(range(1, 8), "CACACAF", strict=True)]


def test_layers_are_named_as_in_the_tables():
    for network in (lenet_001(), (GaussianNoise(0.1), *lenet_001()), lenet_001(dropout=0.2)):
        assert list(layer_names(network, merge_first=True)) == TABLE_2
        assert list(layer_names(network)) == TABLE_4
    names = list(layer_names(allconv_001()))
    assert (len(names), names[:2], names[-2:]) == (
        18,
        [(1, "C"), (2, "A")],
        [(17, "C"), (18, "P")],
    )


def test_norms_and_dropout_belong_to_what_is_in_front():
    network = (Flatten(), Linear(3), BatchNorm(), ReLU(), Dropout(0.1), Linear(2), BatchNorm())
    assert layer_names(network) == {(1, "C"): 2, (2, "A"): 4, (3, "F"): 6}


def test_the_outputs_behind_every_layer_agree_with_the_networks_that_end_there():
    network, inputs = lenet_001(), torch.randn(1, 2, 1, 28, 28, generator=stream(0))
    whole = TorchNetwork(network, (1, 28, 28))
    weights = whole.initial_weights([stream(1)])
    found = Layerwise(network, (1, 28, 28))(weights, inputs)
    assert len(found) == len(network)
    for stop, output in enumerate(found, 1):
        part = TorchNetwork(network[:stop], (1, 28, 28))
        assert torch.equal(output, part(weights[:, : part.parameter_count], inputs))


def test_a_network_with_branches_is_refused():
    with pytest.raises(Unsupported, match="Residual"):
        Layerwise((Residual((Linear(3),)),), (3,))


def test_of_an_output_only_what_is_asked_for_remains():
    network = (Linear(3), ReLU(), Linear(2))
    weights = TorchNetwork(network, (4,)).initial_weights([stream(0)])
    shapes = Layerwise(network, (4,), reduced=lambda y: y.shape)(weights, torch.ones(1, 5, 4))
    assert shapes == [(1, 5, 3), (1, 5, 3), (1, 5, 2)]
