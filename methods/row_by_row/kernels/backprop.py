"""Gradient descent with momentum and weight decay after every row, compiled."""

import numpy as np

from bnnbench.methods.compiled.numba_code import reordered
from bnnbench.methods.row_by_row.kernels.perceptron import loss_and_gradient, workspace


@reordered
def descend_epoch(
    weights, velocity, widths, tanh, inputs, targets, order, classify, rate, momentum, decay
):
    """Update weights and velocity after each row in the given order; return the mean loss.

    v ← momentum v + gradient + decay w, w ← w - rate v. Source: Rumelhart et al. (1986).
    """
    space, gradient = workspace(widths), np.empty_like(weights)
    total = 0.0
    for n in order:
        total += loss_and_gradient(
            weights, widths, tanh, inputs[n], targets[n], classify, space, gradient
        )
        for j in range(len(weights)):
            velocity[j] = momentum * velocity[j] + (gradient[j] + decay * weights[j])
            weights[j] -= rate * velocity[j]
    return total / len(order)
