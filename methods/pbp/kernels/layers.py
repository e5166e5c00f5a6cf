r"""Forward moments and backward updates through a network, for one row of the data.

Weights are the rows of one matrix (methods/pbp/state.py): the weights from one input to all units
of a hidden layer, or to one output. Thus every loop over weights runs over contiguous numbers,
eight at a time. The step is paper 004's, equations 6, 7 and 12 to 17, with gradients in closed
form.
"""

import math

from bnnbench.methods.compiled.numba_code import fused_inline
from bnnbench.methods.compiled.simd import count, every, load, splat, store, total, where
from bnnbench.methods.pbp.kernels.constants import SMALLEST_VARIANCE
from bnnbench.methods.pbp.kernels.moments import (
    DENSITY_AT_ZERO,
    LARGEST_STANDARDISED,
    clamped,
    exponential,
    mills_ratio,
    reciprocal_root,
    relu_moments,
)

# Rows of the workspace. All layers share the first six; six rows per hidden layer follow.
SUM_MEAN, SUM_VARIANCE = 0, 1
OF_MEAN, OF_VARIANCE = 2, 3
OF_UNIT_MEAN, OF_UNIT_VARIANCE = 4, 5
SHARED_ROWS = 6
UNIT_MEAN, UNIT_VARIANCE = 0, 1
MEAN_BY_MEAN, MEAN_BY_VARIANCE, VARIANCE_BY_MEAN, VARIANCE_BY_VARIANCE = 2, 3, 4, 5
LAYER_ROWS = 6


@fused_inline
def update(mean, variance, row, column, m, v, step, shrinkage):
    """Write eight weights after equations 6 and 7; return them, and how many were rejected.

    `step` is v d log Z/dm and `shrinkage` v² ((d log Z/dm)² - 2 d log Z/dv). A mean becomes NaN
    only if a gradient is NaN or infinite, and then the variance fails the test as well.
    """
    new_m, new_v, rejected = m + step, v - shrinkage, 0
    accepted = new_v > SMALLEST_VARIANCE
    if not every(accepted):
        new_m, new_v = where(accepted, new_m, m), where(accepted, new_v, v)
        rejected = 8 - count(accepted)
    store(mean, row, column, new_m)
    store(variance, row, column, new_v)
    return new_m, new_v, rejected


@fused_inline
def squared(inputs, row, squares):
    """Write the squares of a row of the inputs."""
    for column in range(0, inputs.shape[1], 8):
        x = load(inputs, row, column)
        store(squares, 0, column, x * x)


@fused_inline
def first_forward(mean, variance, rows, width, inputs, row, squares, work):
    """Write the moments of the first layer's sums, whose inputs have no variance."""
    squared(inputs, row, squares)
    for column in range(0, width, 8):
        sum_mean, sum_variance = splat(0.0), splat(0.0)
        for j in range(rows):
            sum_mean = sum_mean + load(mean, j, column) * inputs[row, j]
            sum_variance = sum_variance + load(variance, j, column) * squares[0, j]
        store(work, SUM_MEAN, column, sum_mean * (1 / math.sqrt(rows)))
        store(work, SUM_VARIANCE, column, sum_variance * (1 / rows))


@fused_inline
def first_update(mean, variance, rows, width, inputs, row, following, squares, work):
    """Update the first layer for one row and compute the next row's sums, in one pass."""
    squared(inputs, following, squares)
    rejected = 0
    root, share = 1 / math.sqrt(rows), 1 / rows
    for column in range(0, width, 8):
        of_mean = load(work, OF_MEAN, column)
        slope = of_mean * root
        curvature = (of_mean * of_mean - load(work, OF_VARIANCE, column) * 2.0) * share
        sum_mean, sum_variance = splat(0.0), splat(0.0)
        for j in range(rows):
            x, next_x = inputs[row, j], inputs[following, j]
            m, v = load(mean, j, column), load(variance, j, column)
            scaled = v * x
            m, v, stay = update(
                mean, variance, j, column, m, v, scaled * slope, scaled * scaled * curvature
            )
            rejected += stay
            sum_mean = sum_mean + m * next_x
            sum_variance = sum_variance + v * squares[0, j]
        store(work, SUM_MEAN, column, sum_mean * root)
        store(work, SUM_VARIANCE, column, sum_variance * share)
    return rejected


