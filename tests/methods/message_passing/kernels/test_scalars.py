"""The headers' scalar functions in C, compared with arithmetic of 50 and more digits."""

import ctypes
import subprocess
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch

from bnnbench.methods.compiled.c_library import DEFINES, compiler, flags
from bnnbench.methods.message_passing.kernels.compiled import LIBRARY

EPSILON = {dtype: torch.finfo(dtype).eps for dtype in DEFINES}
DTYPES = pytest.mark.parametrize("dtype", DEFINES, ids=("float32", "float64"))


@pytest.fixture(scope="module")
def scalars(tmp_path_factory):
    """Return a function that evaluates one of the scalar functions in C."""
    folder, libraries = tmp_path_factory.mktemp("scalars"), {}
    source = Path(__file__).with_name("scalars.c")
    for dtype, defines in DEFINES.items():
        path = folder / f"{dtype}.so"
        words = [*compiler(""), *flags(), *defines]
        words += [f"-I{folder}" for folder in LIBRARY.headers]
        words += ["-Wall", "-Wextra", "-Wno-unused-function", "-Werror", str(source)]
        subprocess.run([*words, "-o", str(path), "-lm"], check=True)
        libraries[dtype] = ctypes.CDLL(str(path))

    def evaluate(name: str, x: float, dtype: torch.dtype, results: int = 1) -> list[float]:
        kind = np.float32 if dtype is torch.float32 else np.float64
        given, out = np.array([x], kind), np.empty(results, kind)
        pointer = ctypes.c_void_p
        getattr(libraries[dtype], f"scalar_{name}")(
            pointer(given.ctypes.data), pointer(out.ctypes.data)
        )
        return out.tolist()

    return evaluate


def rounded(x: float, dtype: torch.dtype) -> mpmath.mpf:
    """Return the value of a number in this type."""
    return mpmath.mpf(torch.tensor(x, dtype=dtype).item())


@DTYPES
def test_exponential_is_right_to_the_last_bits(scalars, dtype):
    low = -87 if dtype is torch.float32 else -700
    with mpmath.workdps(50):
        for x in [*np.linspace(low, 80, 997), 0.0, -1e-9, 1e-9, 0.34657, -0.34658]:
            truth = mpmath.exp(rounded(x, dtype))
            (found,) = scalars("exponential", x, dtype)
            assert abs(mpmath.mpf(found) / truth - 1) < 2 * EPSILON[dtype], x


@DTYPES
def test_exponential_of_extremes(scalars, dtype):
    assert scalars("exponential", -1e5, dtype) == [0.0]
    assert scalars("exponential", -float("inf"), dtype) == [0.0]
    assert np.isfinite(scalars("exponential", float("inf"), dtype)[0])
    assert np.isnan(scalars("exponential", float("nan"), dtype)[0])


def truths(x: mpmath.mpf) -> list[mpmath.mpf]:
    """Return hazard, mean, loss, variance, pull, probability of N(x, 1) cut to be positive."""
    probability = mpmath.erfc(-x / mpmath.sqrt(2)) / 2
    hazard = mpmath.npdf(x) / probability
    mean = x + hazard
    variance = 1 - hazard * mean
    return [hazard, mean, hazard * mean, variance, mean - x * variance, probability]


@DTYPES
def test_a_cut_normal_is_right_to_a_few_bits_on_both_sides(scalars, dtype):
    # Beyond the largest x, float32's density underflows. The hazard for positive x loses one digit,
    # since rounding x²/2 moves e^(-x²/2).
    values = [*np.linspace(-60, 8, 1361), -1e3, -1e6, -3.5e9, -1e-12, 0.0, 1e-12]
    with mpmath.workdps(90):
        for x in values:
            exact = truths(rounded(x, dtype))
            found = scalars("positive_part", x, dtype, results=6)
            bits = 4 + x * x / 2 * (x > 0)
            for k, (value, truth) in enumerate(zip(found, exact, strict=True)):
                if k == 5 and truth < 1e-30:
                    continue
                tolerance = EPSILON[dtype] * (bits + x * x / 2 * (k == 5)) * 2
                assert abs(mpmath.mpf(value) / truth - 1) < tolerance, (x, k)


@DTYPES
def test_far_tails_end_in_zero_and_limits(scalars, dtype):
    assert scalars("tail", 1e4, dtype) == [0.0]
    hazard, mean, loss, variance, pull, probability = scalars("positive_part", 1e8, dtype, 6)
    assert (hazard, mean, loss, variance, pull, probability) == (0, 1e8, 0, 1, 0, pytest.approx(1))
    assert scalars("positive_part", -float("inf"), dtype, 6)[1] == 0
    assert scalars("tail", -3.0, dtype)[0] == pytest.approx(0.0013498980316300946, rel=1e-6)
