r"""Assumed-density filtering of one row after another, compiled.

Weights are the rows of one matrix (methods/pbp/state.py): those from one input to all units of
a hidden layer, or those to one output. Every loop over weights is then over neighbours, eight
at a time. The step is that of paper 004, equations 6, 7 and 12 to 17, with gradients in closed
form. All that is compiled stands here and in simd.py: numba's cache looks at the change of one
file only, so that after an edit of simd.py this file has to be saved as well.
"""

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from methods.pbp.simd import (
    count,
    every,
    load,
    magnitude,
    power_of_two,
    reciprocal_root_guess,
    splat,
    store,
    total,
    where,
)
from methods.pbp.state import KEPT_NOISE_UPDATES, REJECTED_UPDATES, SKIPPED_REFINEMENTS


def compiled(function: Callable, forceinline: bool = False) -> Any:
    """Return the function compiled on its first call, without what import hooks wrap it in."""
    compile_function = njit(
        nogil=True,
        cache=True,
        error_model="numpy",
        fastmath={"contract"},
        forceinline=forceinline,
    )
    return compile_function(inspect.unwrap(function))


inlined = partial(compiled, forceinline=True)

SMALLEST_VARIANCE = 1e-100
LARGEST_CAVITY_VARIANCE = 1e6
LOGIT_NOISE_VARIANCE = 4 / math.pi

# Rows of the workspace. The first six are of all layers, then six of each hidden layer.
SUM_MEAN, SUM_VARIANCE = 0, 1
OF_MEAN, OF_VARIANCE = 2, 3
OF_UNIT_MEAN, OF_UNIT_VARIANCE = 4, 5
SHARED_ROWS = 6
UNIT_MEAN, UNIT_VARIANCE = 0, 1
MEAN_BY_MEAN, MEAN_BY_VARIANCE, VARIANCE_BY_MEAN, VARIANCE_BY_VARIANCE = 2, 3, 4, 5
LAYER_ROWS = 6

CENTRE = 5.0
# (1 + √2 t) R(t) in powers of (t - 5)/(t + 5): Chebyshev interpolation in 50 digits.
MILLS = (
    1.556167287834573,
    -0.1755953606875949,
    -0.010512067495236387,
    0.11943748176123403,
    -0.14327648830410106,
    0.11129144114967945,
    -0.06311327746685866,
    0.02558979577292091,
    -0.006169476759490173,
    -0.00011179783975866435,
    0.0007090982346340412,
    -0.00019102615573822989,
    -4.197920687239782e-05,
    3.3419641838274206e-05,
    4.5085811354625646e-07,
    -4.861369563284147e-06,
    3.7426670375218694e-07,
    7.075056474604105e-07,
    -8.271088738432012e-08,
    -9.549940743100223e-08,
    1.1479263257525726e-08,
    8.249540100894202e-09,
    -8.855439338960803e-10,
)
ROOT_TWO = math.sqrt(2.0)
DENSITY_AT_ZERO = 1 / math.sqrt(2 * math.pi)
LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)
LARGEST_STANDARDISED = 37.0

# exp: ln 2 in two parts, of which the first times an exponent is exact, and 1.5 * 2**52, whose
# sum with a small number rounds that number to an integer.
LOG2_E = 1 / math.log(2.0)
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
ROUNDER = 6755399441055744.0


@inlined
def mills_ratio(t):
    r"""Return (1 - Φ(t)) / φ(t) for t >= 0, of one number or of eight."""
    near, far = t + CENTRE, t * ROOT_TWO + 1.0
    reciprocal = 1.0 / (near * far)
    y = (t - CENTRE) * far * reciprocal
    z = y * y
    c = MILLS
    even = ((((c[22] * z + c[20]) * z + c[18]) * z + c[16]) * z + c[14]) * z + c[12]
    even = (((((even * z + c[10]) * z + c[8]) * z + c[6]) * z + c[4]) * z + c[2]) * z + c[0]
    odd = (((c[21] * z + c[19]) * z + c[17]) * z + c[15]) * z + c[13]
    odd = (((((odd * z + c[11]) * z + c[9]) * z + c[7]) * z + c[5]) * z + c[3]) * z + c[1]
    return (odd * y + even) * near * reciprocal


@inlined
def exponential(x):
    """Return exp of eight numbers between -700 and 700."""
    shifted = x * LOG2_E + ROUNDER
    k = shifted - ROUNDER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    z = r * r
    # Taylor up to r**13 / 13!: |r| <= ln(2)/2, so that the next term is below 5e-18.
    even = ((z * (1 / 479001600) + 1 / 3628800) * z + 1 / 40320) * z + 1 / 720
    even = ((even * z + 1 / 24) * z + 0.5) * z + 1.0
    odd = ((z * (1 / 6227020800) + 1 / 39916800) * z + 1 / 362880) * z + 1 / 5040
    odd = ((odd * z + 1 / 120) * z + 1 / 6) * z + 1.0
    return (odd * r + even) * power_of_two(shifted)


