"""The compiled loss, gradient and Gauss-Newton diagonal, compared with torch's autograd."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from bnnbench.methods.networks.architectures import ReLU, Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.row_by_row.kernels.laplace import curvature, linearised, total_loss
from bnnbench.methods.row_by_row.kernels.perceptron import loss_and_gradient, workspace
from bnnbench.methods.row_by_row.perceptron import RowPerceptron
from tests.methods.problems import classification, regression, stream

NETWORKS = [
    mlp(hidden, 3, activation=activation)
    for hidden in ([], [7], [5, 4], [3, 6, 2])
    for activation in (ReLU(), Tanh())
]


@pytest.fixture(params=NETWORKS, ids=str)
def architecture(request):
    return request.param


@pytest.fixture(params=["regression", "classification"])
def rows(request, architecture) -> RowPerceptron:
    if request.param == "classification":
        return RowPerceptron(classification(architecture=architecture, dtype=torch.float64))
    problem = regression(architecture=architecture, dtype=torch.float64)
    problem.train.targets.resize_(37, 3).normal_(generator=stream(8))
    return RowPerceptron(problem)


@pytest.fixture
def weights(rows) -> np.ndarray:
    return 2 * rows.initial(stream(1))


def outputs(rows, flat, inputs=None):
    given = rows.problem.train.inputs if inputs is None else inputs
    return rows.network(flat[None], given[None])[0]


def torch_loss(rows, flat):
    """Return each row's loss by torch's own functions."""
    predicted, targets = outputs(rows, flat), rows.problem.train.targets
    if rows.categorical:
        return functional.cross_entropy(predicted, targets, reduction="none")
    return 0.5 * (predicted - targets).square().sum(1)


def test_loss_and_gradient_of_a_row_agree_with_autograd(rows, weights):
    flat = rows.in_torch(weights).requires_grad_()
    losses = torch_loss(rows, flat)
    space = workspace(rows.widths)
    for n in (0, 36):
        gradient = np.full_like(weights, np.nan)
        loss = loss_and_gradient(
            weights,
            rows.widths,
            rows.tanh,
            rows.inputs[n],
            rows.targets[n],
            rows.categorical,
            space,
            gradient,
        )
        (expected,) = torch.autograd.grad(losses[n], flat, retain_graph=True)
        assert loss == pytest.approx(float(losses[n].detach()), rel=1e-12)
        torch.testing.assert_close(rows.in_torch(gradient), expected, rtol=1e-11, atol=1e-13)


def test_the_full_batch_adds_up_all_rows(rows, weights):
    flat = rows.in_torch(weights).requires_grad_()
    expected = torch_loss(rows, flat).sum()
    expected.backward()
    loss, gradient = total_loss(
        weights, rows.widths, rows.tanh, rows.inputs, rows.targets, rows.categorical
    )
    assert loss == pytest.approx(float(expected.detach()), rel=1e-12)
    torch.testing.assert_close(rows.in_torch(gradient), flat.grad, rtol=1e-11, atol=1e-12)


def test_the_gauss_newton_diagonal_agrees_with_jacobians_and_output_hessians(rows, weights):
    flat = rows.in_torch(weights)
    jacobians = torch.func.jacrev(lambda w: outputs(rows, w))(flat)  # points outputs parameters
    hessian = torch.eye(3, dtype=torch.float64).expand(37, 3, 3)
    if rows.categorical:
        p = outputs(rows, flat).softmax(-1)
        hessian = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
    expected = torch.einsum("nap,nab,nbp->p", jacobians, hessian, jacobians)
    diagonal = curvature(weights, rows.widths, rows.tanh, rows.inputs, rows.categorical)
    torch.testing.assert_close(rows.in_torch(diagonal), expected, rtol=1e-10, atol=1e-12)


def test_linearised_variances_agree_with_finite_differences(rows, weights):
    variances = np.abs(rows.initial(stream(3)))
    means, spreads = linearised(weights, variances, rows.widths, rows.tanh, rows.inputs)
    flat, step = rows.in_torch(weights), 1e-6
    expected = torch.zeros(37, 3, dtype=torch.float64)
    for place, variance in enumerate(rows.in_torch(variances)):
        shift = torch.zeros_like(flat)
        shift[place] = step
        slope = (outputs(rows, flat + shift) - outputs(rows, flat - shift)) / (2 * step)
        expected += variance * slope.square()
    torch.testing.assert_close(torch.from_numpy(means), outputs(rows, flat))
    torch.testing.assert_close(torch.from_numpy(spreads), expected, rtol=1e-6, atol=1e-9)
