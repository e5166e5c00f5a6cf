import json
import subprocess
from dataclasses import replace

import pytest

from bnnbench.methods.networks.architectures import (
    VOCABULARY,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    FeatureResponseNorm,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
    from_json,
    to_json,
)
from bnnbench.methods.networks.catalogue import cnn_000, lenet_000, preresnet164, resnet20_frn
from bnnbench.methods.networks.shapes import (
    describe,
    output_shape,
    output_shapes,
    parameter_count,
    parameter_slices,
)
from tests.warm import python

IMAGE = (3, 8, 8)


def test_the_vocabulary_has_twenty_one_words():
    assert len(VOCABULARY) == 21


@pytest.mark.parametrize("network", [cnn_000(), lenet_000(symmetric=True), resnet20_frn(), ()])
def test_a_description_survives_json(network):
    read = from_json(json.loads(json.dumps(to_json(network))))
    assert read == network
    assert hash(read) == hash(network)


def test_a_changed_field_changes_equality_and_hash():
    network = resnet20_frn()
    body = network[3].body
    changed = replace(network[3], body=(replace(body[0], stride=2), *body[1:]))
    other = (*network[:3], changed, *network[4:])
    assert other != network
    assert hash(other) != hash(network)


def test_equal_values_have_one_spelling():
    assert Conv2d(4, 3, padding=(1, 1)) == Conv2d(4, 3, padding=1)
    assert from_json([{"layer": "Conv2d", "channels": 4, "kernel": 3, "padding": [1, 1]}]) == (
        Conv2d(4, 3, padding=1),
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(0), "outputs to be a positive integer; got 0"),
        (lambda: Conv2d(4, -3), "kernel to be a positive integer; got -3"),
        (lambda: Conv2d(4, 3, padding=-1), "padding"),
        (lambda: LeakyReLU(float("nan")), "slope to be finite; got nan"),
        (lambda: LeakyReLU(float("inf")), "slope to be finite; got inf"),
        (lambda: Dropout(1.0), r"rate in \[0, 1\); got 1.0"),
        (lambda: Dropout(-0.1), "rate"),
        (lambda: BatchNorm(epsilon=0.0), "epsilon to be positive"),
        (lambda: BatchNorm(momentum=1.5), "momentum"),
        (lambda: MaxPool2d(0), "size"),
    ],
)
def test_a_field_out_of_range_is_refused_with_what_came(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.long
def test_a_field_of_the_wrong_type_is_refused_without_a_type_checker(project):
    script = """
from bnnbench.methods.networks.architectures import *
calls = {
    "outputs to be a positive integer; got 2.0": lambda: Linear(2.0),
    "outputs to be a positive integer; got True": lambda: Linear(True),
    "bias to be True or False; got 1": lambda: Linear(3, bias=1),
    "got (0, 1, 2)": lambda: Conv2d(4, 3, padding=(0, 1, 2)),
    "got [1, 1]": lambda: Conv2d(4, 3, padding=[1, 1]),
    "got 'reflect'": lambda: Conv2d(4, 3, padding_mode="reflect"),
    "slope to be finite; got '1'": lambda: LeakyReLU("1"),
    "tuples of layers": lambda: Residual([ReLU()]),
    "needs layers; got 'relu'": lambda: Residual(("relu",)),
    "needs layers; got <class": lambda: Residual((ReLU,)),
}
for message, call in calls.items():
    try:
        call()
    except ValueError as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)
assert LeakyReLU(1) == LeakyReLU(1.0) and to_json((LeakyReLU(1),))[0]["slope"] == 1.0
assert type(LeakyReLU(1).slope) is float
"""
    done = subprocess.run(python("-c", script), cwd=project, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ([{"layer": "Lineer", "outputs": 3}], "Lineer"),
        ([{"outputs": 3}], "None"),
        ([{"layer": "Linear", "widht": 3}], "no field widht"),
        ([{"layer": "Linear"}], "outputs"),
    ],
)
def test_a_third_party_description_is_refused(description, message):
    with pytest.raises(ValueError, match=message):
        from_json(description)


def test_shapes_follow_the_data():
    network = (Conv2d(6, 3, stride=2, padding=(0, 1)), MaxPool2d(3), Flatten(), Linear(5))
    assert output_shapes(network, (3, 8, 9)) == ((6, 4, 4), (6, 1, 1), (6,), (5,))
    assert output_shape((), IMAGE) == IMAGE


@pytest.mark.parametrize(
    ("network", "shape", "message"),
    [
        ((Linear(3),), IMAGE, "put Flatten"),
        ((Flatten(), Conv2d(3, 3)), IMAGE, r"at 1 needs an image"),
        ((Conv2d(3, 9),), IMAGE, "sides of at least 9"),
        ((Conv2d(3, 3, padding=9, padding_mode="symmetric"),), IMAGE, "symmetric padding"),
        ((AvgPool2d(9),), IMAGE, "sides of at least 9"),
        ((GlobalAvgPool2d(),), (4,), "needs an image"),
        ((FeatureResponseNorm(),), (4,), "needs an image"),
        ((ReLU(),), (3, 8), r"got \(3, 8\)"),
        ((ReLU(),), (0,), r"got \(0,\)"),
        ((Residual((Conv2d(3, 3), Linear(2))),), IMAGE, r"at 0\.body\.1"),
    ],
)
def test_a_layer_that_cannot_take_its_input_says_so(network, shape, message):
    with pytest.raises(ValueError, match=message):
        output_shape(network, shape)


def test_branches_that_disagree_are_refused_with_both_shapes():
    network = (ReLU(), Residual((Conv2d(4, 3),)))
    with pytest.raises(ValueError, match=r"at 1 .*\(4, 6, 6\).*\(3, 8, 8\)"):
        output_shapes(network, IMAGE)


def test_parameters_lie_weight_before_bias_and_body_before_shortcut():
    block = Residual((Conv2d(4, 3, padding=1), BatchNorm()), (Conv2d(4, 1, bias=False),))
    slices = parameter_slices((block, GlobalAvgPool2d(), Linear(2)), IMAGE)
    assert [part.path for part in slices] == [
        *("0.body.0.weight", "0.body.0.bias", "0.body.1.weight", "0.body.1.bias"),
        *("0.shortcut.0.weight", "2.weight", "2.bias"),
    ]
    assert [part.offset for part in slices] == [0, 108, 112, 116, 120, 132, 140]
    assert [part.fan_in for part in slices] == [27, 27, 1, 1, 3, 4, 4]


def test_a_network_without_layers_has_no_parameters():
    assert parameter_count((), IMAGE) == 0
    assert parameter_count((Residual(()),), IMAGE) == 0


def test_the_text_names_layers_shapes_and_counts():
    lines = describe(cnn_000(), (3, 32, 32)).splitlines()
    assert lines[1].replace("  ", "") == "0 Conv2d(channels=32, kernel=3)32 x 30 x 30896"
    assert lines[-1].split() == ["total", "890,410"]
    assert "3.shortcut" not in describe(resnet20_frn(), (3, 32, 32))
    assert "7.body.2 Conv2d" in describe(preresnet164(), (3, 32, 32))