@inlined
def reciprocal_root(x):
    """Return 1/√x of eight normal positive numbers, to an ulp or two.

    Division and square root take longer than all the rest of a unit together. Two steps of the
    series of (1 - e)**-0.5, e = 1 - x y², leave errors of e**5 and then of e**3.
    """
    y = reciprocal_root_guess(x)
    e = 1.0 - (x * y) * y
    y = y + (y * e) * (((e * (35 / 128) + 5 / 16) * e + 3 / 8) * e + 0.5)
    e = 1.0 - (x * y) * y
    return y + (y * e) * (e * (3 / 8) + 0.5)


@inlined
def relu_moments(variance, inverse, alpha, density, ratio):
    r"""Return mean and variance of max(0, a) for Gaussian a, and their four derivatives.

    With $t = |\alpha|$, $R$ the Mills ratio and $\varphi = \varphi(t)$, the partial moments
    $E[(Z - t)^+] = \varphi (1 - t R)$ and $E[((Z - t)^+)^2] = \varphi ((1 + t^2) R - t)$ give
    everything without a branch or a division by $\Phi$.
    """
    t, positive = clamped(alpha), alpha > 0.0
    tail = density * ratio
    first = density * (1.0 - t * ratio)
    second = tail + t * (t * tail - density)
    below = second - first * first
    above = 1.0 - below - first * (first + t) * 2.0
    scaled_mean = first + where(positive, alpha, splat(0.0))
    scaled_variance = where(positive, above, below)
    scaled_variance = where(scaled_variance > 0.0, scaled_variance, splat(0.0))
    probability = where(positive, 1.0 - tail, tail)
    complement = where(positive, tail, 1.0 - tail)
    mean = variance * inverse * scaled_mean
    return (
        mean,
        variance * scaled_variance,
        probability,
        density * inverse * 0.5,
        mean * complement * 2.0,
        probability - scaled_mean * density,
    )


@inlined
def clamped(alpha):
    """Return |α|, or 37 where it is larger and the density is below 1e-297."""
    t = magnitude(alpha)
    return where(t < LARGEST_STANDARDISED, t, splat(LARGEST_STANDARDISED))


@inlined
def expm1(x):
    """Return exp(x) - 1 of one number, for which libm takes longer when it is small."""
    if abs(x) < 0.05:
        z = x * x
        low = x * (1 / 2) + z * (1 / 6 + x * (1 / 24))
        high = 1 / 120 + x * (1 / 720) + z * (1 / 5040 + x * (1 / 40320))
        return x + x * (low + z * z * high)
    return math.expm1(x)


@inlined
def gamma_update(shape, rate, square, variance):
    r"""Return shape and rate of the Gamma that PBP puts in the place of (shape, rate).

    Equations 9 and 10 for $Z_j = N(r; 0, S_j)$, $S_j = v + b/(a - 1 + j)$. With
    $P_j = (a - 1 + j) S_j$, of which $P_0 P_2 = P_1^2 - v^2$, the logarithms cancel:
    $$ \frac{Z Z_2}{Z_1^2} = \frac{\exp(r^2 b v / (P_0 P_1 P_2))}{\sqrt{1 + u}}, \quad
       u = \frac{b (2 a v + b)}{P_1^2 (a^2 - 1)}, \quad
       \frac{Z_1}{Z} = \sqrt{\frac{S_0}{S_1}} \exp(-\frac{r^2 b}{2 P_0 P_1}) $$
    and nothing is a difference of nearly equal numbers.
    """
    p0 = variance * (shape - 1) + rate
    p1 = variance * shape + rate
    p2 = variance * (shape + 1) + rate
    reciprocal = 1 / (p0 * p1 * p2)
    scaled = square * rate * reciprocal
    u = rate * (p1 + variance * shape) / (p1 * p1 * (shape * shape - 1))
    root = math.sqrt(1 + u)
    ratio = math.sqrt(p0 * shape / ((shape - 1) * p1)) * (1 + expm1(-0.5 * scaled * p2))
    # Z Z2 / Z1² - 1 is excess / scale.
    excess, scale = expm1(scaled * variance) * (1 + root) - u, root + 1 + u
    pivot = scale + (shape + 1) * excess
    return shape * scale / pivot, rate * scale / (pivot * ratio)


