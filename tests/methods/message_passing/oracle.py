"""A slow message-passing network in plain NumPy float64: the sequential reference schedule.

One example at a time, with a slot for the message of each example to each weight, so that every
cavity is a difference of two arrays. It departs from the authors' program where that depends on
rounding, on stale buffers or on the last batch: the guard of the LeakyReLU tolerates equality,
the trainer's marginal predicts, padding is with zeros. Source: paper 000, sections 3 and 4.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.methods.networks.architectures import (
    Architecture,
    Conv2d,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    MaxPool2d,
)
from tests.methods.message_passing.oracle_factors import (
    FLOOR,
    argmax_backward,
    message,
    moments,
    win_probabilities,
)
from tests.methods.message_passing.oracle_layers import (
    Affine,
    Average,
    Leaky,
    MaxPool,
    Prior,
    Reshape,
)


@dataclass(frozen=True)
class Argmax:
    """The label is the largest output; None: outputs are not drawn to +1 and -1."""

    target_variance: float | None = 0.1

    def backward(self, z: np.ndarray, label: int) -> np.ndarray:
        """Return the message to the outputs."""
        return argmax_backward(z, label, self.target_variance)

    def predict(self, z: np.ndarray) -> np.ndarray:
        """Return the probability of each class."""
        return win_probabilities(*moments(z))


@dataclass(frozen=True)
class KnownNoise:
    """The target is the output plus Gaussian noise."""

    variance: float

    def backward(self, z: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the message to the outputs."""
        return message(target, self.variance)

    def predict(self, z: np.ndarray) -> np.ndarray:
        """Return mean and variance of the target."""
        mean, variance = moments(z)
        return np.stack([mean, variance + self.variance])


def window(shape: tuple[int, ...], kernel: int, stride: int, borders: tuple[int, int]):
    """Return the indices of the pixels under each position of a kernel, one row per position.

    Pixels in the padding have the index after the last pixel. Also returns the positions' shape.
    """
    channels, height, width = shape
    before, after = borders
    down = range(-before, height + after - kernel + 1, stride)
    across = range(-before, width + after - kernel + 1, stride)
    rows = []
    for top in down:
        for left in across:
            row = []
            for channel in range(channels):
                for y in range(top, top + kernel):
                    for x in range(left, left + kernel):
                        inside = 0 <= y < height and 0 <= x < width
                        index = (channel * height + y) * width + x
                        row.append(index if inside else channels * height * width)
            rows.append(row)
    return np.array(rows), (len(down), len(across))


