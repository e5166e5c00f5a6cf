"""Modules from their factories: names, patterns, files, seeds."""

import pickle
from dataclasses import replace

import pytest
import torch
from torch import nn

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import Linear, TorchModule, from_json, to_json
from bnnbench.methods.networks.modules.building import built, parts
from bnnbench.methods.networks.modules.trials import trial_of
from bnnbench.methods.networks.shapes import describe, output_shape, parameter_count
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.networks.modules import examples
from tests.methods.networks.modules.examples import MLP, RESNET, Mlp, ResNet
from tests.methods.problems import stream


def test_a_factory_is_kept_as_its_name_and_so_pickled_described_and_hashed():
    layer = TorchModule(ResNet, 3, arguments={"width": 8, "classes": 3}, frozen=("conv1.*",))
    assert layer.factory == "tests.methods.networks.modules.examples:ResNet"
    assert layer == pickle.loads(pickle.dumps(layer))
    assert from_json(to_json((layer, Linear(2)))) == (layer, Linear(2))
    again = replace(layer, arguments=(("classes", 3), ("width", 8)), outputs=(3,))
    assert {layer, again} == {layer}


def test_a_factory_in_a_file_is_found_by_its_path(tmp_path):
    (tmp_path / "own_net.py").write_text("from torch import nn\ndef net(): return nn.Linear(2, 1)")
    layer = TorchModule(f"{tmp_path}/own_net.py:net", outputs=1)
    assert layer.factory == "own_net:net"
    assert isinstance(built(layer, 0), nn.Linear)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"factory": lambda: nn.Linear(1, 1)}, "top level of a module"),
        ({"factory": "no_colon"}, "module:function"),
        ({"outputs": 0}, "above 0"),
        ({"outputs": ()}, "above 0"),
        ({"arguments": {"rate": torch.ones(1)}}, "numbers, strings and tuples"),
        ({"fresh": ("fc.*",)}, "a file of weights beside fresh"),
        ({"weights": "nowhere.pt"}, "no file of weights"),
    ],
)
def test_what_cannot_be_repeated_elsewhere_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TorchModule(**{"factory": Mlp, "outputs": 1} | arguments)


@pytest.mark.parametrize("name", ["tests.nowhere:net", f"{examples.__name__}:Nobody"])
def test_a_factory_that_is_not_there_is_named(name):
    with pytest.raises(ValueError, match=f"{name} cannot be imported"):
        built(TorchModule(name, 1), 0)


def test_counts_and_shapes_agree_with_torch():
    network = TorchNetwork(RESNET, (2, 8, 8))
    module = ResNet()
    assert network.parameter_count == sum(p.numel() for p in module.parameters())
    assert [part.path for part in network.parameters] == [
        f"0.{name}" for name, _ in module.named_parameters()
    ]
    assert [part.path for part in network.buffers] == [
        f"0.{name}" for name, b in module.named_buffers() if b.is_floating_point()
    ]
    assert output_shape(RESNET, (2, 8, 8)) == (3,)
    assert f"{network.parameter_count:,}" in describe(RESNET, (2, 8, 8))
    fan_in = {part.path: part.fan_in for part in network.parameters}
    assert fan_in["0.conv1.weight"] == 2 * 9
    assert fan_in["0.fc.weight"] == fan_in["0.fc.bias"] == 8


def test_initial_weights_agree_with_the_constructor_and_follow_from_the_stream():
    network = TorchNetwork(MLP, (4,))
    first, second, again = network.initial_weights([stream(1), stream(2), stream(1)])
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    for part in network.parameters:
        own, bound = first[part.offset : part.stop], part.fan_in**-0.5
        assert own.abs().max() <= bound
        assert part.size < 16 or own.abs().max() > 0.8 * bound


def test_the_global_generator_is_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    built(RESNET[0], 7)
    trial_of(TorchModule(examples.Undisciplined, 1), (4,))
    assert torch.equal(torch.rand(1), expected)


def test_patterns_freeze_by_name_and_the_last_one_decides():
    layer = TorchModule(examples.adapted_mlp, 1, frozen=("*", "!*lora*", "!head.*"))
    assert [*parts(layer).trained] == [
        "first.lora_down.weight",
        "first.lora_up.weight",
        "second.lora_down.weight",
        "second.lora_up.weight",
        "head.weight",
        "head.bias",
    ]
    assert parameter_count((layer,), (4,)) == 2 * (4 + 16) + 2 * (16 + 8) + 9
    assert parts(layer).frozen == 4 * 16 + 16 + 16 * 8 + 8


def test_a_pattern_that_fits_nothing_is_an_error_with_names_that_are_near():
    with pytest.raises(ValueError, match=r"'layer3\.\*'; there are layer"):
        parts(replace(RESNET[0], frozen=("layer3.*",)))


def test_a_file_gives_all_values_but_fresh_ones(tmp_path):
    torch.manual_seed(5)
    state = ResNet(classes=7).state_dict()
    torch.save(state, tmp_path / "trained.pt")
    layer = replace(RESNET[0], weights=f"{tmp_path}/trained.pt")
    with pytest.raises(ValueError, match=r"shapes of fc\.weight \(7, 8\) inst.*, fc\.bias"):
        built(layer, 0)
    layer = replace(layer, fresh=("fc.*",))
    one, two = built(layer, 1).state_dict(), built(layer, 2).state_dict()
    for name in one:
        assert torch.equal(one[name], two[name]) == (not name.startswith("fc."))
        assert name.startswith("fc.") or torch.equal(one[name], state[name])
    del state["layer1.0.conv1.weight"]
    torch.save(state, tmp_path / "trained.pt")
    with pytest.raises(ValueError, match="has changed"):
        replace(layer)
    with pytest.raises(ValueError, match=r"lacks layer1\.0\.conv1\.weight"):
        built(replace(layer, weights_sha256=""), 0)


def test_a_file_is_read_without_running_code(tmp_path):
    torch.save({"first.weight": print}, tmp_path / "code.pt")
    with pytest.raises(ValueError, match="cannot be read without running code"):
        built(TorchModule(Mlp, 1, weights=f"{tmp_path}/code.pt"), 0)


def test_a_wrong_shape_is_said_before_training():
    with pytest.raises(Unsupported, match=r"Mlp'.*: its outputs have the shape \(1,\); state"):
        TorchNetwork((TorchModule(Mlp, outputs=2),), (4,))
    with pytest.raises(Unsupported, match=r"takes inputs of shape \(5,\)"):
        TorchNetwork(MLP, (5,))
    with pytest.raises(ValueError, match=r"needs inputs of shape \(5,\); got shape \(4,\)"):
        TorchNetwork((TorchModule(Mlp, 1, (5,)),), (4,))