@inlined
def is_gamma(shape, rate):
    """Return whether such a Gamma has a finite mean of its reciprocal."""
    return 1 < shape < math.inf and 0 < rate < math.inf


@inlined
def update(mean, variance, row, column, m, v, step, shrinkage):
    """Write eight weights after equations 6 and 7; return them, and how many did not move.

    `step` is v d log Z/dm and `shrinkage` v² ((d log Z/dm)² - 2 d log Z/dv). A mean that is not
    a number comes of a gradient that is none or infinite, and then the variance fails as well.
    """
    new_m, new_v, rejected = m + step, v - shrinkage, 0
    accepted = new_v > SMALLEST_VARIANCE
    if not every(accepted):
        new_m, new_v = where(accepted, new_m, m), where(accepted, new_v, v)
        rejected = 8 - count(accepted)
    store(mean, row, column, new_m)
    store(variance, row, column, new_v)
    return new_m, new_v, rejected


@inlined
def squared(inputs, row, squares):
    """Write the squares of a row of the inputs."""
    for column in range(0, inputs.shape[1], 8):
        x = load(inputs, row, column)
        store(squares, 0, column, x * x)


@inlined
def first_forward(mean, variance, rows, width, inputs, row, squares, work):
    """Write the moments of the first layer's sums: its inputs have no variance."""
    squared(inputs, row, squares)
    for column in range(0, width, 8):
        sum_mean, sum_variance = splat(0.0), splat(0.0)
        for j in range(rows):
            sum_mean = sum_mean + load(mean, j, column) * inputs[row, j]
            sum_variance = sum_variance + load(variance, j, column) * squares[0, j]
        store(work, SUM_MEAN, column, sum_mean * (1 / math.sqrt(rows)))
        store(work, SUM_VARIANCE, column, sum_variance * (1 / rows))


@inlined
def first_update(mean, variance, rows, width, inputs, row, following, squares, work):
    """Update the first layer for one row and go forward with the next, in one pass."""
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


@inlined
def activate(work, base, width, padding):
    """Write a hidden layer's moments and their derivatives, and its bias unit.

    In four passes, each a chain of operations short enough that a processor works at several
    at once.
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
    last = width - 8  # where the bias unit and the padding are
    unit, bias = load(padding, 0, last), load(padding, 1, last)
    store(work, base + UNIT_MEAN, last, load(work, base + UNIT_MEAN, last) * unit + bias)
    for row in range(base + UNIT_VARIANCE, base + LAYER_ROWS):
        store(work, row, last, load(work, row, last) * unit)


@inlined
def through_units(work, base, width):
    """Turn derivatives by the units' moments into derivatives by those of their sums."""
    for column in range(0, width, 8):
        mean, variance = load(work, OF_UNIT_MEAN, column), load(work, OF_UNIT_VARIANCE, column)
        of_mean = mean * load(work, base + MEAN_BY_MEAN, column)
        of_mean = of_mean + variance * load(work, base + VARIANCE_BY_MEAN, column)
        of_variance = mean * load(work, base + MEAN_BY_VARIANCE, column)
        of_variance = of_variance + variance * load(work, base + VARIANCE_BY_VARIANCE, column)
        store(work, OF_MEAN, column, of_mean)
        store(work, OF_VARIANCE, column, of_variance)


@inlined
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


@inlined
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


@inlined
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


@inlined
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
    # The padding of an output's weights has no variance, and never passes.
    return rejected - outputs.shape[1] * (width - rows)


@inlined
def padded(units):
    """Return the columns of a layer and its bias unit: a multiple of eight."""
    return (units + 8) // 8 * 8


@inlined
def upwards(widths, mean, variance, inputs, row, work, padding, outputs):
    """Go forward from the sums of the first layer, or without hidden layers from the inputs."""
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


@inlined
def downwards(widths, mean, variance, inputs, row, following, squares, work, outputs):
    """Update all weights for a row and enter the following one; return the rejected updates."""
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


