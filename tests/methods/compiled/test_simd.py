"""Vectorised operations equal numpy's."""

import numba
import numpy as np

from bnnbench.methods.compiled import simd


@numba.njit
def _arithmetic(a, b, out):
    for row in range(a.shape[0]):
        for column in range(0, a.shape[1], 8):
            x, y = simd.load(a, row, column), simd.load(b, row, column)
            z = (x + y) * 2.0 - 1.0 / (simd.magnitude(y) + 0.5)
            simd.store(out, row, column, simd.where(z > x, z, 3.0 - x))


@numba.njit
def _reductions(a, b):
    x, y = simd.load(a, 0, 0), simd.load(b, 0, 0)
    smaller = x < y
    return simd.total(x), simd.count(smaller), simd.every(smaller), simd.every(x < x + 1.0)


@numba.njit
def _bits(a, out):
    x = simd.load(a, 0, 0)
    simd.store(out, 0, 0, simd.power_of_two(x + 6755399441055744.0))
    simd.store(out, 1, 0, simd.reciprocal_root_guess(simd.splat(2.0) + x * x))


def pair():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 16)), rng.normal(size=(3, 16))


def test_arithmetic_and_choice():
    (a, b), out = pair(), np.zeros((3, 16))
    _arithmetic(a, b, out)
    z = (a + b) * 2 - 1 / (abs(b) + 0.5)
    np.testing.assert_allclose(out, np.where(z > a, z, 3 - a), rtol=1e-14)


def test_reductions():
    a, b = pair()
    total, count, every, always = _reductions(a, b)
    assert np.isclose(total, a[0, :8].sum(), rtol=1e-14)
    assert count == (a[0, :8] < b[0, :8]).sum()
    assert every == (count == 8)
    assert always


def test_powers_of_two_and_the_guess_of_a_reciprocal_root():
    a, out = np.array([[-1022.0, -300, -1, 0, 1, 52, 300, 1023]]), np.zeros((2, 8))
    _bits(a, out)
    assert (out[0] == 2.0 ** a[0]).all()
    assert abs(out[1] * np.sqrt(2 + a[0] ** 2) - 1).max() < 0.035


@numba.njit
def _single(a, out):
    factor = a[0, 0]
    for column in range(0, a.shape[1], 16):
        x = simd.load(a, 0, column)
        product = (x + factor) * x - simd.splat(factor) / x
        simd.store(out, 0, column, simd.where(x > simd.zeros(a), product, simd.zeros(a)))
    return simd.total(simd.load(a, 0, 0))


def test_sixteen_numbers_of_single_precision():
    a = np.random.default_rng(0).normal(size=(1, 32)).astype(np.float32)
    out = np.ones_like(a)
    total = _single(a, out)
    expected = (a + a[0, 0]) * a - a[0, 0] / a
    np.testing.assert_allclose(out, np.where(a > 0, expected, 0), rtol=1e-4, atol=1e-5)
    assert np.isclose(total, a[0, :16].sum(), rtol=1e-5)
