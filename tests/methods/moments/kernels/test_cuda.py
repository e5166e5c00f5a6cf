"""The CUDA kernels: by NVIDIA's compiler, on an emulation, and on a GPU if there is one."""

import pytest
import torch

from bnnbench.methods.compiled.c_library import DEFINES
from bnnbench.methods.moments.kernels import compiled, cuda, reference, selection
from bnnbench.methods.moments.kernels.launches import OPTIONS, THREADS, blocks, source
from tests.methods.message_passing.kernels import test_nvrtc
from tests.methods.message_passing.kernels.test_nvrtc import architectures
from tests.methods.moments.kernels.test_compiled import KINDS, TYPES, all_calls, units

KERNELS = ("rectifier_all", "rectifier_gradient_all", "maximum_all", "maximum_gradient_all")
NAMES = (*KERNELS, *(f"paper_{name}" for name in KERNELS))


class Emulated(cuda.Cuda):
    """The CUDA kernels, launched as on a GPU but run by an emulator, which checks for races."""

    def __init__(self, emulator):
        self.emulator, self.libraries = emulator, {}

    def call(self, name, numbers, tensors):
        first = tensors[0]
        if first.dtype not in self.libraries:
            defines = DEFINES[first.dtype]
            self.libraries[first.dtype] = self.emulator.library(source(), NAMES, *defines)
        sides = (blocks(first.numel()), 1, 1), (THREADS, 1, 1)
        numbers = (first.numel(), *map(float, numbers))
        self.libraries[first.dtype].launch(name, *sides, numbers, tensors)


@pytest.fixture(scope="module")
def emulated(emulator):
    return Emulated(emulator)


@TYPES
@KINDS
def test_emulated_kernels_have_the_bits_of_those_in_c(dtype, exact, emulated):
    given = units(3, 700, dtype=dtype)
    # No number is so small that C flushes it to 0.
    given[0], given[1] = given[0].clamp(-2, 2), given[1].clamp(min=0.1)
    for slope in (0.0, 0.1, -1.0):
        found, expected = (all_calls(k, given, slope, exact) for k in (emulated, compiled))
        assert all(f.equal(e) for f, e in zip(found, expected, strict=True))


def compile_for(nvrtc, dtype, number: int) -> None:
    target = f"--gpu-architecture=sm_{number}"
    status, log, ptx, code = test_nvrtc.compiled(nvrtc, source(), *OPTIONS[dtype], target)
    assert not status, log
    assert not log
    assert all(f".entry {name}(".encode() in ptx for name in NAMES)
    assert code.startswith(b"\x7fELF")
    single = dtype is torch.float32
    assert (b"fma.rn.ftz.f32" if single else b"fma.rn.f64") in ptx
    if single:
        assert b"fma.rn.f64" not in ptx
        assert b"mul.rn.f64" not in ptx


@TYPES
def test_kernels_compile_without_a_warning_for_the_oldest_and_newest_gpus(dtype, nvrtc):
    known = architectures(nvrtc)
    for number in (known[0], known[-1]):
        compile_for(nvrtc, dtype, number)


@pytest.mark.long
@TYPES
def test_kernels_compile_without_a_warning_for_every_other_gpu(dtype, nvrtc):
    for number in architectures(nvrtc)[1:-1]:
        compile_for(nvrtc, dtype, number)


def test_a_source_holds_each_of_its_headers_once_and_includes_nothing():
    text = source()
    assert '#include "' not in text
    assert "#pragma once" not in text
    assert text.count("FUNCTION REAL exponential(REAL x)") == 1


def test_blocks_cover_every_unit_or_go_on():
    assert [blocks(count) for count in (1, 256, 257, 10**9)] == [1, 1, 2, 4096]


def test_tensors_in_main_memory_are_refused():
    with pytest.raises(ValueError, match=r"on a GPU.*cpu"):
        cuda.rectifier(torch.zeros(2), torch.ones(2), 0.1, True)


def test_without_cupy_torch_computes_and_says_so_once(monkeypatch):
    def missing(name, *_):
        raise ImportError(f"No module named {name!r}")

    cuda.cupy.cache_clear()
    monkeypatch.setattr(cuda, "import_module", missing)
    fused = selection._fused.__wrapped__
    with pytest.warns(UserWarning, match=r"pip install bnnbench\[gpu"):
        assert fused("cuda") is reference
    cuda.cupy.cache_clear()


@pytest.mark.gpu
@TYPES
@KINDS
def test_kernels_on_a_gpu_have_the_bits_of_those_in_c(dtype, exact):
    given = units(3, 5, 70, 9, dtype=dtype)
    there = [t.cuda() for t in given]
    found = [t.cpu() for t in all_calls(cuda, there, 0.1, exact)]
    expected = all_calls(compiled, given, 0.1, exact)
    assert all(f.equal(e) for f, e in zip(found, expected, strict=True))
    assert selection.kernels_for("fused", there[0]) is cuda
