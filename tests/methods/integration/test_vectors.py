"""Values from rational arithmetic, and from series of 40 digits for many weights."""

import math

import pytest
import torch

from bnnbench.methods.integration.integrals import density, expectation, volume, with_noise
from bnnbench.methods.integration.logistic import log_mean_logistic, mean_logistic
from bnnbench.methods.integration.region import Affine, Box, Rectified
from bnnbench.methods.integration.sums import SumOfUniforms
from bnnbench.methods.integration.weights import smoothstep


def real(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def cube(widths: list[float]) -> Box:
    """Return a box around 0."""
    half = real(*widths) / 2
    return Box(-half, half)


# centre, widths, half base of the triangle, then y: density, cdf
HALVES = [2.0**-i for i in range(50)]
SUMS = {
    "one": (0.2, [1], 0.8, {-0.5: (0.28125, 0.05625), 0.2: (0.859375, 0.5),
        0.7: (0.5, 0.866666666667), 1.2: (0.0703125, 0.99296875), 1.6: (0, 1)}),
    "two": (-0.1, [0.6, 0.25], 0.735, {-0.9: (0.0932224741749, 0.00856111908104),
        -0.1: (1.06681372473, 0.5), 0.4: (0.449111224233, 0.916970403278),
        0.9: (0.00842447334187, 0.999663021066)}),
    "three": (0, [1, 0.4, 0.15], 0.5, {0: (0.969583333333, 0.5),
        0.3: (0.789759114583, 0.772877636719), 0.6: (0.345208333333, 0.945349023438),
        1: (0.0152083333333, 0.999143196615), 1.2: (8.7890625e-05, 0.999998681641)}),
    "tiny": (0, [1e-6, 2e-6, 0.3], 0.5, {0: (1.6999999999944, None),
        0.35: (0.60000000000139, None), 0.5: (0.15000000000278, None),
        0.6499: (6.6669444444e-08, None)}),
    "no width": (0, [0, 0, 0], 0.5, {0: (2, 0.5), 0.25: (1, 0.875), 0.4999: (0.0004, None),
        0.5: (0, 1), 0.6: (0, 1)}),
    "one of three": (0, [0.3, 0, 0], 0.5, {0: (1.7, 0.5), 0.25: (1, 0.86),
        0.6: (1 / 60, None)}),
    "narrow noise": (0, [1, 0.5, 0.25], 1e-4, {0: (1, 0.5), 0.3: (0.877499993333, 0.7928541655),
        0.6: (0.3, 0.972291665), 0.87: (0.000100006666667, 0.9999998333)}),
    "ten": (0.5, [0.1 * i for i in range(1, 11)], 0.7, {0.5: (0.616194825937, 0.5),
        1: (0.461811339380, 0.780957177746), 2: (0.0381380277346, 0.992053350395),
        3: (5.06328849250e-05, 0.999995696807)}),
    "fifty": (0, [0.02 * i for i in range(1, 51)], 1, {0: (0.314012819597, 0.5),
        1: (0.230950986037, 0.784638375456), 3: (0.0188386150910, 0.99145251694),
        5: (9.41928614697e-05, 0.999974360331)}),
    "fifty equal": (0, [0.1] * 50, 0.2, {0: (1.80788536138, 0.5), 0.25: (0.954237019867, None),
        0.5: (0.136847022350, None), 1: (3.89264542242e-05, None)}),
    "fifty halving": (0, HALVES, 0.3, {0: (0.990638729915, 0.5), 0.5: (0.5, None),
        1: (0.00468063504275, None)}),
    "hundred": (1, [0.01 * i for i in range(1, 101)], 0.5, {1: (0.235226050599, 0.5),
        2: (0.197854292445, 0.722339243493), 4: (0.0491920669189, 0.961950489971)}),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
def test_density_and_cdf_of_affine_functions(name):
    centre, widths, half_base, wanted = SUMS[name]
    function = Affine(real(centre)[0], torch.ones(len(widths), dtype=torch.float64))
    marginal = with_noise(function, cube(widths), real(half_base)[0])
    peak = float(marginal.density(real(centre)))
    for y, (pdf, cdf) in wanted.items():
        # The values have some twelve digits.
        assert float(marginal.density(real(y))) == pytest.approx(pdf, rel=2e-11, abs=1e-12 * peak)
        if cdf is not None:
            assert float(marginal.cdf(real(y))) == pytest.approx(cdf, rel=2e-11)
    assert float(expectation(function, cube(widths))) == centre


# offset, outgoing, centre of the unit's input, widths, half base; mean, y: density, cdf
T = [0.5, 0.3, 0.2]
UNITS = {
    "split": (0.3, 1.5, 0.1, T, 0.6, 0.499791666667, {-0.2: (0.102423411065, 0.00482453132144),
        0.3: (1.12094907407, 0.279461805556), 0.45: (1.19444444444, 0.454947916667),
        0.8: (0.774455589849, 0.822287594307), 1.1: (0.240504972565, 0.964144161523),
        2.2: (0, 1)}),
    "downwards": (0.3, -0.7, 0.1, T, 0.6, 0.206763888889, {-0.2: (0.536766975309, 0.0643974537037),
        0.3: (1.40767746914, 0.630783873457), 0.45: (0.991010802469, 0.810685493827),
        0.8: (0.123276823957, 0.994487411367)}),
    "always on": (0.3, 1.5, 1.0, T, 0.6, 1.8, {0.8: (0.017146776406, 0.00120070301783),
        2.2: (0.621284865112, 0.859168238455), 3: (0.000578703703704, None)}),
    "always off": (0.3, 1.5, -1.0, T, 0.6, 0.3, {-0.2: (0.277777777778, None),
        0.3: (1.66666666667, 0.5), 0.8: (0.277777777778, None), 1.1: (0, 1)}),
    "narrow": (0, 2, 0.05, T, 1e-3, None, {0: (401.184097049, None), 0.0005: (201.204209212, None),
        0.1: (0.999999652778, None), 0.3: (0.916666319444, None), 0.8: (0.187500347222, None)}),
    "kink at the centre": (0.3, 1.5, 0.0, [0.5, 1e-7, 1e-7], 0.6, None, {0.3: (1.40625, None),
        0.45: (1.32291666667, None), 0.8: (0.538194444444, None)}),
    "no outgoing weight": (0.3, 0, 0.1, T, 0.6, 0.3, {0.3: (1.66666666667, 0.5)}),
    "no width": (0.3, 1.5, 0.1, [0, 0, 0], 0.6, 0.45, {0.45: (1.66666666667, 0.5),
        1.05: (0, 1)}),
    "warm-up": (0, 1, 0, [6], 2.297003764578613, 0.75, {1: (0.261614460956, None)}),
    "warm-up, variance": (0, 1, 0, [6], 2.45, 0.75, {1: (0.255449118423, None)}),
}  # fmt: skip
OFF = {"split": 0.305555555556, "always on": 0, "always off": 1, "narrow": 0.400694444444}


def unit(offset: float, outgoing: float, centre: float, count: int) -> Rectified:
    inner = Affine(real(centre), torch.ones(1, count, dtype=torch.float64))
    return Rectified(real(offset)[0], real(outgoing), inner)


@pytest.mark.parametrize("name", UNITS)
def test_one_unit_that_all_weights_feed(name):
    offset, outgoing, centre, widths, half_base, mean, wanted = UNITS[name]
    function, box = unit(offset, outgoing, centre, len(widths)), cube(widths)
    marginal = with_noise(function, box, real(half_base)[0])
    peak = 1 / half_base
    for y, (pdf, cdf) in wanted.items():
        found = density(function, box, real(half_base)[0], real(y))
        assert float(found) == pytest.approx(pdf, rel=2e-11, abs=1e-11 * peak)
        if cdf is not None:
            assert float(marginal.cdf(real(y))) == pytest.approx(cdf, rel=2e-11)
    if mean is not None:
        assert float(expectation(function, box)) == pytest.approx(mean, rel=2e-11)
    if name in OFF:
        positive = Affine(real(centre)[0], torch.ones(len(widths), dtype=torch.float64))
        on = float(volume(box, positive) / volume(box))
        assert 1 - on == pytest.approx(OFF[name], abs=1e-11)


def test_weights_that_feed_different_units():
    inner = Affine(real(0.1, 0.05, 0.6), torch.eye(3, dtype=torch.float64))
    function = Rectified(real(0.1)[0], real(1.2, -0.8, 0.5), inner)
    marginal = with_noise(function, cube([0.6, 0.4, 0.3]), real(0.5)[0])
    y = real(-0.4, 0.1, 0.3, 0.7, 1.2)
    wanted = real(0, 0.558912037037, 1.16288194444, 1.08117834623, 0.0554636833285)
    torch.testing.assert_close(marginal.density(y), wanted, rtol=2e-11, atol=1e-13)


def test_two_weights_of_one_unit_and_one_of_another():
    slopes = real(1, 1, 0, 0, 0, 1).view(2, 3)
    function = Rectified(real(0.2)[0], real(1.5, -0.8), Affine(real(0.1, 0.05), slopes))
    box = cube([0.5, 0.3, 0.4])
    marginal = with_noise(function, box, real(0.6)[0])
    y = real(-0.3, 0.2, 0.5, 1)
    wanted = real(0.192515432099, 1.16585889275, 1.02812071331, 0.166945301783)
    torch.testing.assert_close(marginal.density(y), wanted, rtol=2e-11, atol=0)
    torch.testing.assert_close(function.on(box).off, real(0.3, 0.375))


LOGISTIC = {
    (-1, 2): 0.60455544117492, (0.3, 0.3): 0.57444251681166, (0.3, 0.3 + 1e-9): 0.57444251693389,
    (-8, -7.5): 4.3505020493006e-4, (-3, 9): 0.74596133755133, (-30, -25): 2.7588735270358e-12,
    (5, 45): 0.99983211628777,
}  # fmt: skip


@pytest.mark.parametrize("interval", LOGISTIC)
def test_mean_logistic(interval):
    found = float(mean_logistic(*(real(bound) for bound in interval)))
    assert found == pytest.approx(LOGISTIC[interval], rel=2e-13)


def test_mean_logistic_far_away_keeps_its_logarithm():
    found = log_mean_logistic(real(-900, -900, 800), real(-890, -900, 900))
    # For exp(x): (exp(b) - exp(a)) / (b - a), and exp(a) itself.
    wanted = real(-890 + math.log1p(-math.exp(-10)) - math.log(10), -900, 0)
    torch.testing.assert_close(found, wanted, rtol=1e-15, atol=0)


CUBIC = {
    (1,): {-4: 2.3741631e-07, -1: 0.2942475186, 0.5: 0.6050207045, 3: 0.9800117615, 6: 1},
    (2, 1): {-4: 0.002595448515, -1: 0.2999660887, 0.5: 0.6021614194},
    tuple(0.1 * i for i in range(1, 11)): {-1: 0.2983219998, 3: 0.9695333101},
    (0.05,) * 100: {-1: 0.2931752867, 3: 0.9832284759},
    (12, 3): {-4: 0.1763419173, 3: 0.7479269186},
}


@pytest.mark.parametrize("widths", CUBIC, ids=len)
def test_mean_of_the_smoothstep_cubic(widths):
    for centre, wanted in CUBIC[widths].items():
        function = Affine(real(centre)[0], torch.ones(len(widths), dtype=torch.float64))
        found = float(expectation(function, cube(list(widths)), smoothstep()))
        assert found == pytest.approx(wanted, rel=2e-10, abs=1e-13)


# Three samples of two hidden units; all weights of the last layer and the bias are collapsed.
WEIGHTS = real(0.30, -0.20, 0.50, -0.10, 0.45, -0.15).view(3, 2)
BIAS, HIDDEN = real(0.05, 0, 0.10)[:, None], real(0.5, 2.0, 0.6, 1.8, 0.4, 2.2).view(3, 2)
HALF_BASE = 2.45 * real(0.04, 0.05, 0.03).sqrt()


def test_a_last_layer_from_three_samples():
    own = torch.cat([WEIGHTS, BIAS], 1)
    box = Box(own.amin(0), own.amax(0))
    function = Affine(real(0), torch.cat([HIDDEN, torch.ones(3, 1, dtype=torch.float64)], 1))
    found = density(function, box, HALF_BASE, real(0.1))
    wanted = real(1.41499201722, 1.53217101983, 1.13481853591)
    torch.testing.assert_close(found, wanted, rtol=2e-11, atol=0)
    mean = density(function, box, HALF_BASE, real(-0.35)).mean()
    assert float(mean) == pytest.approx(0.821060509234, rel=2e-11)
    assert float(expectation(function, box).mean()) == pytest.approx(-0.05, rel=1e-12)


def test_moments_of_a_sum_of_uniforms():
    one = SumOfUniforms(real(0.3), real(1, 0.5, 0).expand(1, 3))
    assert float(one.mean) == 0.3
    assert float(one.variance) == pytest.approx(1.25 / 12, rel=1e-15)
