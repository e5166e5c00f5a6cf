"""The networks of the source papers, as functions that return their layers."""

from collections.abc import Iterable, Sequence
from itertools import chain

from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    Architecture,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    FeatureResponseNorm,
    Flatten,
    GlobalAvgPool2d,
    Layer,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
    Swish,
    TorchModule,
)

LEAKY = LeakyReLU(0.1)


def mlp(
    hidden: Sequence[int],
    outputs: int,
    activation: Layer = ReLU(),
    norm: BatchNorm | AnalyticNorm | None = None,
    dropout: float = 0.0,
) -> Architecture:
    """Return a perceptron with these hidden widths.

    A norm follows every dense layer, including the last, and replaces its bias (seed paper 001).
    Dropout precedes every dense layer (Gal and Ghahramani, 2016).
    """
    after = () if norm is None else (norm,)
    blocks = (
        (*_dropout(dropout), Linear(width, bias=norm is None), *after)
        for width in (*hidden, outputs)
    )
    return _joined(blocks, activation)


def cnn_000(
    channels: Sequence[int] = (32, 32, 64, 64), hidden: int = 512, classes: int = 10
) -> Architecture:
    """Return the six-layer network of seed paper 000 for CIFAR-10."""
    first, second, third, fourth = channels
    return (
        *(Conv2d(first, 3), LEAKY, Conv2d(second, 3), LEAKY, MaxPool2d(2)),
        *(Conv2d(third, 3), LEAKY, Conv2d(fourth, 3), LEAKY, MaxPool2d(2)),
        *(Flatten(), Linear(hidden), LEAKY, Linear(classes)),
    )


def lenet_000(classes: int = 10, symmetric: bool = False) -> Architecture:
    """Return the LeNet of seed paper 000; its message passing pads symmetrically."""
    first = Conv2d(6, 5, padding=2, padding_mode="symmetric" if symmetric else "zeros")
    return (
        *(first, LEAKY, MaxPool2d(2)),
        *(Conv2d(16, 5), LEAKY, MaxPool2d(2)),
        *(Flatten(), Linear(120), LEAKY, Linear(84), LEAKY, Linear(classes)),
    )


def lenet_001(
    classes: int = 10,
    activation: Layer = LeakyReLU(0.01),
    norm: BatchNorm | AnalyticNorm | None = None,
    dropout: float = 0.0,
) -> Architecture:
    """Return the all-convolution LeNet of seed paper 001 for MNIST.

    Dropout follows every activation.
    """
    sizes = ((32, 5, 2), (64, 5, 2), (50, 4, 1), (classes, 1, 1))
    return (*_convolutions(sizes, activation, norm, dropout), Flatten())


def allconv_001(
    classes: int = 10,
    activation: Layer = LeakyReLU(0.01),
    norm: BatchNorm | AnalyticNorm | None = None,
    dropout: float = 0.0,
    channels: tuple[int, int] = (96, 192),
) -> Architecture:
    """Return the all-convolution network of seed paper 001 for CIFAR-10.

    Dropout follows every activation.
    """
    few, many = channels
    sizes = (
        *((few, 3, 1), (few, 3, 1), (few, 3, 2)),
        *((many, 3, 1), (many, 3, 1), (many, 3, 2)),
        *((many, 3, 1), (many, 1, 1), (classes, 1, 1)),
    )
    return (*_convolutions(sizes, activation, norm, dropout), GlobalAvgPool2d())


def mlp_003() -> Architecture:
    """Return seed paper 003's perceptron for MNIST."""
    return (Flatten(), *mlp([50, 50], 10))


def lecun_mlp_003() -> Architecture:
    """Return the same perceptron with initial weights N(0, 1/fan-in) and biases 0."""
    widths = {"widths": (784, 50, 50, 10)}
    factory = "bnnbench.methods.networks.lecun_mlp:lecun_mlp"
    return (TorchModule(factory, outputs=10, arguments=widths, stacked=True),)


def resnet18(classes: int = 10, dropout: float = 0.0, width: int = 64) -> Architecture:
    """Return ResNet-18 for 32 x 32 images (He et al., 2016); no pooling in the stem.

    `width` is the number of channels of the first stage; each later stage doubles it. Dropout
    follows the activation inside each block and precedes the last layer; seed paper 003 does not
    state its position.
    """

    def block(channels: int, stride: int, project: bool) -> Architecture:
        body = (
            *(Conv2d(channels, 3, stride, 1, bias=False), BatchNorm(), ReLU()),
            *_dropout(dropout),
            *(Conv2d(channels, 3, padding=1, bias=False), BatchNorm()),
        )
        shortcut = (Conv2d(channels, 1, stride, bias=False), BatchNorm()) if project else ()
        return (Residual(body, shortcut), ReLU())

    return (
        *(Conv2d(width, 3, padding=1, bias=False), BatchNorm(), ReLU()),
        *block(width, 1, False),
        *block(width, 1, False),
        *chain.from_iterable(
            (*block(times * width, 2, True), *block(times * width, 1, False)) for times in (2, 4, 8)
        ),
        *(GlobalAvgPool2d(), *_dropout(dropout), Linear(classes)),
    )


