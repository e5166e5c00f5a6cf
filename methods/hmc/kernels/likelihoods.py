"""Negative log likelihood and gradient of a rectified perceptron, by its flat plain weights.

Blocks of points and workspaces are those of trajectories.py, but weights are not scaled: a layer's
weights, a row per output, and then its biases lie next to each other in a state.
"""

import math

from bnnbench.methods.compiled.numba_code import fused, fused_inline
from bnnbench.methods.compiled.simd import load, store
from bnnbench.methods.hmc.kernels.products import (
    VECTOR_BYTES,
    add_transposed,
    multiply_rectified,
    padded,
    rectified,
)
from bnnbench.methods.hmc.kernels.trajectories import INPUTS, OFFSET, OUTPUTS, POINTS, forward

KNOWN_NOISE, MEAN_AND_STD, CLASSES = 0, 1, 2
"""Kinds of likelihood: of means and a known noise precision, of means and raw standard deviations,
of logits."""
FEW = 4
"""Most outputs whose gradients are faster to follow back in pairs."""
SMALLEST_STD = 1e-6
"""Added to the softplus of a raw standard deviation."""


@fused
def differentiate(layers, slope, kind, precision, work, states, gradients, data, outputs, losses):
    """Write every member's gradient, outputs and loss; `rows_of` tells a member's data set."""
    inputs, targets, rows_of, points = data
    for member in range(len(states)):
        x, y = inputs[rows_of[member]], targets[rows_of[member]]
        losses[member] = _gradient(
            layers, slope, kind, precision, work, states[member], gradients[member],
            x, y, points, outputs[member],
        )  # fmt: skip


@fused_inline
def _gradient(layers, slope, kind, precision, work, state, gradient, x, y, points, outputs):
    by_output, by_input, of_weights, activations, of_units = work
    _unpack(layers, state, by_output, by_input, of_weights)
    loss = 0.0
    for start in range(0, len(x), POINTS):
        rows = min(POINTS, len(x) - start)
        block, values = x[start : start + rows], outputs[start : start + rows]
        forward(layers, slope, block, by_output, by_input, activations, values)
        of_outputs = of_units[len(layers) & 1]
        for row in range(rows):
            if start + row >= points:  # padding
                for output in range(values.shape[1]):
                    of_outputs[row, output] = 0
            elif kind == CLASSES:
                loss += _classes(values[row], int(y[start + row, 0]), of_outputs[row])
            elif kind == MEAN_AND_STD:
                loss += _mean_and_std(values[row], y[start + row], of_outputs[row])
            else:
                loss += _known_noise(values[row], y[start + row], precision, of_outputs[row])
            of_outputs[row, values.shape[1]] = 0  # of an odd number's pair
        _backward(layers, slope, block, by_output, of_weights, activations, of_units)
    _pack(layers, of_weights, gradient)
    return loss


@fused_inline
def _known_noise(values, targets, precision, gradient):
    loss = 0.0
    for output in range(len(targets)):
        error = float(values[output]) - float(targets[output])
        gradient[output] = precision * error
        loss += 0.5 * precision * error * error
    return loss


@fused_inline
def _mean_and_std(values, targets, gradient):
    """Return the loss of one point without its constant, log(2π) / 2 for every target."""
    loss, count = 0.0, len(targets)
    for output in range(count):
        raw = float(values[count + output])
        exponential = math.exp(-abs(raw))
        std = max(raw, 0.0) + math.log1p(exponential) + SMALLEST_STD
        slope = (1.0 if raw > 0 else exponential) / (1.0 + exponential)
        z = (float(values[output]) - float(targets[output])) / std
        gradient[output] = z / std
        gradient[count + output] = (1.0 - z * z) / std * slope
        loss += 0.5 * z * z + math.log(std)
    return loss


@fused_inline
def _classes(values, label, gradient):
    largest = float(values[0])
    for output in range(1, len(values)):
        largest = max(largest, float(values[output]))
    total = 0.0
    for output in range(len(values)):
        exponential = math.exp(float(values[output]) - largest)
        gradient[output] = exponential
        total += exponential
    for output in range(len(values)):
        gradient[output] /= total
    gradient[label] -= 1
    return math.log(total) + largest - float(values[label])


@fused_inline
def _backward(layers, slope, block, by_output, of_weights, activations, of_units):
    """Add the gradients of all weights, given the outputs' gradients in `of_units`."""
    rows = len(block)
    for layer in range(len(layers) - 1, -1, -1):
        below = activations[layer - 1] if layer else block
        above, units = of_units[(layer + 1) & 1], layers[layer, OUTPUTS]
        columns = padded(layers[layer, INPUTS] + 1, block)
        here, weights, gradients = of_weights[layer], by_output[layer], of_units[layer & 1]
        if layer and units <= FEW:
            for unit in range(0, units, 2):
                _through_two(here, gradients, above, weights, below, unit, rows, columns)
            _rectify(gradients, below, rows, columns, slope)
            continue
        add_transposed(here, above, below, units, rows, columns)
        if layer:
            multiply_rectified(gradients, above, weights, rows, units, columns, slope, below)


@fused_inline
def _through_two(of_weights, of_units, errors, weights, values, first, rows, columns):
    """Add the gradients of two outputs' weights, and of the units below, which are `values`."""
    for column in range(0, columns, VECTOR_BYTES // values.itemsize):
        one, other = load(weights, first, column), load(weights, first + 1, column)
        a, b = load(of_weights, first, column), load(of_weights, first + 1, column)
        for row in range(rows):
            value, left, right = (
                load(values, row, column),
                errors[row, first],
                errors[row, first + 1],
            )
            a = a + value * left
            b = b + value * right
            through = one * left + other * right
            store(
                of_units, row, column, through + load(of_units, row, column) if first else through
            )
        store(of_weights, first, column, a)
        store(of_weights, first + 1, column, b)


@fused_inline
def _rectify(of_units, values, rows, columns, slope):
    for column in range(0, columns, VECTOR_BYTES // values.itemsize):
        for row in range(rows):
            gradient, value = load(of_units, row, column), load(values, row, column)
            store(of_units, row, column, rectified(gradient, value, slope, values))


@fused_inline
def _unpack(layers, state, by_output, by_input, of_weights):
    """Write the weights in both layouts, and set the gradients to 0."""
    for layer in range(len(layers)):
        place, inputs, units = layers[layer, OFFSET], layers[layer, INPUTS], layers[layer, OUTPUTS]
        for unit in range(units):
            for j in range(inputs + 1):
                at = place + unit * inputs + j if j < inputs else place + units * inputs + unit
                by_output[layer, unit, j] = state[at]
                by_input[layer, j, unit] = state[at]
                of_weights[layer, unit, j] = 0


@fused_inline
def _pack(layers, of_weights, gradient):
    for layer in range(len(layers)):
        place, inputs, units = layers[layer, OFFSET], layers[layer, INPUTS], layers[layer, OUTPUTS]
        for unit in range(units):
            for j in range(inputs):
                gradient[place + unit * inputs + j] = of_weights[layer, unit, j]
            gradient[place + units * inputs + unit] = of_weights[layer, unit, inputs]
