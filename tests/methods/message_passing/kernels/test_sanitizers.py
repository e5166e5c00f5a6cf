"""No kernel in C accesses memory out of bounds or has undefined behaviour."""

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from bnnbench.methods.compiled.c_library import DEFINES, STRICT, compiler
from bnnbench.methods.message_passing.kernels.compiled import LIBRARY

pytestmark = pytest.mark.long


INCLUDES = [f"-I{folder}" for folder in LIBRARY.headers]
SOURCES = (Path(__file__).with_name("driver.c"), *(LIBRARY.folder / n for n in LIBRARY.sources))
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
SLOW = {("dense.c", "-O3"): "-O1"}
"""Source and level → a level at which its unrolled loops compile in seconds instead of a minute."""


def built(*words: str, to: Path) -> Path:
    """Return the compiler's output; skip if it lacks the sanitizers' libraries."""
    command = [*compiler(""), *STRICT, *SANITIZERS, *INCLUDES, *words, "-o", str(to)]
    done = subprocess.run([*command, "-lm"], capture_output=True, text=True, check=False)
    if done.returncode and ("asan" in done.stderr or "ubsan" in done.stderr):
        pytest.skip(f"needs a compiler with sanitizers: {done.stderr.splitlines()[-1]}")
    assert not done.returncode, done.stderr
    return to


@pytest.fixture(scope="module")
def objects(tmp_path_factory) -> Callable[[torch.dtype, str], list[Path]]:
    """Driver and kernels for a type and a level of optimisation, each compiled once."""
    folder = tmp_path_factory.mktemp("objects")

    @cache
    def compiled(dtype: torch.dtype, level: str) -> list[Path]:
        return [
            built(
                *("-c", SLOW.get((source.name, level), level), *DEFINES[dtype], str(source)),
                to=folder / f"{source.stem}{level}{dtype}.o",
            )
            for source in SOURCES
        ]

    return compiled


@pytest.mark.parametrize(
    ("dtype", "level"),
    [(torch.float32, "-O3"), (torch.float64, "-O1")],
    ids=("float32", "float64"),
)
def test_all_kernels_run_on_odd_shapes_under_sanitizers(dtype, level, objects, tmp_path):
    driver = built(*map(str, objects(dtype, level)), to=tmp_path / "driver")
    done = subprocess.run([str(driver)], capture_output=True, text=True, check=False)
    assert done.stdout == "0 invalid\n", done.stderr
    assert not done.returncode
    assert not done.stderr


def test_sanitizers_would_notice(objects, tmp_path):
    kernel = (LIBRARY.folder / "sums.c").read_text()
    broken = tmp_path / "sums.c"
    broken.write_text(kernel.replace("o < outputs; o++", "o <= outputs; o++"))
    assert broken.read_text() != kernel
    sound = [path for path in objects(torch.float64, "-O1") if not path.name.startswith("sums")]
    driver = built("-O1", *map(str, (*sound, broken)), to=tmp_path / "driver")
    done = subprocess.run([str(driver)], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "AddressSanitizer" in done.stderr
