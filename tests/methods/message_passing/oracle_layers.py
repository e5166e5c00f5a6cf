"""Layers of the message-passing network in plain NumPy: they hold messages and call factors.

Every layer has `forward(a, n)`, the message to its outputs for example n of the active batch
(None: to predict), and `backward(back, n)`, the message to its inputs by the same pass.
"""

from typing import NamedTuple

import numpy as np

from tests.methods.message_passing.oracle_factors import (
    floored,
    leaky_relu_backward,
    leaky_relu_direct,
    leaky_relu_forward,
    message,
    moments,
    term_of_sum,
    win_probabilities,
)


class Prior(NamedTuple):
    """One weight layer: weights (outputs, inputs) or (channels, in_channels, k, k), biases."""

    mean: np.ndarray
    variance: np.ndarray
    bias_mean: np.ndarray
    bias_variance: np.ndarray


class Weights(NamedTuple):
    """Messages to, or marginals of, weights (2, outputs, inputs) and biases (2, outputs)."""

    weight: np.ndarray
    bias: np.ndarray

    def __add__(self, other: "Weights") -> "Weights":
        return Weights(self.weight + other.weight, self.bias + other.bias)

    def __sub__(self, other: "Weights") -> "Weights":
        return Weights(self.weight - other.weight, self.bias - other.bias)

    def __mul__(self, factor: float) -> "Weights":
        return Weights(factor * self.weight, factor * self.bias)


class Affine:
    """A linear map, or a convolution as a linear map at each position (a row of `pixels`)."""

    def __init__(self, prior: Prior, pixels: np.ndarray, in_shape, out_shape, first, least):
        outputs = len(prior.mean)
        self.prior = Weights(
            message(prior.mean, prior.variance).reshape(2, outputs, -1),
            message(prior.bias_mean, prior.bias_variance),
        )
        self.pixels, self.in_shape, self.out_shape = pixels, in_shape, out_shape
        self.first, self.least = first, least
        self.marginal = self.before = (
            self.prior
        )  # before: without the messages that this batch has yet to send

    def start(self, before: Weights, examples: int) -> None:
        """Forget the active batch."""
        self.before = self.marginal = before
        self.slots = [before * 0.0] * examples
        self.to_inputs = np.zeros((examples, 2, *self.in_shape))

    def forward(self, a: np.ndarray, n: int | None) -> np.ndarray:
        weights, cavity = self.marginal, self.marginal
        if n is not None:
            cavity = self.marginal - self.slots[n]
        if self.first:
            weights = cavity
            mean, variance = a, np.zeros_like(a)
        else:
            mean, variance = moments(floored(a if n is None else a + self.to_inputs[n], self.least))
        # axes: position, output, input
        self.a_mean, self.a_variance = (self._rows(part)[:, None, :] for part in (mean, variance))
        self.w_mean, self.w_variance = moments(weights.weight)
        self.b_mean, self.b_variance = moments(cavity.bias)
        self.term_mean = self.a_mean * self.w_mean
        self.term_variance = (
            self.a_variance * (self.w_variance + self.w_mean**2) + self.a_mean**2 * self.w_variance
        )
        self.mean = self.term_mean.sum(-1) + self.b_mean
        self.variance = self.term_variance.sum(-1) + self.b_variance
        return message(self.mean.T, self.variance.T).reshape(2, *self.out_shape)

    def backward(self, back: np.ndarray, n: int) -> np.ndarray | None:
        """Replace the messages of example n to the weights; no message is sent to data."""
        tau, rho = back.reshape(2, len(self.mean[0]), -1).transpose(0, 2, 1)
        total = self.mean, self.variance
        bias = term_of_sum(1.0, (tau, rho), (self.b_mean, self.b_variance), total).sum(1)
        terms = term_of_sum(
            1.0,
            (tau[..., None], rho[..., None]),
            (self.term_mean, self.term_variance),
            (self.mean[..., None], self.variance[..., None]),
        )
        new = Weights(product_backward(terms, self.a_mean, self.a_variance).sum(1), bias)
        self.marginal = self.marginal + new - self.slots[n]
        self.slots[n] = new
        if self.first:
            return None
        rows = product_backward(terms, self.w_mean, self.w_variance).sum(2)
        self.to_inputs[n] = floored(self._folded(rows))
        return self.to_inputs[n]

    def end_iteration(self) -> None:
        """Multiply all messages again, so that rounding errors do not accumulate."""
        self.marginal = self.before + self.said()

    def said(self) -> Weights:
        """Return the product of all messages of the active batch."""
        return sum(self.slots, start=self.before * 0.0)

    def _rows(self, values: np.ndarray) -> np.ndarray:
        return np.append(values.ravel(), 0.0)[self.pixels]  # the last index is the padding

    def _folded(self, rows: np.ndarray) -> np.ndarray:
        """Multiply the messages of all windows to a pixel; those to the padding are dropped."""
        pixels = np.zeros((2, int(np.prod(self.in_shape)) + 1))
        for part, row in zip(pixels, rows, strict=True):
            np.add.at(part, self.pixels, row)
        return pixels[:, :-1].reshape(2, *self.in_shape)


