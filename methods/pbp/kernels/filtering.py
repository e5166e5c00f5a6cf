"""Assumed-density filtering, one row after another, and the refinement of prior factors."""

import math

import numpy as np

from bnnbench.methods.compiled.numba_code import fused
from bnnbench.methods.pbp.kernels import correlated
from bnnbench.methods.pbp.kernels.classes import many_classes, two_classes
from bnnbench.methods.pbp.kernels.constants import (
    KEPT_NOISE_UPDATES,
    LARGEST_CAVITY_VARIANCE,
    REJECTED_UPDATES,
    SKIPPED_REFINEMENTS,
)
from bnnbench.methods.pbp.kernels.layers import downwards, first_forward, padded, upwards
from bnnbench.methods.pbp.kernels.moments import LOG_ROOT_TAU, gamma_update, is_gamma


@fused
def filter_gaussian(
    widths,
    mean,
    variance,
    noise,
    learns_noise,
    inputs,
    targets,
    order,
    work,
    padding,
    joint,
    counts,
):
    """Process the rows in this order, one update each; return the sum of -log Z.

    `noise` has a row (shape, rate) for every output; if the noise is known, this Gamma is constant.
    `joint` is None if the units of a layer are independent.
    """
    squares, outputs = np.empty((1, inputs.shape[1])), np.empty((4, targets.shape[1]))
    loss = len(order) * targets.shape[1] * LOG_ROOT_TAU
    product = 1.0
    if len(widths) > 2 and len(order):
        first_forward(
            mean, variance, widths[0] + 1, padded(widths[1]), inputs, order[0], squares, work
        )
    for place in range(len(order)):
        row, following = order[place], order[min(place + 1, len(order) - 1)]
        if joint is None:
            upwards(widths, mean, variance, inputs, row, work, padding, outputs)
        else:
            correlated.upwards(widths, mean, variance, work, padding, joint, outputs)
        for o in range(targets.shape[1]):
            shape, rate = noise[o, 0], noise[o, 1]
            error = targets[row, o] - outputs[0, o]
            inverse = 1 / (outputs[1, o] + rate / (shape - 1))
            outputs[2, o] = error * inverse
            outputs[3, o] = 0.5 * (error * error * inverse - 1) * inverse
            loss += 0.5 * error * error * inverse
            product *= inverse
            if not 1e-100 < product < 1e100:  # one logarithm for many factors
                loss -= 0.5 * math.log(product)
                product = 1.0
            if learns_noise:
                shape, rate = gamma_update(shape, rate, error * error, outputs[1, o])
                if is_gamma(shape, rate):
                    noise[o, 0], noise[o, 1] = shape, rate
                else:
                    counts[KEPT_NOISE_UPDATES] += 1
        if joint is None:
            rejected = downwards(
                widths, mean, variance, inputs, row, following, squares, work, outputs
            )
        else:
            rejected = correlated.downwards(
                widths, mean, variance, inputs, row, following, squares, work, joint, outputs
            )
        counts[REJECTED_UPDATES] += rejected
    return loss - 0.5 * math.log(product)


@fused
def filter_categorical(
    widths, mean, variance, nodes, log_weights, inputs, labels, order, work, padding, joint, counts
):
    """Process the rows in this order, one update each; return the sum of -log Z."""
    classes = widths[-1]
    squares, outputs = np.empty((1, inputs.shape[1])), np.empty((4, classes))
    hazards, arguments = np.empty((len(nodes), classes)), np.empty((len(nodes), classes))
    shares = np.empty(len(nodes))
    loss = 0.0
    if len(widths) > 2 and len(order):
        first_forward(
            mean, variance, widths[0] + 1, padded(widths[1]), inputs, order[0], squares, work
        )
    for place in range(len(order)):
        row, following = order[place], order[min(place + 1, len(order) - 1)]
        if joint is None:
            upwards(widths, mean, variance, inputs, row, work, padding, outputs)
        else:
            correlated.upwards(widths, mean, variance, work, padding, joint, outputs)
        label = labels[row]
        if classes == 2:
            loss -= two_classes(outputs, label)
        else:
            loss -= many_classes(outputs, label, nodes, log_weights, hazards, arguments, shares)
        if joint is None:
            rejected = downwards(
                widths, mean, variance, inputs, row, following, squares, work, outputs
            )
        else:
            rejected = correlated.downwards(
                widths, mean, variance, inputs, row, following, squares, work, joint, outputs
            )
        counts[REJECTED_UPDATES] += rejected
    return loss


@fused
def refine(widths, mean, variance, precision, shape, rate, prior, counts):
    r"""Refine the prior factor of every weight, layer by layer and unit by unit, bias last.

    The stored factor is a Gaussian with mean 0 and the cavity's precision (a - 1)/b.
    """
    layers = len(widths) - 1
    a, b = prior[0], prior[1]
    start = 0
    for layer in range(layers):
        rows = widths[layer] + 1
        for unit in range(widths[layer + 1]):
            for j in range(rows):
                last = layer == layers - 1
                row, column = (start + unit, j) if last else (start + j, unit)
                v = variance[row, column]
                cavity = v / (1 - v * precision[row, column])
                cavity_shape, cavity_rate = a - shape[row, column], b + rate[row, column]
                refined = 0 < cavity < LARGEST_CAVITY_VARIANCE
                if refined and is_gamma(cavity_shape, cavity_rate):
                    m = mean[row, column] * cavity / v
                    new_a, new_b = gamma_update(cavity_shape, cavity_rate, m * m, cavity)
                    if math.isfinite(new_a) and math.isfinite(new_b):
                        pull = (cavity_shape - 1) / cavity_rate
                        shrink = 1 / (1 + cavity * pull)
                        mean[row, column] = m * shrink
                        variance[row, column] = cavity * shrink
                        precision[row, column] = pull
                        shape[row, column] = new_a - cavity_shape
                        rate[row, column] = cavity_rate - new_b
                        a, b = new_a, new_b
                        continue
                counts[SKIPPED_REFINEMENTS] += 1
        start += rows
    prior[0], prior[1] = a, b
