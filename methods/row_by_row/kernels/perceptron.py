"""Loss and gradient of a perceptron at one row: the compiled inner loop of row-wise methods.

Weights are one flat vector, layer after layer. A hidden layer's weights are a matrix with a row for
each input and a last row of biases; the output layer's have a row for each output, ending with its
bias. Hidden units are thus contiguous throughout. Activations are also one vector; each layer's are
followed by the 1 that biases multiply.
"""

import numpy as np

from bnnbench.methods.compiled.numba_code import reordered


@reordered
def workspace(widths):
    """Return arrays for activations, outputs, their gradients and two layers' gradients."""
    activations = np.ones(widths[:-1].sum() + len(widths) - 1)
    outputs, output_slopes = np.empty(widths[-1]), np.empty(widths[-1])
    wide = widths.max() + 1
    return activations, outputs, output_slopes, np.empty(wide), np.empty(wide)


@reordered
def forward(weights, widths, tanh, row, space):
    """Fill the activations (tanh or rectified) and the outputs of one row."""
    activations, outputs = space[0], space[1]
    activations[: widths[0]] = row
    here, offset = 0, 0
    for layer in range(len(widths) - 2):
        sources, units = widths[layer] + 1, widths[layer + 1]
        there = here + sources
        hidden = activations[there : there + units]
        hidden[:] = 0.0
        for i in range(sources):
            value = activations[here + i]
            w = weights[offset + i * units : offset + (i + 1) * units]
            for j in range(units):
                hidden[j] += value * w[j]
        if tanh:
            for j in range(units):
                hidden[j] = np.tanh(hidden[j])
        else:
            for j in range(units):
                hidden[j] = hidden[j] if hidden[j] > 0.0 else 0.0
        here, offset = there, offset + sources * units
    sources = widths[-2] + 1
    last = activations[here:]
    for k in range(widths[-1]):
        w = weights[offset + k * sources : offset + (k + 1) * sources]
        total = 0.0
        for i in range(sources):
            total += w[i] * last[i]
        outputs[k] = total


@reordered
def backward(weights, widths, tanh, space, gradient):
    """Fill the gradient with respect to the weights, given the outputs' gradients."""
    activations, _, output_slopes, slopes, below = space
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
        hidden = activations[here : here + units]
        if tanh:
            for j in range(units):
                slopes[j] *= 1.0 - hidden[j] * hidden[j]
        else:
            for j in range(units):
                slopes[j] = slopes[j] if hidden[j] > 0.0 else 0.0
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


@reordered
def softmax(outputs, probabilities):
    """Fill the class probabilities; return the log of the sum of exponentials."""
    top = outputs.max()
    total = 0.0
    for k in range(len(outputs)):
        probabilities[k] = np.exp(outputs[k] - top)
        total += probabilities[k]
    for k in range(len(outputs)):
        probabilities[k] /= total
    return top + np.log(total)


@reordered
def loss_and_gradient(weights, widths, tanh, row, target, classify, space, gradient):
    """Return the loss of one row and fill its gradient with respect to the weights.

    The loss is half the squared error, summed over outputs, or for a one-hot target the
    cross-entropy of the softmax in nats.
    """
    forward(weights, widths, tanh, row, space)
    outputs, slopes = space[1], space[2]
    loss = 0.0
    if classify:
        normaliser = softmax(outputs, slopes)
        for k in range(len(outputs)):
            loss += target[k] * (normaliser - outputs[k])
            slopes[k] -= target[k]
    else:
        for k in range(len(outputs)):
            slopes[k] = outputs[k] - target[k]
            loss += 0.5 * slopes[k] * slopes[k]
    backward(weights, widths, tanh, space, gradient)
    return loss
