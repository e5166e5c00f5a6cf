"""Loss and gradient of a rectified perceptron with Gaussian noise, and leapfrog steps along it.

A block of points is passed forward and back at once, so that all its activations stay in the
first-level cache. The matrices belong to a workspace (`compiled.py`): each layer's weights with
a row per output and with a row per input, their gradients, activations, and gradients of units.
"""

from bnnbench.methods.compiled.numba_code import fused, fused_inline
from bnnbench.methods.hmc.kernels.products import (
    add_transposed,
    dots,
    multiply_rectified,
    padded,
    through_one_output,
)

POINTS = 64
"""Number of points that are passed forward and back at once, a multiple of four."""
INPUTS, OUTPUTS, COLUMNS, OFFSET = 0, 1, 2, 3
"""Columns of a table of layers: units on both sides, and the matrix's position in a state."""


@fused
def differentiate(layers, scales, slope, work, states, gradients, data, losses):
    """Write every member's gradient, residuals and half the sum of their squares."""
    for member in range(len(states)):
        losses[member] = _gradient(
            layers, scales, slope, work, states[member], gradients[member], data, member
        )


@fused
def leapfrog(
    layers, scales, slope, work, states, gradients, data, losses, momenta, drift, kicks, steps
):
    """Move states and momenta of every member by its number of steps.

    `kicks` has columns for the data and the prior.
    """
    for member in range(len(states)):
        state, gradient, momentum = states[member], gradients[member], momenta[member]
        of_data, of_prior = kicks[member, 0], kicks[member, 1]
        _kick(momentum, gradient, state, of_data / 2, of_prior / 2)
        for step in range(steps[member]):
            for place in range(len(state)):
                state[place] += momentum[place] * drift[member, place]
            losses[member] = _gradient(layers, scales, slope, work, state, gradient, data, member)
            share = 2 if step == steps[member] - 1 else 1
            _kick(momentum, gradient, state, of_data / share, of_prior / share)


@fused_inline
def _kick(momentum, gradient, state, of_data, of_prior):
    for place in range(len(state)):
        momentum[place] += of_data * gradient[place] + of_prior * state[place]


@fused_inline
def _gradient(layers, scales, slope, work, state, gradient, data, member):
    """Write gradient and residuals; return half the sum of the squared residuals."""
    by_output, by_input, of_weights, activations, of_units = work
    inputs, targets, residuals, points = data
    _unpack(layers, scales, state, by_output, by_input, of_weights)
    x, loss = inputs[member], 0.0
    for start in range(0, len(x), POINTS):
        rows = min(POINTS, len(x) - start)
        block, errors = x[start : start + rows], residuals[member, start : start + rows]
        forward(layers, slope, block, by_output, by_input, activations, errors)
        of_outputs = of_units[len(layers) & 1]
        for row in range(rows):
            for output in range(errors.shape[1]):
                if start + row < points:
                    errors[row, output] -= targets[member, start + row, output]
                else:
                    errors[row, output] = 0  # padding
                of_outputs[row, output] = errors[row, output]
                loss += 0.5 * float(errors[row, output]) ** 2
        _backward(layers, slope, block, by_output, of_weights, activations, of_units)
    for layer in range(len(layers)):
        columns, offset = layers[layer, COLUMNS], layers[layer, OFFSET]
        for unit in range(layers[layer, OUTPUTS]):
            for j in range(layers[layer, INPUTS] + 1):
                place = offset + unit * columns + j
                gradient[place] = of_weights[layer, unit, j] * scales[layer]
    return loss


@fused_inline
def _unpack(layers, scales, state, by_output, by_input, of_weights):
    """Write the scaled weights in both layouts, and set the gradients to 0."""
    for layer in range(len(layers)):
        columns, offset = layers[layer, COLUMNS], layers[layer, OFFSET]
        for unit in range(layers[layer, OUTPUTS]):
            for j in range(layers[layer, INPUTS] + 1):
                weight = state[offset + unit * columns + j] * scales[layer]
                by_output[layer, unit, j] = weight
                by_input[layer, j, unit] = weight
                of_weights[layer, unit, j] = 0


@fused_inline
def forward(layers, slope, block, by_output, by_input, activations, outputs):
    """Write the activations of every hidden layer, with a 1 for the bias, and the outputs."""
    rows, last = len(block), len(layers) - 1
    below = block
    for layer in range(last):
        depth, columns = layers[layer, INPUTS] + 1, padded(layers[layer, OUTPUTS] + 1, block)
        multiply_rectified(
            activations[layer], below, by_input[layer], rows, depth, columns, slope, None
        )
        below = activations[layer]
    columns = padded(layers[last, INPUTS] + 1, block)
    dots(outputs, below, by_output[last], rows, layers[last, OUTPUTS], columns)


@fused_inline
def _backward(layers, slope, block, by_output, of_weights, activations, of_units):
    """Add the gradients of all weights, given the outputs' gradients in `of_units`."""
    rows = len(block)
    for layer in range(len(layers) - 1, -1, -1):
        below = activations[layer - 1] if layer else block
        above, units = of_units[(layer + 1) & 1], layers[layer, OUTPUTS]
        columns = padded(layers[layer, INPUTS] + 1, block)
        here, weights, gradients = of_weights[layer], by_output[layer], of_units[layer & 1]
        if layer and units == 1:
            through_one_output(here, gradients, above, weights, below, rows, columns, slope)
            continue
        add_transposed(here, above, below, units, rows, columns)
        if layer:
            multiply_rectified(gradients, above, weights, rows, units, columns, slope, below)
