"""Every function, compared with 40-digit quadrature and closed forms of 10 digits."""

import math

import pytest
import torch

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.binary import (
    heaviside,
    logistic_bernoulli,
    logistic_transform,
    normal_cdf,
    probit_unit,
)
from bnnbench.methods.moments.units.maximum import maximum, tree_maximum
from bnnbench.methods.moments.units.product import product
from bnnbench.methods.moments.units.rectified import (
    absolute,
    leaky_relu,
    relu,
    relu_logistic,
)
from bnnbench.methods.moments.units.softmax import log_probabilities

TOLERANCE = {torch.float64: 2e-9, torch.float32: 2e-5}
"""Relative: the numbers have 10 digits; in float32, mean/std of 10 moves the tail by 5e-6."""
TYPES = pytest.mark.parametrize("dtype", TOLERANCE, ids=("float64", "float32"))

RELU = """
0     1     0.3989422804     0.3408450569     0.5              0.3821520694    0.3539597958
1     4     1.395593115      2.213762818      3.170513528      1.373982273     2.214860073
-2    1     0.008490702617   0.005696634684   0.004663251378   0.01446291408   0.0158433618
3     0.25  3.0              0.2499999995     0.2499999743     3.000005177     0.2499660868
-5    1     5.346165534e-8   1.934329233e-8   1.502437167e-6   6.349952382e-5  7.001622859e-5
-10   1     7.474560255e-25  1.452927696e-25  2.257324223e-12  7.314425151e-9  8.065307852e-9
10    1     10.0             1.0              1.0              10.00000001     0.9999998456
100   1     100.0            1.0              1.0              100.0           1.0
"""
LEAKY_RELU = """
0.01  0    1     0.3949528576     0.3440622403     0.50005
0.01  1    4     1.391637184      2.224872765      3.170596476
0.01  -2   1     -0.01159420441   0.006133724266   0.004762785053
0.01  -5   1     -0.04999994707   0.0001000246341  0.0001015022869
0.01  -10  1     -0.1             0.0001           0.0001000000023
0.1   0    1     0.3590480524     0.3760844961     0.505
0.1   1    4     1.356033803      2.331000855      3.178808393
0.1   -2   1     -0.1923583676    0.01870929784    0.01461661886
0.1   3    0.25  3.0              0.2499999996     0.2499999745
0.1   -2   1e-6  -0.2             1e-8             1e-8
"""
BINARY = """
0    1     0.5             0.5             0.5             0.5             0.25            0.05
3    1     0.998650102     0.995685277     0.926252411     0.9325899903    0.06286590028   \
0.003161697134
1    4     0.6914624613    0.7123653231    0.644447974     0.661902426     0.2237876044    \
0.1001617838
0.5  0.01  0.9999997133    0.9998848312    0.6084365451    0.6222811393    0.235047323     \
0.0005510947035
-2   25    0.3445782584    0.3261786573    0.3534498586    0.3358082728    0.2230410767    \
0.1715424893
20   1     1.0             1.0             1.0             0.9999999753    2.474899552e-8  \
4.900102233e-16
-30  4     3.670966199e-51 1.528108433e-12 5.532394979e-29 1.767837928e-9  1.767837925e-9  \
6.250501855e-18
"""
MAXIMUM = """
0  1     0    1     0.5641895835  0.6816901138   1.0
1  1     -1   2     1.106552143   0.8996488949   1.043250117
0  1     3    0.5   3.002867269   0.4949664413   0.5007007864
5  1     -5   1     5.0           1.0            1.0
2  0.01  2.1  0.04  2.147981071   0.02307889711  0.03305193007
"""
OTHERS = """
0.7  2    1.26385115    0.8926802716  0.6569470215  0.2253676324  0.1026409291
-1   0.5  1.050254542   0.3969653977  0.2071080891  0.1642143285  0.03048257256
0    1    0.7978845608  0.3633802276  0.5           0.25          0.08333333333
"""
SOFTMAX = {
    ((1, 0, -1), (0, 0, 0)): {
        "normal": (0.7142238391, 0.2400565454, 0.04571961543),
        "logistic": (0.6652409558, 0.2447284711, 0.09003057317),
        "simplified": (0.6652409558, 0.2447284711, 0.09003057317),
    },
    ((1, 0, -1), (1, 1, 1)): {
        "normal": (0.6539887842, 0.2686918266, 0.07731938919),
        "logistic": (0.6020406429, 0.2736108134, 0.1243485437),
        "simplified": (0.6288980722, 0.2619739711, 0.1091279566),
    },
    ((2, -0.5, 0.3, 1), (0.5, 4, 0.1, 2)): {
        "normal": (0.6716758936, 0.03428782003, 0.0706593225, 0.2233769639),
        "logistic": (0.5342069325, 0.09807585212, 0.123953178, 0.2437640373),
        "simplified": (0.6021404654, 0.06676601673, 0.125540442, 0.2055530758),
    },
    ((101, 100, 99), (1, 4, 0.25)): {
        "normal": (0.6394807354, 0.2847258375, 0.07579342708),
        "logistic": (0.5852029339, 0.2956665441, 0.119130522),
        "simplified": (0.0009183857786, 5.317198366e-13, 0.9990816142),
    },
}


