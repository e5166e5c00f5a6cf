"""Compilation of kernels on their first call, and caching for later processes.

Numba notices a change of the file that defines a kernel, but not of the files that it calls into.
The cache folder is therefore named after all files of this package and all files next to the
kernel: kernels call nothing else in this project.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.compiled.cache import cache_folder, places_for

try:
    import numba
    from numba.core import config
except ImportError as missing:
    raise PackageMissing(f"needed numba ({missing}): pip install numba") from missing

PACKAGE = Path(__file__).parent
SETTINGS: Any = config
REQUESTED = tuple(Path(folder) for folder in [SETTINGS.CACHE_DIR] if folder)
"""The folder in the environment variable NUMBA_CACHE_DIR, if any."""


def compiled(*relaxed: str, **options: Any) -> Callable[[Callable], Any]:
    """Return a decorator for functions that are compiled on their first call.

    They release Python's lock, and divide by zero as in IEEE 754. `relaxed` names the rules of
    arithmetic that may be broken, in LLVM's terms. Wrappers by import hooks are removed. If no
    folder is writable, every process compiles anew.
    """

    def decorate(function: Callable) -> Any:
        folder = _folder(Path(inspect.getfile(inspect.unwrap(function))).parent)
        with _cached_in(folder):
            return numba.njit(
                nogil=True,
                cache=folder is not None,
                error_model="numpy",
                fastmath=set(relaxed),
                **options,
            )(inspect.unwrap(function))

    return decorate


@cache
def _folder(kernels: Path) -> Path | None:
    """Return the folder for these kernels' code, after removing folders of earlier code."""
    digest = hashlib.sha256()
    for path in [*sorted(PACKAGE.glob("*.py")), *sorted(kernels.glob("*.py"))]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    places = *REQUESTED, *places_for(kernels, "-".join(kernels.parts[-2:]))
    return cache_folder(places, digest.hexdigest(), kernels)


@contextmanager
def _cached_in(folder: Path | None) -> Iterator[None]:
    """Let numba cache in this folder the functions that are decorated inside the block."""
    before = SETTINGS.CACHE_DIR
    if folder is not None:
        SETTINGS.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        SETTINGS.CACHE_DIR = before


# Sums may be reordered for vector units; infinities and NaN keep their meaning.
reordered = compiled("reassoc", "contract", "nsz")
reordered_inline = compiled("reassoc", "contract", "nsz", inline="always")
# A product and a sum may be rounded once.
fused = compiled("contract")
fused_inline = compiled("contract", forceinline=True)
