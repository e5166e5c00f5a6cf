r"""Layers after the first hidden one, with the covariances of their inputs.

The same as layers.py, but with all covariances of a layer instead of one variance per unit, as in
methods/pbp/correlated.py. `joint` contains, in this order:

- for each hidden layer, the covariances of its sums, the covariances of its units, and the product
  of the latter with the next layer's weights;
- for each hidden layer, mean and variance of its sums, in two rows;
- for the current layer, the derivatives by the covariances of sums and of units, and the product of
  the weights with the former.
"""

import math

from bnnbench.methods.compiled.numba_code import fused_inline
from bnnbench.methods.compiled.simd import load, splat, store, total
from bnnbench.methods.pbp.kernels.layers import (
    LAYER_ROWS,
    MEAN_BY_MEAN,
    MEAN_BY_VARIANCE,
    OF_MEAN,
    OF_UNIT_MEAN,
    OF_UNIT_VARIANCE,
    OF_VARIANCE,
    SHARED_ROWS,
    SUM_MEAN,
    SUM_VARIANCE,
    UNIT_MEAN,
    UNIT_VARIANCE,
    activate,
    first_update,
    padded,
    through_units,
    update,
)


@fused_inline
def through_weights(mean, start, rows, width, of_units, product, diagonal):
    """Write the product of the units' covariances with the next layer's weights."""
    for j in range(rows):
        for column in range(0, width, 8):
            if diagonal:
                row = load(mean, start + j, column) * of_units[j, j]
            else:
                row = splat(0.0)
                for i in range(rows):
                    row = row + load(mean, start + i, column) * of_units[j, i]
            store(product, j, column, row)


@fused_inline
def middle_forward(
    mean, variance, start, rows, units, width, work, below, of_units, product, of_sums
):
    """Write mean, variance and covariances of a hidden layer's sums over hidden units."""
    root, share = 1 / math.sqrt(rows), 1 / rows
    for column in range(0, width, 8):
        sum_mean, alone = splat(0.0), splat(0.0)
        for j in range(rows):
            z = work[below + UNIT_MEAN, j]
            sum_mean = sum_mean + load(mean, start + j, column) * z
            alone = alone + load(variance, start + j, column) * (z * z + of_units[j, j])
        store(work, SUM_MEAN, column, sum_mean * root)
        store(work, SUM_VARIANCE, column, alone * share)
    for unit in range(units):
        for column in range(0, width, 8):
            shared = splat(0.0)
            for j in range(rows):
                shared = shared + load(product, j, column) * mean[start + j, unit]
            store(of_sums, unit, column, shared * share)
        of_sums[unit, unit] += work[SUM_VARIANCE, unit]
        work[SUM_VARIANCE, unit] = of_sums[unit, unit]


@fused_inline
def correlate(work, base, units, width, of_sums, of_units, diagonal):
    """Write the covariances of a layer's units, given the units' moments."""
    for unit in range(units):
        slope = 0.0 if diagonal else work[base + MEAN_BY_MEAN, unit]
        for column in range(0, width, 8):
            shared = load(of_sums, unit, column) * load(work, base + MEAN_BY_MEAN, column)
            store(of_units, unit, column, shared * slope)
        of_units[unit, unit] = work[base + UNIT_VARIANCE, unit]


@fused_inline
def last_forward(mean, variance, start, rows, width, work, below, of_units, product, outputs):
    """Write mean and variance of every output to the first two rows of `outputs`."""
    for o in range(outputs.shape[1]):
        sum_mean, sum_variance = splat(0.0), splat(0.0)
        for j in range(rows):
            row = splat(0.0)
            for column in range(0, width, 8):
                row = row + load(of_units, j, column) * load(mean, start + o, column)
            product[o, j] = total(row)
        for column in range(0, width, 8):
            z = load(work, below + UNIT_MEAN, column)
            z_variance = load(work, below + UNIT_VARIANCE, column)
            m, v = load(mean, start + o, column), load(variance, start + o, column)
            sum_mean = sum_mean + m * z
            sum_variance = sum_variance + m * load(product, o, column) + v * (z * z + z_variance)
        outputs[0, o] = total(sum_mean) / math.sqrt(rows)
        outputs[1, o] = total(sum_variance) / rows


