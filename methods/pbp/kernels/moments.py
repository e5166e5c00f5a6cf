r"""Moments of rectified Gaussians and of Gamma posteriors, for one number or eight at a time."""

import math

from bnnbench.methods.compiled.numba_code import fused_inline
from bnnbench.methods.compiled.simd import (
    magnitude,
    power_of_two,
    reciprocal_root_guess,
    splat,
    where,
)

CENTRE = 5.0
# (1 + √2 t) R(t) in powers of (t - 5)/(t + 5): Chebyshev interpolation in 50 digits.
MILLS = (
    1.556167287834573,
    -0.1755953606875949,
    -0.010512067495236387,
    0.11943748176123403,
    -0.14327648830410106,
    0.11129144114967945,
    -0.06311327746685866,
    0.02558979577292091,
    -0.006169476759490173,
    -0.00011179783975866435,
    0.0007090982346340412,
    -0.00019102615573822989,
    -4.197920687239782e-05,
    3.3419641838274206e-05,
    4.5085811354625646e-07,
    -4.861369563284147e-06,
    3.7426670375218694e-07,
    7.075056474604105e-07,
    -8.271088738432012e-08,
    -9.549940743100223e-08,
    1.1479263257525726e-08,
    8.249540100894202e-09,
    -8.855439338960803e-10,
)
ROOT_TWO = math.sqrt(2.0)
DENSITY_AT_ZERO = 1 / math.sqrt(2 * math.pi)
LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)
LARGEST_STANDARDISED = 37.0

# exp: ln 2 in two parts, where the first times an exponent is exact, and 1.5 * 2**52: its sum
# with a small number rounds that number to an integer.
LOG2_E = 1 / math.log(2.0)
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
ROUNDER = 6755399441055744.0


@fused_inline
def mills_ratio(t):
    r"""Return (1 - Φ(t)) / φ(t) for t >= 0, for one number or eight."""
    near, far = t + CENTRE, t * ROOT_TWO + 1.0
    reciprocal = 1.0 / (near * far)
    y = (t - CENTRE) * far * reciprocal
    z = y * y
    c = MILLS
    even = ((((c[22] * z + c[20]) * z + c[18]) * z + c[16]) * z + c[14]) * z + c[12]
    even = (((((even * z + c[10]) * z + c[8]) * z + c[6]) * z + c[4]) * z + c[2]) * z + c[0]
    odd = (((c[21] * z + c[19]) * z + c[17]) * z + c[15]) * z + c[13]
    odd = (((((odd * z + c[11]) * z + c[9]) * z + c[7]) * z + c[5]) * z + c[3]) * z + c[1]
    return (odd * y + even) * near * reciprocal


@fused_inline
def exponential(x):
    """Return exp of eight numbers between -700 and 700."""
    shifted = x * LOG2_E + ROUNDER
    k = shifted - ROUNDER
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    z = r * r
    # Taylor up to r**13 / 13!: since |r| <= ln(2)/2, the next term is below 5e-18.
    even = ((z * (1 / 479001600) + 1 / 3628800) * z + 1 / 40320) * z + 1 / 720
    even = ((even * z + 1 / 24) * z + 0.5) * z + 1.0
    odd = ((z * (1 / 6227020800) + 1 / 39916800) * z + 1 / 362880) * z + 1 / 5040
    odd = ((odd * z + 1 / 120) * z + 1 / 6) * z + 1.0
    return (odd * r + even) * power_of_two(shifted)


@fused_inline
def reciprocal_root(x):
    """Return 1/√x of eight normal positive numbers, to one or two ulps.

    Division and square root would take longer than all other operations of a unit together. Two
    steps of the series of (1 - e)**-0.5, e = 1 - x y², leave errors of e**5 and then of e**3.
    """
    y = reciprocal_root_guess(x)
    e = 1.0 - (x * y) * y
    y = y + (y * e) * (((e * (35 / 128) + 5 / 16) * e + 3 / 8) * e + 0.5)
    e = 1.0 - (x * y) * y
    return y + (y * e) * (e * (3 / 8) + 0.5)


