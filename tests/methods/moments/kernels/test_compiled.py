"""The kernels in C, compared with the reference, which is tested by quadrature."""

import subprocess

import pytest
import torch
import torch.nn.functional as F

from bnnbench.methods.compiled import c_library
from bnnbench.methods.moments.kernels import compiled, reference

SLOPES = pytest.mark.parametrize("slope", [0.0, 0.01, 0.3, 1.0, -1.0])
KINDS = pytest.mark.parametrize("exact", [True, False], ids=["exact", "paper"])
TYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)

LEAST = 1e-30
"""Numbers below 1e-38 are 0 in single precision, before they are multiplied by variances."""


def units(*shape: int, dtype: torch.dtype, seed: int = 0) -> list[torch.Tensor]:
    """Return means, variances and the gradients to both; mean/std is up to 40."""
    rng = torch.Generator().manual_seed(seed)
    drawn = [torch.randn(*shape, generator=rng, dtype=torch.float64) for _ in range(4)]
    mean, spread, *to = drawn
    variance = (2 * spread).exp()
    mean = mean * variance.sqrt() * (torch.rand(*shape, generator=rng) < 0.5).double().mul(8).add(2)
    return [t.to(dtype) for t in (mean, variance, *to)]


def calls(kernels, given: list[torch.Tensor], slope: float, exact: bool) -> list[torch.Tensor]:
    moments = kernels.rectifier(*given[:2], slope, exact)
    return [*moments, *kernels.rectifier_gradient(*given, slope, exact)]


def pair_calls(kernels, given: list[torch.Tensor], exact: bool) -> list[torch.Tensor]:
    """Return the maximum of units and others, and the gradients to both."""
    mean, variance, *to = given
    four = (mean, variance, mean.flip(-1) * 0.7, variance.flip(-1))
    return [*kernels.maximum(*four, exact), *kernels.maximum_gradient(*four, *to, exact)]


def all_calls(kernels, given: list[torch.Tensor], slope: float, exact: bool) -> list[torch.Tensor]:
    return [*calls(kernels, given, slope, exact), *pair_calls(kernels, given, exact)]


def error(found: list[torch.Tensor], given: list[torch.Tensor], slope: float, exact: bool) -> float:
    """Return the largest error against the reference in double precision.

    Errors of moments are relative, in units of 1 + a² (the factor by which e^(-a²/2) multiplies the
    rounding of a = mean/std); errors of gradients are in units of their largest factors.
    """
    mean, variance, first, second = (t.double() for t in given)
    truth = calls(reference, [mean, variance, first, second], slope, exact)
    std, moved = variance.sqrt(), 1 + mean**2 / variance
    known = F.leaky_relu(mean, slope)
    sizes = (
        moved * (known.abs() + (truth[0] - known).abs()) + LEAST,
        moved * truth[1] + LEAST,
        first.abs() + second.abs() * std,
        first.abs() / std + second.abs(),
    )
    return max(
        ((value.double() - exactly).abs() / size).max().item()
        for value, exactly, size in zip(found, truth, sizes, strict=True)
    )


@SLOPES
@KINDS
def test_both_precisions_are_near_to_the_reference(slope, exact):
    for dtype, tolerance in ((torch.float32, 2e-6), (torch.float64, 1e-13)):
        given = units(100_000, dtype=dtype)
        assert error(calls(compiled, given, slope, exact), given, slope, exact) < tolerance


@KINDS
def test_maxima_of_both_precisions_are_near_to_the_reference(exact):
    for dtype, tolerance in ((torch.float32, 2e-6), (torch.float64, 1e-13)):
        given = units(100_000, dtype=dtype)
        mean, variance, first, second = (t.double() for t in given)
        found = pair_calls(compiled, given, exact)
        truth = pair_calls(reference, [mean, variance, first, second], exact)
        total = variance + variance.flip(-1)
        std = total.sqrt()
        # Rounding the difference of means weighs as much as the means relative to its deviation.
        moved = 1 + ((mean.abs() + mean.flip(-1).abs()) / std) ** 2
        push = first.abs() + second.abs() * std
        sizes = [std + mean.abs() + mean.flip(-1).abs(), total, push, push / std, push, push / std]
        for value, exactly, size in zip(found, truth, sizes, strict=True):
            assert ((value.double() - exactly).abs() <= tolerance * moved * size).all()