@fused_inline
def last_update(mean, variance, start, rows, width, work, below, product, by_units, outputs):
    """Update the last layer by the derivatives in the last two rows of `outputs`."""
    rejected = 0
    root, share = 1 / math.sqrt(rows), 1 / rows
    for j in range(rows):
        for column in range(0, width, 8):
            row = splat(0.0)
            for o in range(outputs.shape[1]):
                row = row + load(mean, start + o, column) * (mean[start + o, j] * outputs[3, o])
            store(by_units, j, column, row * share)
    for column in range(0, width, 8):
        z = load(work, below + UNIT_MEAN, column)
        z_variance = load(work, below + UNIT_VARIANCE, column)
        first, second, third = splat(0.0), splat(0.0), splat(0.0)
        for o in range(outputs.shape[1]):
            of_mean, of_variance = outputs[2, o], outputs[3, o]
            m, v = load(mean, start + o, column), load(variance, start + o, column)
            first = first + m * of_mean
            second = second + v * of_variance
            third = third + (m * m + v) * of_variance
            slope = z * (of_mean * root) + load(product, o, column) * (2 * of_variance * share)
            by_square = (z * z + z_variance) * (2 * share * of_variance)
            shrinkage = v * v * (slope * slope - by_square)
            _, _, stay = update(mean, variance, start + o, column, m, v, v * slope, shrinkage)
            rejected += stay
        store(work, OF_UNIT_MEAN, column, first * root + z * second * (2 * share))
        store(work, OF_UNIT_VARIANCE, column, third * share)
    # The padding of an output's weights has no variance, and is always rejected.
    return rejected - outputs.shape[1] * (width - rows)


@fused_inline
def through_covariances(work, base, units, width, moments, of_sums, by_units, by_sums):
    r"""Turn derivatives by the units' covariances into derivatives by their sums' covariances.

    The derivatives by the units' moments are already included. Slopes $\Phi(\alpha)$ have
    derivatives $\varphi(\alpha)/s$ by the mean and $-\varphi(\alpha) \alpha / 2 s^2$ by the
    variance $s^2$; `bend` is half the former.
    """
    for unit in range(units):
        slope, bend = work[base + MEAN_BY_MEAN, unit], work[base + MEAN_BY_VARIANCE, unit]
        by_slope = splat(0.0)
        for column in range(0, width, 8):
            scaled = load(by_units, unit, column) * load(work, base + MEAN_BY_MEAN, column)
            by_slope = by_slope + scaled * load(of_sums, unit, column)
            store(by_sums, unit, column, scaled * slope)
        itself = by_units[unit, unit] * slope * of_sums[unit, unit]
        of_slope = 4 * (total(by_slope) - itself) * bend
        work[OF_MEAN, unit] += of_slope
        work[OF_VARIANCE, unit] -= 0.5 * of_slope * moments[0, unit] / moments[1, unit]
        by_sums[unit, unit] = work[OF_VARIANCE, unit]