@fused_inline
def relu_moments(variance, inverse, alpha, density, ratio):
    r"""Return mean and variance of max(0, a) for Gaussian a, and their four derivatives.

    With $t = |\alpha|$, $R$ the Mills ratio and $\varphi = \varphi(t)$, the partial moments
    $E[(Z - t)^+] = \varphi (1 - t R)$ and $E[((Z - t)^+)^2] = \varphi ((1 + t^2) R - t)$ give
    everything without a branch or a division by $\Phi$.
    """
    t, positive = clamped(alpha), alpha > 0.0
    tail = density * ratio
    first = density * (1.0 - t * ratio)
    second = tail + t * (t * tail - density)
    below = second - first * first
    above = 1.0 - below - first * (first + t) * 2.0
    scaled_mean = first + where(positive, alpha, splat(0.0))
    scaled_variance = where(positive, above, below)
    scaled_variance = where(scaled_variance > 0.0, scaled_variance, splat(0.0))
    probability = where(positive, 1.0 - tail, tail)
    complement = where(positive, tail, 1.0 - tail)
    mean = variance * inverse * scaled_mean
    return (
        mean,
        variance * scaled_variance,
        probability,
        density * inverse * 0.5,
        mean * complement * 2.0,
        probability - scaled_mean * density,
    )


@fused_inline
def clamped(alpha):
    """Return |α|, limited to 37, where the density is below 1e-297."""
    t = magnitude(alpha)
    return where(t < LARGEST_STANDARDISED, t, splat(LARGEST_STANDARDISED))


@fused_inline
def expm1(x):
    """Return exp(x) - 1 of one number; libm is slower for small numbers."""
    if abs(x) < 0.05:
        z = x * x
        low = x * (1 / 2) + z * (1 / 6 + x * (1 / 24))
        high = 1 / 120 + x * (1 / 720) + z * (1 / 5040 + x * (1 / 40320))
        return x + x * (low + z * z * high)
    return math.expm1(x)


@fused_inline
def gamma_update(shape, rate, square, variance):
    r"""Return shape and rate of the Gamma with which PBP replaces (shape, rate).

    Equations 9 and 10 for $Z_j = N(r; 0, S_j)$, $S_j = v + b/(a - 1 + j)$. With
    $P_j = (a - 1 + j) S_j$, for which $P_0 P_2 = P_1^2 - v^2$, the logarithms cancel:
    $$ \frac{Z Z_2}{Z_1^2} = \frac{\exp(r^2 b v / (P_0 P_1 P_2))}{\sqrt{1 + u}}, \quad
       u = \frac{b (2 a v + b)}{P_1^2 (a^2 - 1)}, \quad
       \frac{Z_1}{Z} = \sqrt{\frac{S_0}{S_1}} \exp(-\frac{r^2 b}{2 P_0 P_1}) $$
    and nothing is a difference of nearly equal numbers.
    """
    p0 = variance * (shape - 1) + rate
    p1 = variance * shape + rate
    p2 = variance * (shape + 1) + rate
    reciprocal = 1 / (p0 * p1 * p2)
    scaled = square * rate * reciprocal
    u = rate * (p1 + variance * shape) / (p1 * p1 * (shape * shape - 1))
    root = math.sqrt(1 + u)
    ratio = math.sqrt(p0 * shape / ((shape - 1) * p1)) * (1 + expm1(-0.5 * scaled * p2))
    # Z Z2 / Z1² - 1 is excess / scale.
    excess, scale = expm1(scaled * variance) * (1 + root) - u, root + 1 + u
    pivot = scale + (shape + 1) * excess
    return shape * scale / pivot, rate * scale / (pivot * ratio)


@fused_inline
def is_gamma(shape, rate):
    """Return whether the reciprocal of this Gamma variable has a finite mean."""
    return 1 < shape < math.inf and 0 < rate < math.inf
