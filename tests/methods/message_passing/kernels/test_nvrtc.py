"""NVRTC compiles every kernel for the supported GPUs without a warning, without a GPU."""

import ctypes

import pytest

from bnnbench.methods.compiled.c_library import DEFINES
from bnnbench.methods.message_passing.kernels.cuda import OPTIONS, source
from bnnbench.methods.message_passing.kernels.table import KERNELS

pytestmark = pytest.mark.long
FILES = sorted({kernel.file for kernel in KERNELS.values() if kernel.grid})


def compiled(nvrtc: ctypes.CDLL, text: str, *options: str) -> tuple[int, str, bytes]:
    """Return status, log and PTX."""
    program = ctypes.c_void_p()
    assert not nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None
    )
    words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), words)
    results = []
    for kind in ("ProgramLog", "PTX"):
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{kind}")(program, buffer)
        results.append(buffer.value)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status, results[0].decode().strip(), results[1]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("defines", DEFINES.values(), ids=("float32", "float64"))
@pytest.mark.parametrize("file", FILES)
def test_every_kernel_compiles_without_a_warning(file, defines, architecture, nvrtc):
    macros = [*defines, "-DPOOL=2"] if file == "pooling" else [*defines]
    target = f"--gpu-architecture={architecture}"
    status, log, ptx = compiled(nvrtc, source(file), *OPTIONS, target, *macros)
    assert not status, log
    assert not log
    for name in (kernel.name for kernel in KERNELS.values() if kernel.file == file):
        assert f".entry {name}(".encode() in ptx
    kind = b".f64" if "-DSINGLE" not in defines else b".f32"
    assert b"fma.rn" + kind in ptx
    assert f".target {architecture}".encode() in ptx


def test_single_precision_kernels_hold_no_arithmetic_in_double(nvrtc):
    # Except for the conversion of slopes and variances given as Python numbers.
    for file in FILES:
        _, _, ptx = compiled(nvrtc, source(file), *OPTIONS, "-DSINGLE", "-DPOOL=2")
        for operation in (b"mul", b"add", b"fma.rn", b"div.rn", b"sub"):
            assert operation + b".f64" not in ptx, file


def test_a_mistake_would_be_noticed(nvrtc):
    status, log, _ = compiled(nvrtc, source("sums") + "\nint x = undeclared;\n", *OPTIONS)
    assert status
    assert "undeclared" in log
