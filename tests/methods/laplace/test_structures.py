"""Approximations of the Gauss-Newton matrix, against the matrix by automatic differentiation."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.laplace import gauss_newton as chunks
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.layer_recorder import LayerRecorder
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.networks.architectures import Conv2d, Flatten, Linear, MaxPool2d, ReLU, Tanh
from tests.methods.laplace.explicit import gauss_newton, matrix, mode_of, normal_inputs

PERCEPTRON = (Linear(5), Tanh(), Linear(4), Tanh(), Linear(3))
CONVOLUTIONAL = (Conv2d(3, 3), Tanh(), MaxPool2d(2), Conv2d(2, 2), Tanh(), Flatten(), Linear(3))
CASES = {
    "perceptron, classes": (PERCEPTRON, (4,), Categorical(3)),
    "perceptron, regression": (PERCEPTRON, (4,), Gaussian()),
    "convolutions, classes": (CONVOLUTIONAL, (2, 6, 6), Categorical(3)),
    "convolutions, regression": (CONVOLUTIONAL, (2, 6, 6), Gaussian()),
}


@pytest.fixture(params=CASES)
def case(request):
    architecture, shape, likelihood = CASES[request.param]
    return mode_of(architecture, shape, likelihood), normal_inputs(7, *shape)


def assert_near(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


def test_the_full_one_is_the_matrix(case):
    mode, inputs = case
    assert_near(matrix(Full().spectrum(mode, inputs), mode), gauss_newton(mode, inputs))


def test_for_logistic_regression_it_is_the_hessian():
    mode = mode_of((Linear(3),), (4,), Categorical(3))
    inputs, targets = normal_inputs(20, 4), torch.arange(20) % 3

    def loss(weights: Tensor) -> Tensor:
        logits = inputs @ weights[:12].view(3, 4).T + weights[12:]
        return functional.cross_entropy(logits, targets, reduction="sum")

    hessian = torch.autograd.functional.hessian(loss, mode.weights[0])
    assert isinstance(hessian, Tensor)
    assert_near(matrix(Full().spectrum(mode, inputs), mode), hessian)


def test_the_diagonal_one_is_its_diagonal(case):
    mode, inputs = case
    expected = gauss_newton(mode, inputs).diagonal()
    assert_near(matrix(Diagonal().spectrum(mode, inputs), mode), expected.diag())


@pytest.mark.parametrize("structure", [Full("last"), Diagonal("last"), Kfac("last")])
def test_the_last_layer_alone_is_the_last_block(case, structure):
    mode, inputs = case
    found = matrix(structure.spectrum(mode, inputs), mode)
    start = LayerRecorder(mode.network, last_only=True).blocks[0].start
    assert (found[:start] == 0).all()
    expected = gauss_newton(mode, inputs)[start:, start:]
    if isinstance(structure, Diagonal):
        expected = expected.diagonal().diag()
    # Kronecker factors are exact where b is the same at every point.
    if not isinstance(structure, Kfac) or isinstance(mode.likelihood, Gaussian):
        assert_near(found[start:, start:], expected)


def test_a_subnetwork_has_the_weights_of_least_curvature(case):
    mode, inputs = case
    full = gauss_newton(mode, inputs)
    spectrum = Subnetwork(11).spectrum(mode, inputs)
    chosen = spectrum.covered(torch.arange(len(full)).double()).long()
    assert len(chosen) == 11
    others = torch.ones(len(full), dtype=torch.bool).scatter(0, chosen, False)
    assert full.diagonal()[chosen].max() <= full.diagonal()[others].min() + 1e-12
    expected = torch.zeros_like(full)
    expected[chosen[:, None], chosen] = full[chosen[:, None], chosen]
    assert_near(matrix(spectrum, mode), expected)


def test_weights_of_dead_units_are_the_last_of_a_subnetwork():
    mode = mode_of((Linear(3), ReLU(), Linear(1)), (2,), Gaussian())
    mode.weights[0, 2:4], mode.weights[0, 7] = 0.0, -1.0  # the second unit's weights and bias
    inputs = normal_inputs(30, 2)
    dead = {2, 3, 7, 10}
    places = torch.arange(13).double()
    assert not dead & set(Subnetwork(9).spectrum(mode, inputs).covered(places).tolist())
    assert len(dead & set(Subnetwork(12).spectrum(mode, inputs).covered(places).tolist())) == 3


def test_a_subnetwork_larger_than_the_network_is_all_of_it(case):
    mode, inputs = case
    assert_near(matrix(Subnetwork(10_000).spectrum(mode, inputs), mode), gauss_newton(mode, inputs))


@pytest.mark.parametrize("structure", [Full(), Diagonal(), Kfac(), Subnetwork(9)])
def test_the_number_of_points_taken_together_does_not_matter(case, structure, monkeypatch):
    mode, inputs = case
    together = matrix(structure.spectrum(mode, inputs), mode)
    monkeypatch.setattr(chunks, "POINTS_AT_ONCE", 2)
    assert_near(matrix(structure.spectrum(mode, inputs), mode), together)


def test_points_taken_together_have_so_many_values_at_most(case):
    recorder = LayerRecorder(case[0].network)
    many = chunks.points_at_once(recorder, 3)
    assert many == chunks.POINTS_AT_ONCE
    assert many * chunks.values_per_point(recorder, 3) <= chunks.VALUES_AT_ONCE
    wide = LayerRecorder(
        mode_of((Linear(2000), ReLU(), Linear(3)), (4000,), Categorical(3)).network
    )
    assert chunks.points_at_once(wide, 3) == 1


def test_too_many_weights_for_a_full_matrix_are_refused_with_a_cure(case):
    mode, inputs = case
    with pytest.raises(Unsupported, match=r"at most 20 weights.*only the last layer"):
        Full(most=20).spectrum(mode, inputs)


@pytest.mark.parametrize("structure", [Full(), Diagonal(), Kfac(), Subnetwork(9)])
def test_curvature_that_is_not_finite_has_diverged(case, structure):
    mode, inputs = case
    with pytest.raises(InferenceDiverged, match="finite"):
        structure.spectrum(mode, inputs * torch.inf)
