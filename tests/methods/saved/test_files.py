"""Files that are damaged, forged, newer, or name code."""

import contextlib
import copy
import dataclasses
import hashlib
import io
import json
import math
import random
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import bnnbench
from bnnbench.datasets.base import Categorical
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.network_posterior import DiagonalGaussianPosterior
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.networks.perceptron import Perceptron
from bnnbench.methods.networks.torch_module import TorchModule
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.pbp.state import Layout
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.saved import documents
from bnnbench.methods.saved.decoding import Decoder
from bnnbench.methods.saved.encoding import Encoder
from bnnbench.methods.saved.errors import NotLoaded, NotSaved
from bnnbench.methods.saved.files import ARRAYS, DESCRIPTION, files_of, loaded
from bnnbench.methods.saved.registry import kind_of
from bnnbench.suites.check.problems import classification, stream
from tests.contracts.test_every_method import fits_of

INPUTS = torch.randn(9, 4, generator=stream(5))


@cache
def posterior():
    mode = AdamW(epochs=1).fit(classification(), stream(1))
    return DiagonalGaussianPosterior(mode, mode.weights[0].abs(), 3, {"odd": math.inf})


def content_of(files):
    return json.loads(files[DESCRIPTION])


def resealed(files, content):
    """Return the files with another description and true digests, as a forger would write it."""
    content = {key: value for key, value in content.items() if key not in ("format", "sha256")}
    content["files"] = {
        name: hashlib.sha256(files[name]).hexdigest() for name in files if name != DESCRIPTION
    }
    return files | {DESCRIPTION: documents.written(content)}


def load(files, **options):
    return loaded(lambda name, most: files[name], **options)


def answers(one):
    return one.predict(INPUTS, stream(2)).log_probs


def mutated(content, rng):
    place = rng.randrange(len(content))
    kind = rng.choice(("flip", "cut", "drop", "twice", "digit"))
    if kind == "flip":
        return (
            content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]
        )
    if kind == "cut":
        return content[:place]
    if kind == "drop":
        return content[:place] + content[place + rng.randrange(1, 40) :]
    if kind == "twice":
        return content[:place] + content[max(0, place - 20) :]
    digits = [i for i, byte in enumerate(content) if chr(byte).isdigit()]
    place = rng.choice(digits)
    return content[:place] + str(rng.randrange(10)).encode() + content[place + 1 :]


@pytest.mark.parametrize("name", [DESCRIPTION, ARRAYS])
def test_a_damaged_file_is_refused_or_means_the_same(name):
    files, rng, refused = files_of(posterior()), random.Random(0), 0
    expected, sentences = answers(posterior()), set()
    for _ in range(200):
        changed = files | {name: mutated(files[name], rng)}
        try:
            assert torch.equal(answers(load(changed)), expected)
        except NotLoaded as error:
            refused += 1
            sentences.add(str(error).strip())
    assert refused > 150
    assert not any("\n" in sentence for sentence in sentences)


def places(node, path=()):
    """Yield the path of every value in a description."""
    yield path
    for key, value in node.items() if isinstance(node, dict) else ():
        yield from places(value, (*path, key))
    for key, value in enumerate(node) if isinstance(node, list) else ():
        yield from places(value, (*path, key))


ODD = (None, True, -1, 10**13, 0.5, "", "os:system", [], {}, [[]], {"type": "subprocess:Popen"},
       {"tensor": "std"}, {"tensor": "nothing"}, {"tuple": []}, {"float": "nan"},
       {"mapping": [1]}, {"estimator": 0}, {"function": "relu"}, {"dtype": "Tensor"},
       {"type": "linear", "fields": {"outputs": 10**12, "bias": True}})  # fmt: skip


RAN = []
"""What was run that a forger planted."""


def planted(*arguments, **settings):
    RAN.append((arguments, settings))


@dataclass(frozen=True)
class Planted:
    """A class of a module that is imported already, and so is found."""

    __init__ = __post_init__ = __setstate__ = predict = planted


PLANTED = (
    *({"type": f"{__name__}:{name}", "fields": {}} for name in ("Planted", "planted")),
    {"type": "subprocess:Popen", "fields": {"args": ["true"]}},
    *({kind: f"{__name__}:planted"} for kind in ("function", "type", "dtype", "estimator")),
)


