"""NVRTC compiles every kernel for all supported GPUs without a warning, without a GPU."""

import ctypes

import pytest

from bnnbench.methods.compiled.c_library import DEFINES
from bnnbench.methods.message_passing.kernels.cuda import OPTIONS, source
from bnnbench.methods.message_passing.kernels.table import KERNELS

pytestmark = pytest.mark.long
FILES = sorted({kernel.file for kernel in KERNELS.values() if kernel.grid})
OLDEST, NEWEST = 75, 120
"""The architectures of supported GPUs: from Turing, the oldest that CUDA 13 knows, to Blackwell."""


def architectures(nvrtc: ctypes.CDLL) -> list[int]:
    """Return the architectures of supported GPUs that this compiler knows, oldest first."""
    count = ctypes.c_int()
    nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    known = (ctypes.c_int * count.value)()
    nvrtc.nvrtcGetSupportedArchs(known)
    return sorted(number for number in known if OLDEST <= number <= NEWEST)


def compiled(nvrtc: ctypes.CDLL, text: str, *options: str) -> tuple[int, str, bytes, bytes]:
    """Return status, log, PTX and, if the architecture is a GPU's, the start of its code."""
    program = ctypes.c_void_p()
    assert not nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None
    )
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), words)
    results = []
    for kind in ("ProgramLog", "PTX", "CUBIN"):
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{kind}")(program, buffer)
        results.append(buffer.value)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status, results[0].decode().strip(), *results[1:]


def test_the_compiler_knows_turing_ampere_and_hopper(nvrtc):
    assert {75, 80, 86, 89, 90} <= set(architectures(nvrtc))


@pytest.mark.parametrize("defines", DEFINES.values(), ids=("float32", "float64"))
@pytest.mark.parametrize("file", FILES)
def test_every_kernel_compiles_without_a_warning_for_every_gpu(file, defines, nvrtc):
    macros = [*defines, "-DPOOL=2"] if file == "pooling" else [*defines]
    kind = b".f64" if "-DSINGLE" not in defines else b".f32"
    known = architectures(nvrtc)
    # Single precision needs fewer registers and less shared memory.
    for number in known if kind == b".f64" else (known[0], known[-1]):
        target = f"--gpu-architecture=sm_{number}"
        status, log, ptx, code = compiled(nvrtc, source(file), *OPTIONS, target, *macros)
        assert not status, log
        assert not log
        for name in (kernel.name for kernel in KERNELS.values() if kernel.file == file):
            assert f".entry {name}(".encode() in ptx
        assert b"fma.rn" + kind in ptx
        assert f".target sm_{number}".encode() in ptx
        assert code.startswith(b"\x7fELF")


def test_single_precision_kernels_hold_no_arithmetic_in_double(nvrtc):
    # Except for the conversion of slopes and variances given as Python numbers.
    for file in FILES:
        ptx = compiled(nvrtc, source(file), *OPTIONS, "-DSINGLE", "-DPOOL=2")[2]
        for operation in (b"mul", b"add", b"fma.rn", b"div.rn", b"sub"):
            assert operation + b".f64" not in ptx, file


def test_a_mistake_would_be_noticed(nvrtc):
    status, log, *_ = compiled(nvrtc, source("sums") + "\nint x = undeclared;\n", *OPTIONS)
    assert status
    assert "undeclared" in log
