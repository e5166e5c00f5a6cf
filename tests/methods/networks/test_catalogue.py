"""Every count here is from the source papers' code or text, none from ours."""

import pytest

from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    Conv2d,
    Dropout,
    LeakyReLU,
    Linear,
    Residual,
    Sigmoid,
)
from bnnbench.methods.networks.catalogue import (
    LEAKY,
    allconv_001,
    cnn_000,
    lenet_000,
    lenet_001,
    mlp,
    preresnet164,
    resnet18,
    resnet20_frn,
    vgg16,
    wideresnet28_10,
)
from bnnbench.methods.networks.shapes import output_shapes, parameter_count, walk

CIFAR, MNIST = (3, 32, 32), (1, 28, 28)

IMAGE_NETWORKS = [
    (cnn_000(), CIFAR, 890_410, 6),
    (lenet_000(), MNIST, 61_706, 5),
    (lenet_000(symmetric=True), MNIST, 61_706, 5),
    (lenet_001(), MNIST, 103_856, 4),
    (lenet_001(norm=BatchNorm()), MNIST, 104_012, 4),
    (lenet_001(norm=AnalyticNorm()), MNIST, 104_012, 4),
    (allconv_001(), CIFAR, 1_369_738, 9),
    (allconv_001(norm=BatchNorm()), CIFAR, 1_370_996, 9),
    (resnet18(), CIFAR, 11_173_962, 21),
    (resnet18(dropout=0.2), CIFAR, 11_173_962, 21),
    (resnet18(100), CIFAR, 11_220_132, 21),
    (resnet18(width=16), CIFAR, 701_466, 21),
    (resnet20_frn(), CIFAR, 274_042, 22),
    (resnet20_frn(100), CIFAR, 279_892, 22),
    (vgg16(), CIFAR, 15_245_130, 16),
    (vgg16(100), CIFAR, 15_291_300, 16),
    (vgg16(norm=BatchNorm()), CIFAR, 15_253_578, 16),
    (vgg16(100, norm=BatchNorm()), CIFAR, 15_299_748, 16),
    (preresnet164(), CIFAR, 1_703_258, 167),
    (preresnet164(100), CIFAR, 1_726_388, 167),
    (wideresnet28_10(), CIFAR, 36_489_290, 29),
    (wideresnet28_10(100), CIFAR, 36_546_980, 29),
    (wideresnet28_10(bias=False), CIFAR, 36_479_194, 29),
    (wideresnet28_10(100, bias=False), CIFAR, 36_536_884, 29),
]

PERCEPTRONS = [
    (784, mlp((200,), 10, LEAKY), 159_010),
    (784, mlp((256, 256), 10), 269_322),
    (784, mlp((400,), 10), 318_010),
    (784, mlp((800,), 10), 636_010),
    (784, mlp((1200,), 10), 954_010),
    (784, mlp((400, 400), 10), 478_410),
    (784, mlp((800, 800), 10), 1_276_810),
    (784, mlp((1200, 1200), 10), 2_395_210),
    (784, mlp((100,), 10, Sigmoid()), 79_510),
    (784, mlp((100,), 10, Sigmoid(), norm=BatchNorm()), 79_620),
    (784, mlp((50, 50), 10), 42_310),
    (2, mlp((25, 25), 2), 777),
    *((1, mlp((16,) * d, 1, LEAKY), n) for d, n in enumerate((49, 321, 593, 865, 1137), 1)),
    *((1, mlp((4 * 2**k,), 1), n) for k, n in ((0, 13), (2, 49), (3, 97), (4, 193), (5, 385))),
    (1, mlp((32, 32), 1), 1_153),
    (13, mlp((50,), 1), 751),
    (9, mlp((100,), 1), 1_101),
    (90, mlp((100,), 1), 9_201),
    (13, mlp((10,), 1), 151),
    (13, mlp((50,), 2), 802),
    (18, mlp((1000, 1000, 500, 50, 2), 2), 1_545_658),
    (19, mlp((1000, 500, 50, 2), 2), 545_658),
]


@pytest.mark.parametrize(("network", "shape", "parameters", "layers"), IMAGE_NETWORKS)
def test_image_networks_have_the_stated_counts(network, shape, parameters, layers):
    placed = list(walk(network, shape))
    assert parameter_count(network, shape) == parameters
    assert sum(isinstance(place.layer, Linear | Conv2d) for place in placed) == layers
    assert placed[-1].output_shape in {(10,), (100,)}


@pytest.mark.parametrize(("features", "network", "parameters"), PERCEPTRONS)
def test_perceptrons_have_the_stated_counts(features, network, parameters):
    assert parameter_count(network, (features,)) == parameters


def test_the_first_network_has_the_stated_shapes():
    sides = [shape[1] for shape in output_shapes(cnn_000(), CIFAR) if len(shape) == 3]
    assert sides == [30, 30, 28, 28, 14, 12, 12, 10, 10, 5]


def test_the_all_convolution_nets_have_the_stated_sides():
    def sides(network, shape):
        placed = walk(network, shape)
        return [place.output_shape[1] for place in placed if isinstance(place.layer, Conv2d)]

    assert sides(allconv_001(), CIFAR) == [30, 28, 13, 11, 9, 4, 2, 2, 2]
    assert sides(lenet_001(), MNIST) == [12, 4, 1, 1]
    assert sides(lenet_000(), MNIST) == [28, 10]


def test_resnet18_halves_the_side_at_stages_two_three_and_four():
    placed = walk(resnet18(), CIFAR)
    sides = [p.output_shape[1] for p in placed if isinstance(p.layer, Residual)]
    assert sides == [32, 32, 16, 16, 8, 8, 4, 4]


def test_dropout_precedes_every_dense_layer_of_a_perceptron():
    names = [type(layer).__name__ for layer in mlp((50, 50), 1, dropout=0.05)]
    assert names == ["Dropout", "Linear", "ReLU", "Dropout", "Linear", "ReLU", "Dropout", "Linear"]


def test_dropout_follows_every_activation_of_the_all_convolution_nets():
    for network in (lenet_001(dropout=0.2), allconv_001(dropout=0.2)):
        activated = [k for k, layer in enumerate(network) if isinstance(layer, LeakyReLU)]
        dropped = [k for k, layer in enumerate(network) if layer == Dropout(0.2)]
        assert dropped == [k + 1 for k in activated]
    assert Dropout not in map(type, lenet_001())


def test_two_ways_to_the_same_network_give_one_identity():
    assert cnn_000() == cnn_000(channels=(32, 32, 64, 64), hidden=512)
    assert hash(resnet18(10)) == hash(resnet18(classes=10, dropout=0.0))