def test_code_that_a_description_names_is_not_run(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", planted)
    files = files_of(posterior())
    content = content_of(files)
    for *before, last in filter(None, places(content["posterior"])):
        for one in PLANTED:
            forged = copy.deepcopy(content)
            node = forged["posterior"]
            for key in before:
                node = node[key]
            node[last] = one
            with contextlib.suppress(NotLoaded):
                load(resealed(files, forged))
    for one in PLANTED:
        with contextlib.suppress(NotLoaded):
            load(resealed(files, content | {"posterior": one}))
    assert RAN == []
    Planted()
    assert len(RAN) == 1, "which shows that running it is noticed"
    RAN.clear()


def test_forged_descriptions_raise_nothing_else():
    files, rng = files_of(posterior()), random.Random(1)
    content = content_of(files)
    paths = [path for path in places(content["posterior"]) if path]
    refused = 0
    for _ in range(200):
        forged = copy.deepcopy(content)
        *before, last = rng.choice(paths)
        node = forged["posterior"]
        for key in before:
            node = node[key]
        node[last] = rng.choice(ODD)
        try:
            load(resealed(files, forged))
        except NotLoaded:
            refused += 1
    assert refused > 150


def test_missing_and_unknown_fields_are_named():
    files = files_of(posterior())
    content = content_of(files)
    fields = content["posterior"]["fields"]
    std = fields.pop("std")
    with pytest.raises(NotLoaded, match="diagonal_gaussian_posterior lacks 'std'"):
        load(resealed(files, content))
    fields |= {"std": std, "later": 1}
    with pytest.raises(NotLoaded, match="unknown 'later'"):
        load(resealed(files, content))


def test_weights_of_another_network_are_refused():
    other = TorchNetwork((Linear(7), ReLU(), Linear(5)), (4,))
    mode = dataclasses.replace(posterior().at_mean, network=other)
    files = files_of(dataclasses.replace(posterior(), at_mean=mode))
    with pytest.raises(NotLoaded, match=r"needs arrays of size \(75, 0\); got \(59, 0\)"):
        load(files)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("laplace_diagonal", {"widths": np.array([4, 10**6, 1])}, "needs arrays of size"),
        ("pbp", {"state.layout": Layout((4, 70, 1))}, "needs arrays of size"),
        ("hmc", {"network": ScaledPerceptron(Perceptron((4, 500, 1), ReLU()), INPUTS)}, "only"),
        ("message_passing", {"architecture": (Linear(9), ReLU(), Linear(1))}, "needs arrays"),
    ],
)
@pytest.mark.long
def test_sizes_that_compiled_code_would_follow_are_refused(name, change, message):
    one = fits_of(name, "mlp regression").posterior
    ((path, value),) = change.items()
    outer, _, inner = path.rpartition(".")
    part = dataclasses.replace(getattr(one, outer), **{inner: value}) if outer else value
    with pytest.raises(NotLoaded, match=message):
        load(files_of(dataclasses.replace(one, **{outer or inner: part})))


def test_a_newer_format_is_refused_by_a_sentence():
    files = files_of(posterior())
    newer = files[DESCRIPTION].replace(b'"format": 1', b'"format": 2')
    with pytest.raises(NotLoaded, match=r"version 2 of the format.* up to 1: pip install"):
        load(files | {DESCRIPTION: newer})


def test_a_class_that_is_not_imported_is_named_and_not_imported():
    files = files_of(posterior())
    content = content_of(files)
    content["posterior"]["type"] = "antigravity:Flight"
    with pytest.raises(NotLoaded, match="`import antigravity` before loading"):
        load(resealed(files, content))
    assert "antigravity" not in sys.modules


@dataclass(frozen=True)
class Constant:
    """Another's posterior."""

    log_probs: torch.Tensor
    diagnostics: dict
    shown: tuple = ()

    def __post_init__(self):
        object.__setattr__(self, "shown", (*self.shown, 1))

    def predict(self, inputs, rng):
        return CategoricalPredictive(self.log_probs.expand(1, len(inputs), -1))


