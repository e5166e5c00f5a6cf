"""Standard normals inside compiled loops: sixteen streams of random bits side by side.

The bits come from xoshiro256+ (Blackman and Vigna, 2021) and the normals from Box and Muller
(1958). The series for logarithm, sine and cosine are cut below 1e-10, and vector units evaluate
them for all lanes at once.
"""

from math import factorial

import numba
import numpy as np
import torch
from jaxtyping import UInt64
from llvmlite import ir
from numba import types

from bnnbench.methods.compiled.numba_code import reordered, reordered_inline
from bnnbench.methods.compiled.simd import operation

LANES = 16
BLOCK = 2 * LANES
"""Number of normals in a block."""
LOG_2, SQRT_2, QUARTER_PI = np.log(2.0), np.sqrt(2.0), np.pi / 4
ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0
FRACTION = np.uint64(0x000FFFFFFFFFFFFF)
SIGN = np.uint64(0x8000000000000000)

# Coefficients of x², highest power first: 2 artanh(x) / x, sin(x) / x and cos(x).
ARTANH = tuple(2 / (2 * k + 1) for k in range(6, -1, -1))
SINE = tuple((-1) ** k / factorial(2 * k + 1) for k in range(5, -1, -1))
COSINE = tuple((-1) ** k / factorial(2 * k) for k in range(6, -1, -1))


@operation
def _float(context, bits):
    """Return the float of these bits."""

    def build(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), build


@operation
def _bits(context, value):
    """Return the bits of a float."""

    def build(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.uint64(types.float64), build


def initial_state(rng: torch.Generator) -> UInt64[np.ndarray, "4 lanes"]:
    """Return the state of all lanes, drawn from `rng`."""
    state = torch.empty(4, LANES, dtype=torch.int64, device=rng.device)
    return state.random_(-(2**63), None, generator=rng).cpu().numpy().view(np.uint64)


@reordered_inline
def _polynomial(x, coefficients):
    total = 0.0
    for coefficient in numba.literal_unroll(coefficients):
        total = total * x + coefficient
    return total


@reordered_inline
def _log(u):
    """Return the logarithm of a normal positive float."""
    bits = _bits(u)
    exponent = np.int64(bits >> np.uint64(52)) - 1023
    m = _float((bits & FRACTION) | ONE)  # in [1, 2)
    high = m > SQRT_2
    m = 0.5 * m if high else m
    exponent = exponent + 1 if high else exponent
    s = (m - 1.0) / (m + 1.0)
    q = s * s  # at most 0.0295
    return LOG_2 * exponent + s * _polynomial(q, ARTANH)


@reordered
def fill_normal(state, values):
    """Fill all values and advance the state. Their number is a multiple of BLOCK."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    first, second = np.empty(LANES, np.uint64), np.empty(LANES, np.uint64)
    for start in range(0, len(values), BLOCK):
        for out in (first, second):
            for lane in range(LANES):
                out[lane] = a[lane] + d[lane]
                shifted = b[lane] << np.uint64(17)
                c[lane] ^= a[lane]
                d[lane] ^= b[lane]
                b[lane] ^= c[lane]
                a[lane] ^= d[lane]
                c[lane] ^= shifted
                d[lane] = (d[lane] << np.uint64(45)) | (d[lane] >> np.uint64(19))
        left = values[start : start + LANES]
        right = values[start + LANES : start + BLOCK]
        for lane in range(LANES):
            # In (0, 1], in steps of 2^-52: |normals| stay below 8.5.
            u = 2.0 - _float((first[lane] >> np.uint64(12)) | ONE)
            radius = np.sqrt(-2.0 * _log(u))
            # An angle in the first quarter, π/4 (1 + t); two more bits choose the quarter.
            t = QUARTER_PI * (2.0 * _float((second[lane] >> np.uint64(12)) | ONE) - 3.0)
            q = t * t
            sine = t * _polynomial(q, SINE)
            cosine = _polynomial(q, COSINE)
            radius /= SQRT_2
            flip_left = second[lane] << np.uint64(52) & SIGN
            flip_right = second[lane] << np.uint64(53) & SIGN
            left[lane] = _float(_bits(radius * (cosine - sine)) ^ flip_left)
            right[lane] = _float(_bits(radius * (cosine + sine)) ^ flip_right)
