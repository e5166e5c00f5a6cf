"""Descriptions of networks that methods bring themselves."""

import pytest
import torch
from torch import nn

from bnnbench.methods.networks.own_network import NetworkDescription, own_network


class Posterior:
    """A posterior that shows the given network."""

    def __init__(self, network):
        self.own_network = network


def small(width=3):
    return nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 1))


def test_a_torch_network_is_named_counted_and_digested():
    described = own_network(Posterior(small()))
    assert described["class"] == "torch.nn.modules.container:Sequential"
    assert described["parameters"] == (2 * 3 + 3) + (3 * 1 + 1)
    assert len(described["structure_sha256"]) == 64


def test_the_digest_is_of_the_structure_and_not_of_the_weights():
    torch.manual_seed(0)
    digest = own_network(Posterior(small()))["structure_sha256"]
    torch.manual_seed(1)
    assert own_network(Posterior(small()))["structure_sha256"] == digest
    others = (
        small(4),
        small().double(),
        nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)),
    )
    for other in others:
        assert own_network(Posterior(other))["structure_sha256"] != digest


def test_a_posterior_without_one_has_the_architecture_of_its_problem():
    assert own_network(Posterior(None)) is None
    assert own_network(object()) is None


def test_a_network_that_torch_does_not_know_describes_itself():
    described = own_network(Posterior(NetworkDescription("stan:mlp", 12, "2-3-1")))
    assert (described["class"], described["parameters"]) == ("stan:mlp", 12)
    other = own_network(Posterior(NetworkDescription("stan:mlp", 12, "2-4-1")))
    assert other["structure_sha256"] != described["structure_sha256"]


def test_anything_else_is_refused_with_the_cure():
    with pytest.raises(TypeError, match=r"torch module, a NetworkDescription or None.*got str"):
        own_network(Posterior("an MLP"))
    with pytest.raises(ValueError, match=r"needed a network's name.*got '' and 3"):
        NetworkDescription("", 3, "")
