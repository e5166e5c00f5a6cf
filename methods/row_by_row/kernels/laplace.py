"""Full-batch loss, Gauss-Newton diagonal and linearised outputs of a perceptron, compiled."""

import numpy as np

from bnnbench.methods.compiled.numba_code import reordered
from bnnbench.methods.row_by_row.kernels.perceptron import (
    backward,
    forward,
    loss_and_gradient,
    softmax,
    workspace,
)


@reordered
def total_loss(weights, widths, tanh, inputs, targets, classify):
    """Return the summed loss of all rows and its gradient."""
    space, row_gradient = workspace(widths), np.empty_like(weights)
    total, gradient = 0.0, np.zeros_like(weights)
    for n in range(len(inputs)):
        total += loss_and_gradient(
            weights, widths, tanh, inputs[n], targets[n], classify, space, row_gradient
        )
        for j in range(len(weights)):
            gradient[j] += row_gradient[j]
    return total, gradient


@reordered
def curvature(weights, widths, tanh, inputs, classify):
    """Return the diagonal of the Gauss-Newton Hessian of the summed loss.

    Each row adds squares of Jᵀs. For squared errors, s is each unit vector; for a softmax with
    probabilities p, s is each unit vector minus p, weighted by its p.
    """
    space, derivatives = workspace(widths), np.empty_like(weights)
    outputs, slopes = space[1], space[2]
    probabilities, diagonal = np.ones(len(outputs)), np.zeros_like(weights)
    for n in range(len(inputs)):
        forward(weights, widths, tanh, inputs[n], space)
        if classify:
            softmax(outputs, probabilities)
        for k in range(len(outputs)):
            for other in range(len(outputs)):
                slopes[other] = -probabilities[other] if classify else 0.0
            slopes[k] += 1.0
            backward(weights, widths, tanh, space, derivatives)
            for j in range(len(weights)):
                diagonal[j] += probabilities[k] * derivatives[j] * derivatives[j]
    return diagonal


@reordered
def linearised(weights, variances, widths, tanh, inputs):
    """Return each row's outputs and their variances J diag(variances) Jᵀ, output by output."""
    space, derivatives = workspace(widths), np.empty_like(weights)
    outputs, slopes = space[1], space[2]
    means, spreads = np.empty((len(inputs), len(outputs))), np.zeros((len(inputs), len(outputs)))
    for n in range(len(inputs)):
        forward(weights, widths, tanh, inputs[n], space)
        for k in range(len(outputs)):
            means[n, k] = outputs[k]
            slopes[:] = 0.0
            slopes[k] = 1.0
            backward(weights, widths, tanh, space, derivatives)
            for j in range(len(weights)):
                spreads[n, k] += variances[j] * derivatives[j] * derivatives[j]
    return means, spreads
