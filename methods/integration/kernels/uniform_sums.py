"""Antiderivatives of the density of a sum of independent uniforms, one row of widths at a time.

The widest uniforms are peeled off one by one, as differences; the rest is represented by a cosine
series on its support. All lengths are relative to the widest uniform.
"""

import math

import numpy as np

from bnnbench.methods.compiled.numba_code import compiled, reordered

NEGLIGIBLE = 1e-13
"""A width below this share of the widest changes the density by less than rounding does."""
PEELED = 3
"""Number of uniforms peeled off every longer sum."""
MOST_PEELED = 5
"""Sums of up to this many uniforms are peeled completely, without a series."""
AMPLIFIED = 1e6
"""More uniforms are peeled off while differences magnify rounding errors by less than this."""
MOMENTS_UP_TO = 7
"""Maximum order of antiderivatives, including the series', that needs no moment above the sixth."""
MOST_HARMONICS = 256
DROPPED = 1e-16
"""The series ends when the remainder is below this share of the peak."""

# Layout of a row's prepared numbers: a few scalars, then a column for each number of peeled
# uniforms, then the series.
_SCALE, _LEVELS, _HARMONICS = 0, 1, 2
_WIDTH, _REACH, _SECOND, _FOURTH, _SIXTH = (3 + (MOST_PEELED + 1) * i for i in range(5))
_CONSTANTS = _SIXTH + MOST_PEELED + 1
_SERIES = _CONSTANTS + MOMENTS_UP_TO + 1
PREPARED = _SERIES + MOST_HARMONICS + 1
"""Number of values stored per row of widths."""
NODES = 2 ** (MOST_PEELED + 1) - 1

_exact = compiled()


@_exact
def antiderivatives(x, widths, order):
    """Return the antiderivative of this order at each row's points."""
    values, prepared, tree = np.empty_like(x), np.empty(PREPARED), np.empty((2, NODES))
    space = np.empty((6, widths.shape[1]))
    for row in range(len(x)):
        _prepare(widths[row], order, prepared, space)
        for column in range(x.shape[1]):
            values[row, column] = _antiderivative(x[row, column], order, prepared, tree)
    return values


@_exact
def prepare(widths, order):
    """Return the quantities of each row of widths that `evaluate` needs."""
    prepared = np.empty((len(widths), PREPARED))
    space = np.empty((6, widths.shape[1]))
    for row in range(len(widths)):
        _prepare(widths[row], order, prepared[row], space)
    return prepared


@_exact
def evaluate(x, prepared, order):
    """Return the antiderivative of this order at each row's points, given prepared widths."""
    values, tree = np.empty_like(x), np.empty((2, NODES))
    for row in range(len(x)):
        for column in range(x.shape[1]):
            values[row, column] = _antiderivative(x[row, column], order, prepared[row], tree)
    return values


@_exact
def _prepare(widths, order, prepared, space):
    count = _relative_widths(widths, prepared, space[0])
    rest = space[0, :count]
    most = min(MOST_PEELED, MOMENTS_UP_TO - order)
    levels, amplified, remaining = 0, 1.0, rest.sum()
    while levels < min(count, most):
        _swap_widest_to_front(rest[levels:])
        amplified *= remaining / rest[levels]
        if count > most and levels >= PEELED and amplified > AMPLIFIED:
            break
        prepared[_WIDTH + levels] = rest[levels]
        remaining -= rest[levels]
        levels += 1
    prepared[_LEVELS] = levels
    _reaches_and_moments(rest, levels, prepared)
    prepared[_HARMONICS] = 0
    if count > levels:
        harmonics = _harmonics(rest, levels, prepared[_REACH + levels])
        prepared[_HARMONICS] = harmonics
        _constants(order + levels, levels, prepared)
        period = 2.0 * prepared[_REACH + levels]
        series = prepared[_SERIES : _SERIES + harmonics + 1]
        _characteristic(rest[levels:], period, space[1:, : count - levels], series)
        for k in range(1, harmonics + 1):
            series[k] *= 2.0 / period * (period / (2.0 * math.pi * k)) ** (order + levels)


@_exact
def _relative_widths(widths, prepared, relative):
    """Fill widths relative to the widest, omitting negligible ones; return their number."""
    widest, finite = 0.0, True
    for width in widths:
        widest = max(widest, abs(width))
        finite = finite and np.isfinite(width)
    prepared[_SCALE] = (widest if widest > 0.0 else 1.0) if finite else np.nan
    count = 0
    for width in widths:
        share = abs(width) / prepared[_SCALE]
        if share >= NEGLIGIBLE:
            relative[count] = share
            count += 1
    return count


@_exact
def _swap_widest_to_front(widths):
    place = 0
    for i in range(1, len(widths)):
        if widths[i] > widths[place]:
            place = i
    widths[0], widths[place] = widths[place], widths[0]


@_exact
def _reaches_and_moments(widths, levels, prepared):
    """Fill, for every level, half the support and central moments of the sum without its widest.

    Cumulants of a uniform of width t: t²/12, -t⁴/120, t⁶/252.
    """
    reach = second = fourth = sixth = 0.0
    for i in range(len(widths) - 1, -1, -1):
        if i < levels:
            _fill(prepared, i + 1, reach, second, fourth, sixth)
        square = widths[i] * widths[i]
        reach += 0.5 * widths[i]
        second += square / 12.0
        fourth -= square * square / 120.0
        sixth += square * square * square / 252.0
    _fill(prepared, 0, reach, second, fourth, sixth)