def resnet20_frn(classes: int = 10) -> Architecture:
    """Return ResNet-20 with feature response normalisation and Swish (Izmailov et al., 2021).

    The strided convolutions pad like the original's "same" padding: 0 before, 1 after.
    """

    def block(channels: int, stride: int) -> Architecture:
        body = (
            *(Conv2d(channels, 3, stride, (0, 1) if stride == 2 else 1), FeatureResponseNorm()),
            *(Swish(), Conv2d(channels, 3, padding=1), FeatureResponseNorm()),
        )
        shortcut = (Conv2d(channels, 1, stride), FeatureResponseNorm()) if stride == 2 else ()
        return (Residual(body, shortcut), Swish())

    stages = ((16, 1), (32, 2), (64, 2))
    return (
        *(Conv2d(16, 3, padding=1), FeatureResponseNorm(), Swish()),
        *chain.from_iterable(
            block(channels, stride if index == 0 else 1)
            for channels, stride in stages
            for index in range(3)
        ),
        *(AvgPool2d(8), Flatten(), Linear(classes)),
    )


def vgg16(classes: int = 10, norm: BatchNorm | None = None, width: int = 64) -> Architecture:
    """Return VGG-16 as in the code of SWAG (Maddox et al., 2019), with `width` channels first."""
    after = () if norm is None else (norm,)

    def stage(channels: int, depth: int) -> Architecture:
        return (*(Conv2d(channels, 3, padding=1), *after, ReLU()) * depth, MaxPool2d(2))

    dense = (Dropout(0.5), Linear(8 * width), ReLU())
    few, many = stage(width, 2) + stage(2 * width, 2), stage(8 * width, 3)
    return (
        *(*few, *stage(4 * width, 3), *many, *many),
        *(Flatten(), *dense, *dense, Linear(classes)),
    )


def preresnet164(classes: int = 10, width: int = 16) -> Architecture:
    """Return PreResNet-164 as in the code of SWAG (Maddox et al., 2019), `width` channels first.

    The shortcut takes a block's raw input, and nothing follows the sum.
    """

    def block(narrow: int, stride: int, project: bool) -> Layer:
        ready, wide = (BatchNorm(), ReLU()), 4 * narrow
        body = (
            *(*ready, Conv2d(narrow, 1, bias=False)),
            *(*ready, Conv2d(narrow, 3, stride, 1, bias=False)),
            *(*ready, Conv2d(wide, 1, bias=False)),
        )
        return Residual(body, (Conv2d(wide, 1, stride, bias=False),) if project else ())

    return (
        Conv2d(width, 3, padding=1, bias=False),
        *(
            block(narrow, stride if index == 0 else 1, project=index == 0)
            for narrow, stride in ((width, 1), (2 * width, 2), (4 * width, 2))
            for index in range(18)
        ),
        *(BatchNorm(), ReLU(), AvgPool2d(8), Flatten(), Linear(classes)),
    )


def wideresnet28_10(
    classes: int = 10, dropout: float = 0.0, bias: bool = True, widening: int = 10
) -> Architecture:
    """Return WideResNet-28-10 as in the code of SWAG (Maddox et al., 2019), or a narrower one.

    It differs from the original by its biases and by the stride in a block's second convolution;
    the original has no biases and a stride in the first convolution.
    """

    def block(channels: int, stride: int, project: bool) -> Layer:
        body = (
            *(BatchNorm(), ReLU(), Conv2d(channels, 3, padding=1, bias=bias)),
            *_dropout(dropout),
            *(BatchNorm(), ReLU(), Conv2d(channels, 3, stride, 1, bias=bias)),
        )
        return Residual(body, (Conv2d(channels, 1, stride, bias=bias),) if project else ())

    return (
        Conv2d(16, 3, padding=1, bias=bias),
        *(
            block(channels, stride if index == 0 else 1, project=index == 0)
            for channels, stride in ((16 * widening, 1), (32 * widening, 2), (64 * widening, 2))
            for index in range(4)
        ),
        *(BatchNorm(momentum=0.9), ReLU(), AvgPool2d(8), Flatten(), Linear(classes)),
    )


def _dropout(rate: float) -> Architecture:
    return (Dropout(rate),) if rate else ()


def _convolutions(
    sizes: Sequence[tuple[int, int, int]],
    activation: Layer,
    norm: BatchNorm | AnalyticNorm | None,
    dropout: float,
) -> Architecture:
    """Return unpadded convolutions, each followed by its norm, with activations between.

    Dropout follows the activations.
    """
    after = () if norm is None else (norm,)
    blocks = (
        (Conv2d(channels, kernel, stride, bias=norm is None), *after)
        for channels, kernel, stride in sizes
    )
    return _joined(blocks, activation, *_dropout(dropout))


def _joined(blocks: Iterable[Architecture], *between: Layer) -> Architecture:
    """Return the blocks with the layers `between` them."""
    first, *others = blocks
    return (*first, *chain.from_iterable((*between, *block) for block in others))