@TYPES
@KINDS
def test_tails_below_0_keep_their_digits(dtype, exact):
    """ReLU at -12: all of its moments would be lost in a difference."""
    mean = torch.linspace(-12, 0, 2001, dtype=dtype)
    given = [mean, torch.ones_like(mean), torch.ones_like(mean), torch.ones_like(mean)]
    truth = calls(reference, [t.double() for t in given], 0.0, exact)
    for value, exactly in zip(calls(compiled, given, 0.0, exact), truth, strict=True):
        tolerance = 1e-5 if dtype is torch.float32 else 1e-11
        torch.testing.assert_close(value.double(), exactly, rtol=tolerance, atol=0)
        assert (value > 0).all()


@TYPES
@KINDS
def test_no_bit_depends_on_where_a_unit_stands_or_on_how_many_there_are(dtype, exact):
    given = units(200, dtype=dtype)
    whole, pairs = calls(compiled, given, 0.01, exact), pair_calls(compiled, given, exact)
    for start in range(0, 40):
        for count in (1, 2, 7, 8, 15, 16, 17, 31, 33):
            rows = slice(start, start + count)
            part = calls(compiled, [t[rows] for t in given], 0.01, exact)
            assert all(p.equal(w[rows]) for p, w in zip(part, whole, strict=True))
        # The partners of a symmetric stretch are in it, too.
        rows = slice(start, 200 - start)
        part = pair_calls(compiled, [t[rows] for t in given], exact)
        assert all(p.equal(w[rows]) for p, w in zip(part, pairs, strict=True))


@TYPES
def test_layouts_are_kept_where_they_are_dense_and_mixed_ones_are_understood(dtype):
    given = units(3, 5, 7, 2, dtype=dtype)
    expected = calls(compiled, given, 0.1, True)
    last = [t.contiguous(memory_format=torch.channels_last) for t in given]
    found = calls(compiled, last, 0.1, True)
    assert all(
        v.equal(t) and v.stride() == last[0].stride() for v, t in zip(found, expected, strict=True)
    )
    mixed = [last[0], given[1], last[2].transpose(0, 1).contiguous().transpose(0, 1), given[3]]
    assert all(v.equal(t) for v, t in zip(calls(compiled, mixed, 0.1, True), expected, strict=True))
    spread = [t[:1].expand(3, -1, -1, -1) for t in given]
    assert all(
        v.equal(t[:1].expand(3, -1, -1, -1))
        for v, t in zip(calls(compiled, spread, 0.1, True), expected, strict=True)
    )
    assert compiled.rectifier(given[0][:0], given[1][:0], 0.1, True)[0].shape == (0, 5, 7, 2)


def test_single_precision_flushes_its_least_numbers_and_leaves_torch_as_it_was():
    mean, variance = torch.tensor([-13.5, -1.0]), torch.tensor([1.0, 1e-42])
    found = compiled.rectifier(mean, variance, 0.0, True)
    assert found[0].tolist() == [0.0, 0.0]
    assert found[1].tolist() == [0.0, 0.0]
    assert (torch.tensor([1e-30]) * torch.tensor([1e-10])).item() > 0


def test_tensors_that_do_not_belong_together_are_refused():
    mean = torch.zeros(3)
    for other in (
        torch.zeros(4),
        torch.zeros(3, dtype=torch.float64),
        torch.zeros(3, device="meta"),
    ):
        with pytest.raises(ValueError, match=r"needed tensors of shape \(3,\)"):
            compiled.KERNELS._filled("rectifier_all", True, (0.1,), 2, mean, other)


def test_sources_compile_without_warnings(tmp_path):
    library = compiled.LIBRARY
    includes = [f"-I{folder}" for folder in library.headers]
    for defines in c_library.DEFINES.values():
        for name in library.sources:
            words = [
                *c_library.compiler(""),
                *c_library.STRICT,
                *defines,
                *includes,
                "-O1",
                "-Wall",
            ]
            words += ["-Wextra", "-Wno-unused-function", "-Werror", "-c"]
            words += [str(library.folder / name), "-o", str(tmp_path / "out.o")]
            subprocess.run(words, check=True)