@fused_inline
def activate(work, base, width, padding):
    """Write a hidden layer's moments and their derivatives, and its bias unit.

    There are four passes, each a chain of operations short enough for a processor to overlap
    several.
    """
    inverses, alphas, densities, ratios = base, base + 1, base + 2, base + 3
    for column in range(0, width, 8):
        inverse = reciprocal_root(load(work, SUM_VARIANCE, column))
        store(work, inverses, column, inverse)
        store(work, alphas, column, load(work, SUM_MEAN, column) * inverse)
    for column in range(0, width, 8):
        t = clamped(load(work, alphas, column))
        density = exponential(t * t * -0.5) * DENSITY_AT_ZERO
        density = where(t < LARGEST_STANDARDISED, density, splat(0.0))
        store(work, densities, column, density)
    for column in range(0, width, 8):
        store(work, ratios, column, mills_ratio(clamped(load(work, alphas, column))))
    for column in range(0, width, 8):
        moments = relu_moments(
            load(work, SUM_VARIANCE, column),
            load(work, inverses, column),
            load(work, alphas, column),
            load(work, densities, column),
            load(work, ratios, column),
        )
        store(work, base + UNIT_MEAN, column, moments[0])
        store(work, base + UNIT_VARIANCE, column, moments[1])
        store(work, base + MEAN_BY_MEAN, column, moments[2])
        store(work, base + MEAN_BY_VARIANCE, column, moments[3])
        store(work, base + VARIANCE_BY_MEAN, column, moments[4])
        store(work, base + VARIANCE_BY_VARIANCE, column, moments[5])
    last = width - 8  # holds the bias unit and the padding
    unit, bias = load(padding, 0, last), load(padding, 1, last)
    store(work, base + UNIT_MEAN, last, load(work, base + UNIT_MEAN, last) * unit + bias)
    for row in range(base + UNIT_VARIANCE, base + LAYER_ROWS):
        store(work, row, last, load(work, row, last) * unit)


@fused_inline
def through_units(work, base, width):
    """Turn derivatives by the units' moments into derivatives by their sums' moments."""
    for column in range(0, width, 8):
        mean, variance = load(work, OF_UNIT_MEAN, column), load(work, OF_UNIT_VARIANCE, column)
        of_mean = mean * load(work, base + MEAN_BY_MEAN, column)
        of_mean = of_mean + variance * load(work, base + VARIANCE_BY_MEAN, column)
        of_variance = mean * load(work, base + MEAN_BY_VARIANCE, column)
        of_variance = of_variance + variance * load(work, base + VARIANCE_BY_VARIANCE, column)
        store(work, OF_MEAN, column, of_mean)
        store(work, OF_VARIANCE, column, of_variance)


@fused_inline
def middle_forward(mean, variance, start, rows, width, work, below):
    """Write the moments of a hidden layer's sums over hidden units."""
    for column in range(0, width, 8):
        sum_mean, sum_variance = splat(0.0), splat(0.0)
        for j in range(rows):
            z, z_variance = work[below + UNIT_MEAN, j], work[below + UNIT_VARIANCE, j]
            m, v = load(mean, start + j, column), load(variance, start + j, column)
            sum_mean = sum_mean + m * z
            sum_variance = sum_variance + (m * m + v) * z_variance + v * (z * z)
        store(work, SUM_MEAN, column, sum_mean * (1 / math.sqrt(rows)))
        store(work, SUM_VARIANCE, column, sum_variance * (1 / rows))


@fused_inline
def middle_update(mean, variance, start, rows, width, work, below):
    """Update a layer between hidden ones, and write the derivatives by the units below."""
    rejected = 0
    for j in range(rows):
        z, z_variance = work[below + UNIT_MEAN, j], work[below + UNIT_VARIANCE, j]
        by_mean, by_variance = z / math.sqrt(rows), 2 * z_variance / rows
        by_square = 2 * (z * z + z_variance) / rows
        first, second, third = splat(0.0), splat(0.0), splat(0.0)
        for column in range(0, width, 8):
            of_mean, of_variance = load(work, OF_MEAN, column), load(work, OF_VARIANCE, column)
            m, v = load(mean, start + j, column), load(variance, start + j, column)
            first = first + of_mean * m
            second = second + of_variance * v
            third = third + of_variance * (m * m + v)
            slope = of_mean * by_mean + of_variance * m * by_variance
            curvature = slope * slope - of_variance * by_square
            _, _, stay = update(
                mean, variance, start + j, column, m, v, v * slope, v * v * curvature
            )
            rejected += stay
        work[OF_UNIT_MEAN, j] = total(first) / math.sqrt(rows) + 2 * z * total(second) / rows
        work[OF_UNIT_VARIANCE, j] = total(third) / rows
    return rejected