def traced(architecture: Architecture, shape: tuple[int, ...]) -> Iterator[tuple]:
    """Return each layer, its input shape and its output shape."""
    for layer in architecture:
        entering = shape
        match layer:
            case Linear(outputs=outputs):
                shape = (outputs,)
            case Conv2d(channels=channels, kernel=kernel, stride=stride):
                shape = (channels, *window(shape, kernel, stride, layer.borders)[1])
            case LeakyReLU():
                pass
            case MaxPool2d(size=size):
                shape = (shape[0], *(side // size for side in shape[1:]))
            case GlobalAvgPool2d():
                shape = shape[:1]
            case Flatten():
                shape = (int(np.prod(shape)),)
            case _:
                raise ValueError(f"the oracle has no {layer}")
        yield layer, entering, shape


def build(architecture: Architecture, shape: tuple[int, ...], priors: Sequence[Prior]) -> list:
    """Return the layers of a network for inputs of a shape; a prior for each weight layer."""
    remaining, layers = list(priors), []
    for layer, entering, leaving in traced(architecture, shape):
        first = len(remaining) == len(priors)
        match layer:
            case Linear():
                pixels = np.arange(np.prod(entering))[None]
                layers.append(Affine(remaining.pop(0), pixels, entering, leaving, first, FLOOR))
            case Conv2d(kernel=kernel, stride=stride):
                pixels, _ = window(entering, kernel, stride, layer.borders)
                layers.append(Affine(remaining.pop(0), pixels, entering, leaving, first, 0.0))
            case LeakyReLU(slope=slope):
                layers.append(Leaky(slope, leaving))
            case MaxPool2d(size=size):
                layers.append(MaxPool(size))
            case GlobalAvgPool2d():
                layers.append(Average())
            case Flatten() if not first:  # readers flatten the data
                layers.append(Reshape())
    return layers


def influence(epoch: int) -> float:
    """Return beta, the step from old to new aggregates, in epoch 1, 2, ..."""
    return 0.9 + 0.1 * np.exp(-0.3 * (epoch - 1))


class Trainer:
    """The posterior given all batches: prior times the aggregated messages of each batch."""

    def __init__(self, layers: list, head: Argmax | KnownNoise, inputs, targets, batches):
        self.layers, self.head = layers, head
        self.inputs, self.targets = np.asarray(inputs, float), np.asarray(targets)
        self.batches = [list(batch) for batch in batches]  # indices of examples
        self.affine: list[Affine] = [layer for layer in layers if isinstance(layer, Affine)]
        self.marginals = [layer.prior for layer in self.affine]
        self.aggregates = [[layer.prior * 0.0 for layer in self.affine] for _ in self.batches]

    def epoch(self, number: int, visits: Iterable[tuple[int, Iterable[int]]], iterations: int):
        """Visit batches in an order; each visit is a batch and the order of its examples."""
        for batch, order in visits:
            self.visit(batch, order, iterations, influence(number))
        self.marginals = [
            sum((said[i] for said in self.aggregates), start=layer.prior)
            for i, layer in enumerate(self.affine)
        ]

    def visit(self, batch: int, order: Iterable[int], iterations: int, influence: float) -> None:
        """Replace a batch's messages; order: positions in the batch, the same in each iteration."""
        self.enter(batch)
        for _ in range(iterations):
            for n in order:
                self.update(n, self.batches[batch][n])
            for layer in self.affine:
                layer.end_iteration()
        for i, layer in enumerate(self.affine):
            old = self.aggregates[batch][i]
            new = old * (1 - influence) + layer.said() * influence
            self.marginals[i] = self.marginals[i] + new - old
            self.aggregates[batch][i] = new

    def enter(self, batch: int) -> None:
        """Divide out a batch's messages, and start with uniform messages."""
        examples = len(self.batches[batch])
        for layer, marginal, said in zip(
            self.affine, self.marginals, self.aggregates[batch], strict=True
        ):
            layer.start(marginal - said, examples)
        for layer in self.layers:
            if isinstance(layer, Leaky):
                layer.start(examples)

    def update(self, n: int, example: int) -> None:
        """Pass forward and backward once, for position n of the batch."""
        passed = self.inputs[example]
        for layer in self.layers:
            passed = layer.forward(passed, n)
        passed = self.head.backward(passed, self.targets[example])
        for layer in reversed(self.layers):
            passed = layer.backward(passed, n)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Return the head's prediction at each input, by the trainer's marginals."""
        for layer, marginal in zip(self.affine, self.marginals, strict=True):
            layer.marginal = marginal
        predictions = []
        for passed in np.asarray(inputs, float):
            for layer in self.layers:
                passed = layer.forward(passed, None)
            predictions.append(self.head.predict(passed))
        return np.stack(predictions)


def spectral_prior(
    architecture: Architecture, shape: tuple[int, ...], rng: np.random.Generator
) -> list[Prior]:
    """Return priors with random means, and with variances that keep the scale of predictions.

    Source: paper 000, appendix D; the constants are those of its program.
    """
    priors = []
    for layer, entering, leaving in traced(architecture, shape):
        if isinstance(layer, Linear):
            size = (layer.outputs, int(np.prod(entering)))
        elif isinstance(layer, Conv2d):
            size = (layer.channels, entering[0], layer.kernel, layer.kernel)
        else:
            continue
        fan_in = int(np.prod(size[1:]))
        widening = min(1.0, np.prod(leaving) / fan_in)
        variance = 1.5 / fan_in
        if priors:
            b, a = 0.8040586726631379, 0.44958619556324186
            variance = (1.5 - b * widening) / (b + a * fan_in)
        mean = rng.normal(0, np.sqrt(widening / fan_in), size)
        bias = np.zeros(len(mean)), np.full(len(mean), 0.5)
        priors.append(Prior(mean, np.full(size, variance), *bias))
    return priors