@_exact
def _fill(prepared, level, reach, second, fourth, sixth):
    """Store half the support, and moments computed from cumulants."""
    prepared[_REACH + level] = reach
    prepared[_SECOND + level] = second
    prepared[_FOURTH + level] = fourth + 3.0 * second * second
    prepared[_SIXTH + level] = sixth + 15.0 * fourth * second + 15.0 * second**3


@_exact
def _polynomial(x, order, level, prepared):
    """Return E[(x - X)^(order - 1)] / (order - 1)!, the antiderivative beyond the support."""
    degree = order - 1
    value = _power(x, degree)
    if degree >= 2:
        value += _power(x, degree - 2) * prepared[_SECOND + level] / 2.0
    if degree >= 4:
        value += _power(x, degree - 4) * prepared[_FOURTH + level] / 24.0
    if degree >= 6:
        value += _power(x, degree - 6) * prepared[_SIXTH + level] / 720.0
    return value


@_exact
def _power(x, exponent):
    """Return x^n / n!."""
    value = 1.0
    for i in range(1, exponent + 1):
        value *= x / i
    return value


@_exact
def _harmonics(widths, levels, reach):
    """Return how many cosines keep the truncation error below `DROPPED`, up to `MOST_HARMONICS`.

    Coefficients are bounded by the product of min(1, 1 / (π k t / period)).
    """
    period = 2.0 * reach
    harmonics = 8
    while harmonics < MOST_HARMONICS:
        bound = 2.0 * harmonics / period
        for i in range(len(widths)):
            sine = period / (math.pi * harmonics * widths[i])
            if i < levels or sine < 1.0:
                bound *= sine
            if bound < DROPPED:
                return harmonics
        harmonics += harmonics // 2
    return MOST_HARMONICS


@_exact
def _constants(order, level, prepared):
    """Fill the coefficients c of the series' polynomial, sum of c[order - i] x^i / i!.

    Each coefficient makes the mean over a period equal to the antiderivative's.
    """
    reach = prepared[_REACH + level]
    period = 2.0 * reach
    prepared[_CONSTANTS] = 1.0 / period
    for j in range(1, order + 1):
        value = _polynomial(reach, j + 1, level, prepared) / period
        for i in range(2, j + 1, 2):
            value -= prepared[_CONSTANTS + j - i] * _power(reach, i) / (i + 1)
        prepared[_CONSTANTS + j] = value


@reordered
def _characteristic(widths, period, space, series):
    """Fill the products of sin(kθ) / (kθ), θ = π t / period: the characteristic function.

    sin(kθ) / θ and cos(kθ) follow from the values for k - 1 by a rotation.
    """
    sines, cosines, first, cosine, turn = space[0], space[1], space[2], space[3], space[4]
    for i in range(len(widths)):
        angle = math.pi * widths[i] / period
        sines[i] = first[i] = math.sin(angle) / angle
        cosines[i] = cosine[i] = math.cos(angle)
        turn[i] = angle * math.sin(angle)
    for k in range(1, len(series)):
        product, share = 1.0, 1.0 / k
        for i in range(len(widths)):
            sine = sines[i]
            product *= sine * share
            sines[i] = sine * cosine[i] + cosines[i] * first[i]
            cosines[i] = cosines[i] * cosine[i] - sine * turn[i]
        series[k] = product


@_exact
def _antiderivative(x, order, prepared, tree):
    """Return the antiderivative at a point: a binary tree of differences, one level per uniform."""
    points, values = tree
    levels, nodes, level = int(prepared[_LEVELS]), 2 ** (int(prepared[_LEVELS]) + 1) - 1, -1
    points[0] = x / prepared[_SCALE]
    if np.isnan(points[0]):
        return np.nan
    for node in range(nodes):
        # The children of node i are nodes 2 i + 1 and 2 i + 2; NaN marks nodes that are not needed.
        level += node + 1 == 2 ** (level + 1)
        point, reach = points[node], prepared[_REACH + level]
        inside = abs(point) < reach
        if point >= reach and order + level > 0:
            values[node] = _polynomial(point, order + level, level, prepared)
        elif not inside:
            values[node] = 0.0
        elif level == levels:
            values[node] = _series(point, order + level, level, prepared)
        if level < levels:
            half = 0.5 * prepared[_WIDTH + level] if inside else np.nan
            points[2 * node + 1], points[2 * node + 2] = point - half, point + half
    for node in range(2**levels - 2, -1, -1):
        level -= node + 2 == 2**level
        if abs(points[node]) < prepared[_REACH + level]:
            difference = values[2 * node + 2] - values[2 * node + 1]
            values[node] = difference / prepared[_WIDTH + level]
    return values[0] * prepared[_SCALE] ** (order - 1)


@_exact
def _series(x, order, level, prepared):
    """Return the antiderivative inside the support of the sum that is not peeled off."""
    value = 0.0
    for i in range(order + 1):
        value += prepared[_CONSTANTS + order - i] * _power(x, i)
    angle = math.pi * x / prepared[_REACH + level]
    turn_cosine, turn_sine = math.cos(angle), math.sin(angle)
    cosine, sine, total = turn_cosine, turn_sine, 0.0
    for k in range(1, int(prepared[_HARMONICS]) + 1):
        total += prepared[_SERIES + k] * (sine if order % 2 else cosine)
        cosine, sine = (
            cosine * turn_cosine - sine * turn_sine,
            (sine * turn_cosine + cosine * turn_sine),
        )
    return value + (-total if order % 4 in (2, 3) else total)
