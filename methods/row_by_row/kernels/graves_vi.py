"""Stochastic variational inference after every row, compiled."""

import numpy as np

from bnnbench.methods.compiled.normal import BLOCK, fill_normal
from bnnbench.methods.compiled.numba_code import reordered
from bnnbench.methods.row_by_row.kernels.perceptron import loss_and_gradient, workspace


@reordered
def vary_epoch(
    mean,
    precision,
    velocity,
    spread_velocity,
    state,
    widths,
    tanh,
    inputs,
    targets,
    order,
    classify,
    natural,
    rate,
    momentum,
    memory,
    noise_variance,
    prior_mean,
    prior_variance,
):
    """Update means, precisions and velocities after each row; return the mean loss of the draws.

    With h the gradient of a row's loss at weights mean + std ε, v the noise variance and N rows:

    velocity ← momentum velocity + h + v (mean - prior mean) / (N prior variance)
    mean ← mean - rate velocity

    and, if `natural`,

    precision ← precision + (N h² / v² + 1 / prior variance - precision) / memory

    or else, by the gradient of the same bound with respect to log std,

    spread velocity ← momentum spread velocity + h ε std + v (std² / prior variance - 1) / N
    log std ← log std - rate spread velocity
    """
    rows, size = len(inputs), len(mean)
    space, gradient, weights = workspace(widths), np.empty(size), np.empty(size)
    normals = np.empty(-(-size // BLOCK) * BLOCK)
    pull = noise_variance / (rows * prior_variance)
    fisher = rows / (noise_variance * noise_variance * memory)
    prior, keep = 1.0 / (prior_variance * memory), 1.0 - 1.0 / memory
    total = 0.0
    for n in order:
        fill_normal(state, normals)
        for j in range(size):
            weights[j] = mean[j] + normals[j] / np.sqrt(precision[j])
        total += loss_and_gradient(
            weights, widths, tanh, inputs[n], targets[n], classify, space, gradient
        )
        for j in range(size):
            velocity[j] = momentum * velocity[j] + (gradient[j] + pull * (mean[j] - prior_mean))
            mean[j] -= rate * velocity[j]
        if natural:
            for j in range(size):
                precision[j] = keep * precision[j] + (prior + fisher * gradient[j] * gradient[j])
        else:
            for j in range(size):
                std = 1.0 / np.sqrt(precision[j])
                slope = gradient[j] * normals[j] * std + pull * std * std - noise_variance / rows
                spread_velocity[j] = momentum * spread_velocity[j] + slope
                precision[j] *= np.exp(2.0 * rate * spread_velocity[j])
    return total / len(order)