def columns(table: str, dtype: torch.dtype) -> list[torch.Tensor]:
    rows = [[float(word) for word in line.split()] for line in table.strip().splitlines()]
    return list(torch.tensor(rows, dtype=torch.float64).T.to(dtype))


def agree(found: torch.Tensor | None, truth: torch.Tensor) -> None:
    """Assert equality to the digits of the table, or of single precision."""
    assert found is not None
    least = 1e-37 if found.dtype is torch.float32 else 0.0
    torch.testing.assert_close(found, truth, rtol=TOLERANCE[found.dtype], atol=least)


@TYPES
@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_relu(dtype, backend):
    mean, variance, out, exact, paper, *_ = columns(RELU, dtype)
    for rule, truth in (("exact", exact), ("paper", paper)):
        found = relu(Moments(mean, variance), rule, backend)
        agree(found.mean, out)
        agree(found.variance, truth)


@TYPES
def test_relu_of_logistic_inputs(dtype):
    mean, variance, *_, out, truth = columns(RELU, dtype)
    found = relu_logistic(Moments(mean, variance))
    agree(found.mean, out)
    agree(found.variance, truth)


@TYPES
@pytest.mark.parametrize("backend", ["fused", "reference"])
def test_leaky_relu(dtype, backend):
    for slope, *row in zip(*columns(LEAKY_RELU, dtype), strict=True):
        mean, variance, out, exact, paper = row
        for rule, truth in (("exact", exact), ("paper", paper)):
            found = leaky_relu(Moments(mean, variance), slope.item(), rule, backend)
            agree(found.mean, out)
            agree(found.variance, truth)


@TYPES
def test_units_between_0_and_1(dtype):
    mean, variance, normal, logistic, ap2a, ap2b, bit, transform = columns(BINARY, dtype)
    x = Moments(mean, variance)
    agree(heaviside(x).mean, normal)
    agree(heaviside(x, "logistic").mean, logistic)
    agree(logistic_bernoulli(x, "ap2a").mean, ap2a)
    agree(logistic_bernoulli(x).mean, ap2b)
    agree(logistic_bernoulli(x).variance, bit)
    agree(logistic_transform(x).mean, ap2b)
    agree(logistic_transform(x).variance, transform)


def test_wide_rule_of_the_logistic_transform():
    x = Moments(torch.zeros(1, dtype=torch.float64), torch.full((1,), 4.0, dtype=torch.float64))
    found = logistic_transform(x, "wide").variance
    assert found is not None
    assert found.item() == pytest.approx(0.0950, abs=5e-5)
    assert logistic_transform(x).variance.item() == pytest.approx(0.125)


@TYPES
def test_maximum_of_two(dtype):
    mean, variance, other_mean, other_variance, out, exact, paper = columns(MAXIMUM, dtype)
    x, y = Moments(mean, variance), Moments(other_mean, other_variance)
    for rule, truth in (("exact", exact), ("paper", paper)):
        found = maximum(x, y, None, rule)
        agree(found.mean, out)
        agree(found.variance, truth)


@TYPES
def test_tree_maximum_of_four(dtype):
    equal = Moments(torch.zeros(4, dtype=dtype), torch.ones(4, dtype=dtype))
    mixed = Moments(
        torch.tensor([0.5, -1, 2, 1], dtype=dtype), torch.tensor([1, 2, 0.5, 1], dtype=dtype)
    )
    truths = {
        ("equal", "exact"): (1.030010045, 0.4647014113),
        ("equal", "paper"): (1.128379167, 1.0),
        ("mixed", "exact"): (2.19896427, 0.4005479379),
        ("mixed", "paper"): (2.224358142, 0.5746368244),
    }
    for (name, rule), (mean, variance) in truths.items():
        found = tree_maximum(equal if name == "equal" else mixed, rule)
        agree(found.mean, torch.tensor(mean, dtype=dtype))
        agree(found.variance, torch.tensor(variance, dtype=dtype))


@TYPES
def test_products(dtype):
    x, y = (torch.tensor(row, dtype=dtype) for row in ((1, -3), (2, 0.5)))
    found = product(
        Moments(x, torch.tensor([0.5, 1], dtype=dtype)),
        Moments(y, torch.tensor([0.25, 4], dtype=dtype)),
    )
    agree(found.mean, torch.tensor([2, -1.5], dtype=dtype))
    agree(found.variance, torch.tensor([2.375, 40.25], dtype=dtype))