def product_backward(back: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the message from a product to one factor, given moments of the other's marginal."""
    return np.stack([mean * back[0], (mean**2 + variance) * back[1]])


class Leaky:
    """LeakyReLU; stores the last back message of each example."""

    def __init__(self, slope: float, shape):
        self.slope, self.shape = slope, shape

    def start(self, examples: int) -> None:
        self.last_back = np.zeros((examples, 2, *self.shape))

    def forward(self, z: np.ndarray, n: int | None) -> np.ndarray:
        self.z = z
        if n is None:
            return leaky_relu_direct(z, self.slope)
        return leaky_relu_forward(z, self.last_back[n], self.slope)

    def backward(self, back: np.ndarray, n: int) -> np.ndarray:
        self.last_back[n] = back
        return leaky_relu_backward(self.z, back, self.slope)


class MaxPool:
    """A sum over each square, weighted by the probabilities that a pixel is the largest."""

    def __init__(self, size: int):
        self.size = size

    def forward(self, z: np.ndarray, n: int | None) -> np.ndarray:
        _, channels, height, width = self.shape = z.shape
        k, h, w = self.size, height // self.size, width // self.size
        self.cut = (slice(None), slice(None), slice(h * k), slice(w * k))
        squares = z[self.cut].reshape(2, channels, h, k, w, k).swapaxes(3, 4)
        self.terms = moments(squares.reshape(2, channels, h, w, k * k))
        mean, variance = self.terms
        self.weights = win_probabilities(mean, variance)
        self.total = (self.weights * mean).sum(-1), (self.weights**2 * variance).sum(-1)
        return message(*self.total)

    def backward(self, back: np.ndarray, n: int) -> np.ndarray:
        total = self.total[0][..., None], self.total[1][..., None]
        squares = term_of_sum(self.weights, back[..., None], self.terms, total)
        _, channels, h, w, _ = squares.shape
        squares = squares.reshape(2, channels, h, w, self.size, self.size).swapaxes(3, 4)
        result = np.zeros(self.shape)  # uniform in a border that no square covers
        result[self.cut] = squares.reshape(2, channels, h * self.size, w * self.size)
        return result


class Average:
    """The mean of each channel."""

    def forward(self, z: np.ndarray, n: int | None) -> np.ndarray:
        self.z, self.weight = z, 1 / np.prod(z.shape[2:])
        mean, variance = moments(z)
        self.total = (
            (mean * self.weight).sum((1, 2), keepdims=True),
            (variance * self.weight**2).sum((1, 2), keepdims=True),
        )
        return floored(message(*self.total)[:, :, 0, 0])

    def backward(self, back: np.ndarray, n: int) -> np.ndarray:
        return floored(
            term_of_sum(self.weight, back[:, :, None, None], moments(self.z), self.total)
        )


class Reshape:
    """Flatten."""

    def forward(self, z: np.ndarray, n: int | None) -> np.ndarray:
        self.shape = z.shape
        return z.reshape(2, -1)

    def backward(self, back: np.ndarray, n: int) -> np.ndarray:
        return back.reshape(self.shape)