@compiled
def filter_gaussian(
    widths, mean, variance, noise, learns_noise, inputs, targets, order, work, padding, counts
):
    """Take the rows in this order, one update each; return the sum of -log Z.

    `noise` has a row (shape, rate) for every output; of known noise, a Gamma that stays.
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
        upwards(widths, mean, variance, inputs, row, work, padding, outputs)
        for o in range(targets.shape[1]):
            shape, rate = noise[o, 0], noise[o, 1]
            error = targets[row, o] - outputs[0, o]
            inverse = 1 / (outputs[1, o] + rate / (shape - 1))
            outputs[2, o] = error * inverse
            outputs[3, o] = 0.5 * (error * error * inverse - 1) * inverse
            loss += 0.5 * error * error * inverse
            product *= inverse
            if not 1e-100 < product < 1e100:  # one logarithm of many factors
                loss -= 0.5 * math.log(product)
                product = 1.0
            if learns_noise:
                shape, rate = gamma_update(shape, rate, error * error, outputs[1, o])
                if is_gamma(shape, rate):
                    noise[o, 0], noise[o, 1] = shape, rate
                else:
                    counts[KEPT_NOISE_UPDATES] += 1
        counts[REJECTED_UPDATES] += downwards(
            widths, mean, variance, inputs, row, following, squares, work, outputs
        )
    return loss - 0.5 * math.log(product)


@inlined
def normal_tail(argument):
    r"""Return log Φ and the hazard φ/Φ."""
    ratio = mills_ratio(abs(argument))
    log_density = -0.5 * argument * argument - LOG_ROOT_TAU
    if argument < 0:
        return log_density + math.log(ratio), 1 / ratio
    density = math.exp(log_density)
    return math.log1p(-density * ratio), density / (1 - density * ratio)


@inlined
def two_classes(outputs, label):
    """Write the derivatives of log Z by the moments of two logits; return log Z."""
    variance = outputs[1, 0] + outputs[1, 1] + 2 * LOGIT_NOISE_VARIANCE
    std = math.sqrt(variance)
    argument = (outputs[0, label] - outputs[0, 1 - label]) / std
    log_z, hazard = normal_tail(argument)
    outputs[2, label], outputs[2, 1 - label] = hazard / std, -hazard / std
    outputs[3, 0] = outputs[3, 1] = -0.5 * hazard * argument / variance
    return log_z


@inlined
def many_classes(outputs, label, nodes, log_weights, hazards, arguments, shares):
    r"""Write the derivatives of log Z by the moments of the logits; return log Z.

    With $a_{qj}$ the argument of $\Phi$ at node $u_q$, $h = \varphi/\Phi$ and the share $r_q$ of
    the node in Z: $\partial m_j = -\sum_q r_q h_{qj}/s_j$ and
    $\partial v_j = -\sum_q r_q h_{qj} a_{qj} / (2 s_j^2)$ for another class,
    $\partial m_y = \sum_{qj} r_q h_{qj}/s_j$ and
    $\partial v_y = \sum_{qj} r_q h_{qj} u_q/(2 s_j s_y)$ for the label's own.
    """
    classes, count_nodes = outputs.shape[1], len(nodes)
    std = math.sqrt(outputs[1, label] + LOGIT_NOISE_VARIANCE)
    largest = -math.inf
    for q in range(count_nodes):
        shares[q] = log_weights[q]
        for j in range(classes):
            if j != label:
                other = math.sqrt(outputs[1, j] + LOGIT_NOISE_VARIANCE)
                arguments[q, j] = (outputs[0, label] + std * nodes[q] - outputs[0, j]) / other
                log_probability, hazard = normal_tail(arguments[q, j])
                hazards[q, j] = hazard / other
                shares[q] += log_probability
        largest = max(largest, shares[q])
    normaliser = 0.0
    for q in range(count_nodes):
        shares[q] = math.exp(shares[q] - largest)
        normaliser += shares[q]
    for j in range(classes):
        outputs[2, j] = outputs[3, j] = 0.0
    for q in range(count_nodes):
        for j in range(classes):
            if j != label:
                slope = shares[q] / normaliser * hazards[q, j]
                outputs[2, j] -= slope
                outputs[2, label] += slope
                variance = outputs[1, j] + LOGIT_NOISE_VARIANCE
                outputs[3, j] -= slope * arguments[q, j] / (2 * math.sqrt(variance))
                outputs[3, label] += slope * nodes[q] / (2 * std)
    return largest + math.log(normaliser)


@compiled
def filter_categorical(
    widths, mean, variance, nodes, log_weights, inputs, labels, order, work, padding, counts
):
    """Take the rows in this order, one update each; return the sum of -log Z."""
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
        upwards(widths, mean, variance, inputs, row, work, padding, outputs)
        label = labels[row]
        if classes == 2:
            loss -= two_classes(outputs, label)
        else:
            loss -= many_classes(outputs, label, nodes, log_weights, hazards, arguments, shares)
        counts[REJECTED_UPDATES] += downwards(
            widths, mean, variance, inputs, row, following, squares, work, outputs
        )
    return loss


@compiled
def refine(widths, mean, variance, precision, shape, rate, prior, counts):
    r"""Refine the prior factor of every weight, layer by layer and unit by unit, bias last.

    The factor that remains is that of a Gaussian: precision (a - 1)/b of the cavity and mean 0.
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