@TYPES
def test_absolute_value_and_normal_distribution_function(dtype):
    mean, variance, size, size_variance, probit, bit, transform = columns(OTHERS, dtype)
    x = Moments(mean, variance)
    agree(absolute(x).mean, size)
    agree(absolute(x).variance, size_variance)
    agree(probit_unit(x).mean, probit)
    agree(probit_unit(x).variance, bit)
    agree(normal_cdf(x).mean, probit)
    agree(normal_cdf(x).variance, transform)


@TYPES
@pytest.mark.parametrize("logits", SOFTMAX)
def test_class_probabilities(logits, dtype):
    mean, variance = (torch.tensor(row, dtype=dtype) for row in logits)
    for rule, truth in SOFTMAX[logits].items():
        found = log_probabilities(Moments(mean, variance), rule)
        agree(found.exp(), torch.tensor(truth, dtype=dtype))


GATE = {
    (0.0, 0.0): (0.00014577, 0.00000056, 0.00014577),
    (0.0, 1.0): (0.05, 0.05225685, 0.05),
    (1.0, 1.0): (0.95, 0.94774315, 0.95),
    (0.25, 0.25): (0.00276243, 0.07230224, 0.06623141),
    (0.5, 0.5): (0.05, 0.25840310, 0.23580040),
    (0.75, 0.75): (0.5, 0.5, 0.5),
}
"""Probabilities of two bits -> the gate's output by means alone, AP2a and AP2b (table 1)."""


@pytest.mark.parametrize("bits", GATE)
def test_logic_gate(bits):
    scale = 2 * math.log(0.95 / 0.05)
    p = torch.tensor(bits, dtype=torch.float64)
    summed = Moments(scale * (p.sum() - 1.5), scale**2 * (p * (1 - p)).sum())
    alone = logistic_transform(Moments(summed.mean)).mean
    found = alone, logistic_bernoulli(summed, "ap2a").mean, logistic_bernoulli(summed).mean
    for value, truth in zip(found, GATE[bits], strict=True):
        assert value.item() == pytest.approx(truth, abs=5.1e-9)


def through(x: Moments, offset: int, outputs: int, scale: float, bias: tuple) -> Moments:
    """Return the moments behind weights scale * sin(...) or cos(...)."""
    wave = torch.sin if offset == 1 else torch.cos
    inputs = x.mean.shape[0]
    i, j = torch.arange(outputs)[:, None], torch.arange(inputs)
    weight = scale * wave((offset + inputs * i + j).double())
    assert x.variance is not None
    mean = weight @ x.mean + torch.tensor(bias, dtype=torch.float64)
    return Moments(mean, weight**2 @ x.variance)


NETWORKS = {
    "leaky": (
        lambda x: leaky_relu(x, 0.01),
        (-0.272417298, 0.129958449, 0.133253001),
        (0.052233107, 0.049066458, 0.061208858),
        (0.250876383, 0.373994273, 0.375129344),
        (0.251480065, 0.373686910, 0.374833025),
    ),
    "leaky, paper": (
        lambda x: leaky_relu(x, 0.01, "paper"),
        (-0.272417298, 0.129958449, 0.133253001),
        (0.074387324, 0.068850966, 0.083838350),
        (0.251121432, 0.373883738, 0.374994830),
        (0.251953496, 0.373461452, 0.374585052),
    ),
    "relu": (
        relu,
        (-0.273729889, 0.130857416, 0.133390382),
        (0.051904014, 0.048571789, 0.060747793),
        (0.250530971, 0.374308506, 0.375160523),
        (0.251132178, 0.374000999, 0.374866822),
    ),
    "bernoulli": (
        logistic_bernoulli,
        (-0.477884687, 0.250200839, 0.181529046),
        (0.102698772, 0.145599175, 0.138195044),
        (0.201709947, 0.412513201, 0.385776852),
        (0.203756137, 0.411219414, 0.385024449),
    ),
    "transform": (
        logistic_transform,
        (-0.477884687, 0.250200839, 0.181529046),
        (0.006446990, 0.009292666, 0.009058031),
        (0.199932572, 0.413743212, 0.386324216),
        (0.200072544, 0.413653497, 0.386273959),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_network_of_two_layers(name):
    activation, mean, variance, simplified, logistic = NETWORKS[name]
    x = Moments(
        torch.tensor([0.5, -1, 2], dtype=torch.float64),
        torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64),
    )
    hidden = through(x, 1, 4, 1.0, (0, 0.1, 0.2, 0.3))
    out = through(activation(hidden), 2, 3, 0.5, (0, 0.1, -0.1))
    found = (
        out.mean,
        out.variance,
        log_probabilities(out).exp(),
        log_probabilities(out, "logistic").exp(),
    )
    for value, truth in zip(found, (mean, variance, simplified, logistic), strict=True):
        expected = torch.tensor(truth, dtype=torch.float64)
        torch.testing.assert_close(value, expected, rtol=0, atol=6e-10)