@fused_inline
def last_forward(mean, variance, start, rows, width, work, below, outputs):
    """Write mean and variance of every output to the first two rows of `outputs`."""
    for o in range(outputs.shape[1]):
        sum_mean, sum_variance = splat(0.0), splat(0.0)
        for column in range(0, width, 8):
            z = load(work, below + UNIT_MEAN, column)
            m, v = load(mean, start + o, column), load(variance, start + o, column)
            sum_mean = sum_mean + m * z
            z_variance = load(work, below + UNIT_VARIANCE, column)
            sum_variance = sum_variance + (m * m + v) * z_variance + v * (z * z)
        outputs[0, o] = total(sum_mean) / math.sqrt(rows)
        outputs[1, o] = total(sum_variance) / rows


@fused_inline
def last_update(mean, variance, start, rows, width, work, below, outputs):
    """Update the last layer by the derivatives in the last two rows of `outputs`."""
    rejected = 0
    root, share = 1 / math.sqrt(rows), 1 / rows
    for column in range(0, width, 8):
        z = load(work, below + UNIT_MEAN, column)
        z_variance = load(work, below + UNIT_VARIANCE, column)
        by_square = (z * z + z_variance) * (2 * share)
        first, second, third = splat(0.0), splat(0.0), splat(0.0)
        for o in range(outputs.shape[1]):
            of_mean, of_variance = outputs[2, o], outputs[3, o]
            m, v = load(mean, start + o, column), load(variance, start + o, column)
            first = first + m * of_mean
            second = second + v * of_variance
            third = third + (m * m + v) * of_variance
            slope = z * (of_mean * root) + m * z_variance * (2 * of_variance * share)
            shrinkage = v * v * (slope * slope - by_square * of_variance)
            _, _, stay = update(mean, variance, start + o, column, m, v, v * slope, shrinkage)
            rejected += stay
        store(work, OF_UNIT_MEAN, column, first * root + z * second * (2 * share))
        store(work, OF_UNIT_VARIANCE, column, third * share)
    # The padding of an output's weights has no variance, and is always rejected.
    return rejected - outputs.shape[1] * (width - rows)


@fused_inline
def padded(units):
    """Return the number of columns for a layer and its bias unit: a multiple of eight."""
    return (units + 8) // 8 * 8


@fused_inline
def upwards(widths, mean, variance, inputs, row, work, padding, outputs):
    """Go forward from the first layer's sums or, without hidden layers, from the inputs."""
    hidden = len(widths) - 2
    if hidden == 0:
        for column in range(0, inputs.shape[1], 8):
            store(work, SHARED_ROWS + UNIT_MEAN, column, load(inputs, row, column))
    start = 0
    for layer in range(hidden):
        base = SHARED_ROWS + LAYER_ROWS * layer
        width, rows = padded(widths[layer + 1]), widths[layer] + 1
        if layer:
            middle_forward(mean, variance, start, rows, width, work, base - LAYER_ROWS)
        activate(work, base, width, padding[2 * layer : 2 * layer + 2])
        start += rows
    below = SHARED_ROWS + LAYER_ROWS * max(hidden - 1, 0)
    units = widths[hidden]
    last_forward(mean, variance, start, units + 1, padded(units), work, below, outputs)


@fused_inline
def downwards(widths, mean, variance, inputs, row, following, squares, work, outputs):
    """Update all weights for a row, and start the next row; return the rejected updates."""
    hidden = len(widths) - 2
    start = 0
    for layer in range(hidden):
        start += widths[layer] + 1
    below = SHARED_ROWS + LAYER_ROWS * max(hidden - 1, 0)
    units = widths[hidden]
    rejected = last_update(mean, variance, start, units + 1, padded(units), work, below, outputs)
    for layer in range(hidden - 1, -1, -1):
        base = SHARED_ROWS + LAYER_ROWS * layer
        width, rows = padded(widths[layer + 1]), widths[layer] + 1
        through_units(work, base, width)
        start -= rows
        if layer:
            rejected += middle_update(mean, variance, start, rows, width, work, base - LAYER_ROWS)
        else:
            rejected += first_update(
                mean, variance, rows, width, inputs, row, following, squares, work
            )
    return rejected
