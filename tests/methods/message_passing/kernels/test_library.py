"""The C library compiles without warnings, and code that needs no library runs without it."""

import subprocess
import sys

import pytest

from bnnbench.methods.compiled.c_library import DEFINES, STRICT, compiler
from bnnbench.methods.message_passing.kernels.compiled import LIBRARY

pytestmark = pytest.mark.long


def test_sources_compile_without_warnings_even_pedantic_ones(tmp_path):
    for defines in DEFINES.values():
        for name in LIBRARY.sources:
            words = [*compiler(""), *STRICT, *defines, "-O1", "-Wall", "-Wextra"]
            words += [f"-I{folder}" for folder in LIBRARY.headers]
            words += ["-Wno-unused-function", "-Werror", "-c", str(LIBRARY.folder / name)]
            subprocess.run([*words, "-o", str(tmp_path / "out.o")], check=True)


def test_reference_backend_needs_no_compiler(project):
    code = "from bnnbench.methods.message_passing.kernels import compiled; print('imported')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PATH": "", "PYTHONPATH": str(project)},
    )  # fmt: skip
    assert done.stdout.strip() == "imported"
