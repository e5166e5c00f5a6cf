"""State dictionaries from files: forms that people have, and errors that name what is wrong."""

import pickle

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from bnnbench.methods.networks.architectures import Linear, ReLU, TorchModule
from bnnbench.methods.networks.modules.building import built
from bnnbench.methods.networks.modules.state import loaded_state
from bnnbench.methods.networks.modules.trained import start_of, start_of_file
from tests.methods.networks.modules.examples import Mlp, ResNet

MODULE = "tests.methods.networks.modules.examples"
LAYER = TorchModule(f"{MODULE}:Mlp", 1)


@pytest.fixture
def state():
    torch.manual_seed(3)
    return Mlp().state_dict()


def test_checkpoints_of_training_loops_and_prefixes_are_read(tmp_path, state):
    forms = {
        "plain": state,
        "nested": {"epoch": 3, "state_dict": state, "optimizer": {"lr": 0.1}},
        "parallel": {f"module.{name}": tensor for name, tensor in state.items()},
        "compiled": {"model": {f"_orig_mod.{name}": tensor for name, tensor in state.items()}},
    }
    for name, content in forms.items():
        torch.save(content, tmp_path / f"{name}.pt")
        read = loaded_state(str(tmp_path / f"{name}.pt"))
        assert list(read) == list(state), name
        assert all(torch.equal(read[key], state[key]) for key in state), name


def test_a_whole_module_is_read_if_its_class_is_the_networks(tmp_path):
    torch.save(ResNet(), tmp_path / "whole.pt")
    layer = TorchModule(f"{MODULE}:ResNet", 3)
    start = start_of_file((layer,), (2, 8, 8), str(tmp_path / "whole.pt"))
    assert start.weights.numel() == sum(p.numel() for p in ResNet().parameters())
    with pytest.raises(ValueError, match=r"without running code in it.*state_dict\(\)"):
        loaded_state(str(tmp_path / "whole.pt"))


class Dangerous:
    def __reduce__(self):
        return eval, ("open('ran', 'w')",)


def test_nothing_in_a_file_is_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"first.weight": Dangerous()}, "code.pt")
    (tmp_path / "pickled.pt").write_bytes(pickle.dumps(Dangerous()))
    (tmp_path / "text.pt").write_text("weights")
    for file in ("code.pt", "pickled.pt", "text.pt"):
        with pytest.raises(ValueError, match="cannot be read without running code"):
            loaded_state(file)
    assert not (tmp_path / "ran").exists()


def test_a_file_of_safetensors_is_read(tmp_path, state):
    save_file(state, tmp_path / "w.safetensors")
    read = loaded_state(str(tmp_path / "w.safetensors"))
    assert {name: tensor.tolist() for name, tensor in read.items()} == {
        name: tensor.tolist() for name, tensor in state.items()
    }


def test_an_error_names_all_that_is_missing_unknown_or_of_another_shape_or_type(state):
    wrong = {name: tensor for name, tensor in state.items() if not name.startswith("first")}
    wrong |= {"extra.weight": torch.zeros(2), "head.bias": torch.zeros(7)}
    wrong |= {"second.bias": state["second.bias"].half()}
    with pytest.raises(ValueError, match="does not fit") as failure:
        start_of((LAYER,), (4,), wrong, "w.pt")
    assert str(failure.value) == (
        "w.pt does not fit the network: it lacks first.weight, first.bias; it has the unknown "
        "extra.weight; it has other shapes of head.bias (7,) instead of (1,); it has other types "
        "of second.bias torch.float16 instead of torch.float32"
    )


def test_a_module_with_a_file_gives_the_same_error(tmp_path, state):
    del state["head.weight"]
    torch.save(state, tmp_path / "w.pt")
    with pytest.raises(ValueError, match=r"w\.pt does not fit .*: it lacks head\.weight"):
        built(TorchModule(f"{MODULE}:Mlp", 1, weights=str(tmp_path / "w.pt")), 0)


def test_frozen_tensors_must_agree_with_the_modules_own(state):
    frozen = TorchModule(f"{MODULE}:Mlp", 1, frozen=("first.*",))
    with pytest.raises(ValueError, match=r"other values of what is frozen: first\.weight, first"):
        start_of((frozen,), (4,), state)
    own = built(frozen, 0).state_dict()
    assert start_of((frozen,), (4,), own).weights.numel() == 16 * 8 + 8 + 8 + 1


def test_layers_beside_a_module_are_named_by_their_paths(state):
    twin = nn.Sequential(Mlp(), nn.ReLU(), nn.Linear(1, 3)).state_dict()
    start = start_of((LAYER, ReLU(), Linear(3)), (4,), twin)
    assert torch.equal(start.weights[-6:-3], twin["2.weight"].flatten())
    with pytest.raises(ValueError, match=r"it lacks 0\.first\.weight"):
        start_of((LAYER, ReLU(), Linear(3)), (4,), state)
