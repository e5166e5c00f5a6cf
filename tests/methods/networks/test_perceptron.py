"""Architectures read as perceptrons."""

import pytest

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import (
    Conv2d,
    Dropout,
    Flatten,
    LeakyReLU,
    Linear,
    ReLU,
    Tanh,
)
from bnnbench.methods.networks.catalogue import cnn_000, mlp
from bnnbench.methods.networks.perceptron import Perceptron, as_perceptron


def test_widths_run_from_the_features_to_the_outputs():
    assert as_perceptron(mlp([50, 20], 3), (13,), ReLU) == Perceptron((13, 50, 20, 3), ReLU())
    tanh = mlp([10], 1, Tanh())
    assert as_perceptron(tanh, (4,), ReLU, Tanh) == Perceptron((4, 10, 1), Tanh())


def test_a_linear_model_has_no_activation():
    assert as_perceptron(mlp([], 1), (13,), ReLU) == Perceptron((13, 1), None)


def test_an_image_is_flattened_first():
    architecture = (Flatten(), *mlp([9], 2))
    assert as_perceptron(architecture, (3, 4, 5), ReLU).widths == (60, 9, 2)


@pytest.mark.parametrize(
    ("architecture", "shape"),
    [
        (cnn_000(), (3, 32, 32)),
        (mlp([5], 1), (3, 4, 4)),
        (mlp([5], 1, Tanh()), (3,)),
        (mlp([5], 1, dropout=0.1), (3,)),
        ((Linear(5, bias=False), ReLU(), Linear(1)), (3,)),
        ((Linear(5), ReLU(), ReLU(), Linear(1)), (3,)),
        ((Linear(5), ReLU()), (3,)),
        ((Linear(5), Linear(1)), (3,)),
        ((), (3,)),
        ((Conv2d(3, 3), Flatten(), Linear(1)), (3, 8, 8)),
        ((Dropout(0.1), Linear(1)), (3,)),
    ],
    ids=lambda value: "",
)
def test_anything_else_is_refused_with_what_was_needed(architecture, shape):
    with pytest.raises(Unsupported, match="needed a perceptron, dense layers with biases and ReLU"):
        as_perceptron(architecture, shape, ReLU)


def test_activations_must_be_equal_throughout():
    mixed = (Linear(5), LeakyReLU(0.1), Linear(5), LeakyReLU(0.2), Linear(1))
    with pytest.raises(Unsupported):
        as_perceptron(mixed, (3,), LeakyReLU)
