"""Loss and gradient of a perceptron at one row: the compiled inner loop of row-wise methods.

Weights are one flat vector, layer after layer. What feeds hidden units is a matrix with a row
for each input and a last row of biases; what feeds outputs has a row for each output, which
ends with its bias. So hidden units are contiguous throughout. Activations are one vector too,
each layer's followed by the 1 that biases multiply.
"""

from typing import no_type_check

import numba
import numpy as np

COMPILED = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    # Sums may be reordered for vector units; infinities and NaN keep their meaning.
    "fastmath": {"reassoc", "contract", "nsz"},
}


@numba.njit(**COMPILED)
@no_type_check
def workspace(widths):
    """Return activations, outputs, their slopes, and slopes of two neighbouring layers."""
    activations = np.ones(widths[:-1].sum() + len(widths) - 1)
    wide = widths.max() + 1
    return (
        activations,
        np.empty(widths[-1]),
        np.empty(widths[-1]),
        np.empty(wide),
        np.empty(wide),
    )


@numba.njit(**COMPILED)
@no_type_check
def forward(weights, widths, activations, outputs):
    """Fill rectified hidden activations and the outputs; the input's activations are given."""
    here, offset = 0, 0
    for layer in range(len(widths) - 2):
        sources, units = widths[layer] + 1, widths[layer + 1]
        there = here + sources
        hidden = activations[there : there + units]
        hidden[:] = 0.0
        for i in range(sources):
            value = activations[here + i]
            row = weights[offset + i * units : offset + (i + 1) * units]
            for j in range(units):
                hidden[j] += value * row[j]
        for j in range(units):
            hidden[j] = hidden[j] if hidden[j] > 0.0 else 0.0
        here, offset = there, offset + sources * units
    sources = widths[-2] + 1
    last = activations[here:]
    for k in range(widths[-1]):
        row = weights[offset + k * sources : offset + (k + 1) * sources]
        total = 0.0
        for i in range(sources):
            total += row[i] * last[i]
        outputs[k] = total


@numba.njit(**COMPILED)
@no_type_check
def loss_and_slopes(outputs, target, classify, slopes):
    """Return the loss of one row and fill its derivatives in the outputs.

    Half the squared error, summed over outputs; or, of a one-hot target, the cross-entropy of
    the softmax in nats.
    """
    loss = 0.0
    if not classify:
        for k in range(len(outputs)):
            slopes[k] = outputs[k] - target[k]
            loss += 0.5 * slopes[k] * slopes[k]
        return loss
    top = outputs.max()
    total = 0.0
    for k in range(len(outputs)):
        slopes[k] = np.exp(outputs[k] - top)
        total += slopes[k]
    for k in range(len(outputs)):
        loss -= target[k] * (outputs[k] - top - np.log(total))
        slopes[k] = slopes[k] / total - target[k]
    return loss


@numba.njit(**COMPILED)
@no_type_check
def loss_and_gradient(weights, widths, row, target, classify, space, gradient):
    """Return the loss of one row and fill its gradient in the weights."""
    activations, outputs, output_slopes, slopes, below = space
    activations[: widths[0]] = row
    forward(weights, widths, activations, outputs)
    loss = loss_and_slopes(outputs, target, classify, output_slopes)
    sources = widths[-2] + 1
    here, offset = len(activations) - sources, len(weights) - widths[-1] * sources
    last = activations[here:]
    slopes[:sources] = 0.0
    for k in range(widths[-1]):
        start, slope = offset + k * sources, output_slopes[k]
        w, g = weights[start : start + sources], gradient[start : start + sources]
        for i in range(sources):
            slopes[i] += slope * w[i]
            g[i] = slope * last[i]
    for layer in range(len(widths) - 3, -1, -1):
        units, sources = widths[layer + 1], widths[layer] + 1
        for j in range(units):
            slopes[j] = slopes[j] if activations[here + j] > 0.0 else 0.0
        here -= sources
        offset -= sources * units
        for i in range(sources):
            start, value = offset + i * units, activations[here + i]
            w, g = weights[start : start + units], gradient[start : start + units]
            carried = 0.0
            for j in range(units):
                g[j] = value * slopes[j]
                carried += w[j] * slopes[j] if layer > 0 else 0.0
            below[i] = carried
        slopes, below = below, slopes
    return loss