@fused_inline
def middle_update(
    mean, variance, start, rows, units, width, work, below, of_units, product, joint, diagonal
):
    """Update a layer between hidden ones, and write the derivatives by the units below."""
    by_sums, by_units, by_weights = joint[-3], joint[-2], joint[-1]
    rejected = 0
    root, share = 1 / math.sqrt(rows), 1 / rows
    for j in range(rows):
        for column in range(0, width, 8):
            row = splat(0.0)
            for unit in range(units):
                row = row + load(by_sums, unit, column) * mean[start + j, unit]
            store(by_weights, j, column, row)
    for j in range(0 if diagonal else rows):
        for i in range(rows):
            row = splat(0.0)
            for column in range(0, width, 8):
                row = row + load(by_weights, j, column) * load(mean, start + i, column)
            by_units[j, i] = total(row) * share
    for j in range(rows):
        z, z_variance = work[below + UNIT_MEAN, j], of_units[j, j]
        by_square = 2 * (z * z + z_variance) * share
        first, second, third = splat(0.0), splat(0.0), splat(0.0)
        for column in range(0, width, 8):
            of_mean, of_variance = load(work, OF_MEAN, column), load(work, OF_VARIANCE, column)
            m, v = load(mean, start + j, column), load(variance, start + j, column)
            first = first + of_mean * m
            second = second + of_variance * v
            third = third + load(by_weights, j, column) * m
            if diagonal:
                shared = load(by_weights, j, column) * z_variance
            else:
                shared = splat(0.0)
                for unit in range(units):
                    shared = shared + load(by_sums, unit, column) * product[j, unit]
            slope = of_mean * (z * root) + shared * (2 * share)
            curvature = slope * slope - of_variance * by_square
            _, _, stay = update(
                mean, variance, start + j, column, m, v, v * slope, v * v * curvature
            )
            rejected += stay
        work[OF_UNIT_MEAN, j] = total(first) * root + 2 * z * share * total(second)
        work[OF_UNIT_VARIANCE, j] = (total(third) + total(second)) * share
    return rejected


@fused_inline
def upwards(widths, mean, variance, work, padding, joint, outputs):
    """Go forward from the sums of the first layer."""
    sums, units, products, moments = joint[0], joint[1], joint[2], joint[3]
    start = 0
    for layer in range(len(widths) - 2):
        base = SHARED_ROWS + LAYER_ROWS * layer
        count, width, rows = widths[layer + 1], padded(widths[layer + 1]), widths[layer] + 1
        below = layer - 1
        if layer:
            through_weights(mean, start, rows, width, units[below], products[below], layer == 1)
            middle_forward(
                mean,
                variance,
                start,
                rows,
                count,
                width,
                work,
                base - LAYER_ROWS,
                units[below],
                products[below],
                sums[layer],
            )
        for column in range(0, width, 8):
            store(moments[layer], 0, column, load(work, SUM_MEAN, column))
            store(moments[layer], 1, column, load(work, SUM_VARIANCE, column))
        activate(work, base, width, padding[2 * layer : 2 * layer + 2])
        correlate(work, base, count, width, sums[layer], units[layer], layer == 0)
        start += rows
    top = len(widths) - 3
    last_forward(
        mean,
        variance,
        start,
        widths[-2] + 1,
        padded(widths[-2]),
        work,
        SHARED_ROWS + LAYER_ROWS * top,
        units[top],
        products[top],
        outputs,
    )


@fused_inline
def downwards(widths, mean, variance, inputs, row, following, squares, work, joint, outputs):
    """Update all weights for a row, and start the next row; return the rejected updates."""
    sums, units, products, moments = joint[0], joint[1], joint[2], joint[3]
    by_sums, by_units = joint[-3], joint[-2]
    top, start = len(widths) - 3, 0
    for layer in range(top + 1):
        start += widths[layer] + 1
    rejected = last_update(
        mean,
        variance,
        start,
        widths[-2] + 1,
        padded(widths[-2]),
        work,
        SHARED_ROWS + LAYER_ROWS * top,
        products[top],
        by_units,
        outputs,
    )
    for layer in range(top, -1, -1):
        base = SHARED_ROWS + LAYER_ROWS * layer
        count, width, rows = widths[layer + 1], padded(widths[layer + 1]), widths[layer] + 1
        through_units(work, base, width)
        start -= rows
        if layer:
            through_covariances(
                work, base, count, width, moments[layer], sums[layer], by_units, by_sums
            )
            rejected += middle_update(
                mean,
                variance,
                start,
                rows,
                count,
                width,
                work,
                base - LAYER_ROWS,
                units[layer - 1],
                products[layer - 1],
                joint,
                layer == 1,
            )
        else:
            rejected += first_update(
                mean, variance, rows, width, inputs, row, following, squares, work
            )
    return rejected