def test_a_name_in_a_module_that_imports_lazily_imports_nothing():
    import scipy

    before = set(sys.modules)
    with pytest.raises(NotLoaded, match="loading imports no code"):
        kind_of("scipy:differentiate.derivative")
    assert set(sys.modules) == before
    assert "differentiate" in scipy.__all__


def test_arrays_of_equal_paths_are_two():
    first, second = torch.tensor([1.0]), torch.tensor([2.0])
    encoder = Encoder()
    node = encoder.node({"a.b": first, "a": {"b": second}, "file": torch.tensor([3.0])})
    again = Decoder(encoder.collected.arrays, (), frozenset()).value(node)
    assert torch.equal(again["a.b"], first)
    assert torch.equal(again["a"]["b"], second)
    np.savez(io.BytesIO(), **encoder.collected.arrays)


@pytest.mark.parametrize("node", [{"scalar": 1}, {"mapping": [[[], 1]]}])
def test_a_part_of_another_kind_is_not_loaded(node):
    files = files_of(posterior())
    with pytest.raises(NotLoaded):
        load(resealed(files, content_of(files) | {"posterior": node}))


def test_an_imported_class_of_the_users_comes_back_without_running_its_code(tmp_path):
    one = Constant(torch.tensor([-1.0, -2.0]), {"r_hat": math.nan, "limit": -math.inf})
    bnnbench.save(one, tmp_path / "own")
    again = bnnbench.load(tmp_path / "own")
    assert type(again) is Constant
    assert again.shown == (1,)
    assert torch.equal(answers(again), answers(one))
    assert math.isnan(again.diagnostics["r_hat"])
    assert again.diagnostics["limit"] == -math.inf


def own_network(width=3):
    return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 3))


@cache
def posterior_of_own_network():
    given = classification()
    layer = TorchModule(own_network, outputs=3, arguments={"width": 5})
    return AdamW(epochs=1).fit(Problem(given.train, Categorical(3), (layer,)), stream(1))


def test_a_network_of_the_users_is_called_only_with_permission():
    one = posterior_of_own_network()
    files = files_of(one)
    assert torch.equal(answers(load(files, networks=[own_network])), answers(one))
    with pytest.raises(NotLoaded, match=r"networks=\[own_network\]"):
        load(files)
    content = content_of(files)
    forged = json.loads(json.dumps(content).replace(f"{__name__}:own_network", "os:system"))
    with pytest.raises(NotLoaded, match=r"needs the network os:system"):
        load(resealed(files, forged), networks=[own_network])


def test_what_cannot_be_saved_is_named_with_its_place():
    one = Constant(torch.ones(2), {"call": lambda: 1})
    with pytest.raises(NotSaved, match=r"diagnostics.call: a builtins:function cannot be saved"):
        files_of(one)


def test_nothing_but_a_saved_posterior_is_replaced(tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(NotSaved, match="choose another path"):
        bnnbench.save(posterior(), tmp_path / "photos")
    bnnbench.save(posterior(), tmp_path / "one")
    bnnbench.save(posterior(), tmp_path / "one", method=AdamW(epochs=7))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one", "photos"]
    described = json.loads((tmp_path / "one" / DESCRIPTION).read_text())["method"]
    assert (described["type"], described["fields"]["epochs"]) == ("adamw", 7)


def test_a_folder_that_is_none_says_so(tmp_path):
    with pytest.raises(NotLoaded, match=f"{tmp_path / 'no'} cannot be loaded: there is no file"):
        bnnbench.load(tmp_path / "no")


def test_arrays_are_read_by_numpy_alone(tmp_path):
    bnnbench.save(posterior(), tmp_path / "one")
    weights = np.load(Path(tmp_path, "one", ARRAYS))["at_mean.weights"]
    assert np.array_equal(weights, posterior().at_mean.weights.numpy())


def test_a_file_of_the_first_format_loads():
    saved = bnnbench.load(Path(__file__).parent / "format_1")
    prediction = saved.predict(torch.tensor([[1.0, 3.0], [0.0, 0.0]]), stream(0))
    assert prediction.mean[:, 0].tolist() == [2.0 * 1 - 3 + 0.5, 0.5]
    assert prediction.variance[:, 0].tolist() == [0.25, 0.25]
