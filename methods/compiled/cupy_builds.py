"""CuPy's builds: one for each major version of CUDA, which needs a driver of it or a later one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from bnnbench.methods.base import PackageMissing

EXTRAS = {12: "gpu12", 13: "gpu"}
"""Major version of CUDA → the extra with CuPy's build for it."""


def installation() -> str:
    """Return the command that installs CuPy's build for the same CUDA as torch's build."""
    if command := _installing(int((torch.version.cuda or "0").partition(".")[0])):
        return command
    return " or ".join(f"{_installing(cuda)} (CUDA {cuda})" for cuda in sorted(EXTRAS))


@contextmanager
def misfits_explained() -> Iterator[None]:
    """Replace CuPy's error by `PackageMissing`, with the cure, if it does not fit the driver.

    CuPy loads without a suitable driver, and fails at its first use of a GPU.
    """
    try:
        yield
    except Exception as error:
        cupy = sys.modules.get("cupy")
        if cupy is None or not isinstance(error, cupy.cuda.runtime.CUDARuntimeError):
            raise
        if reason := misfit(cupy.cuda.runtime):
            raise PackageMissing(reason) from error
        raise


def misfit(runtime: Any) -> str | None:
    """Return why CuPy's build cannot use this machine's driver, and the cure; None if it can.

    `runtime` is `cupy.cuda.runtime`; versions are 1000 times the major plus 10 times the minor one.
    """
    driver, built = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    if driver // 1000 >= built // 1000:
        return None
    if not driver:
        return f"CuPy, built for CUDA {_told(built)}, finds no NVIDIA driver: install one"
    wrong = (
        f"CuPy is built for CUDA {_told(built)}, but the NVIDIA driver supports no more than "
        f"CUDA {_told(driver)}: "
    )
    if command := _installing(driver // 1000):
        return f"{wrong}pip uninstall cupy-cuda{built // 1000}x, then {command}"
    return f"{wrong}install a driver for CUDA {min(EXTRAS)} or later"


def _installing(cuda: int) -> str | None:
    """Return the command that installs the newest build for a major version; None if too old."""
    usable = [version for version in EXTRAS if version <= cuda]
    return f"pip install bnnbench[{EXTRAS[max(usable)]}]" if usable else None


def _told(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
