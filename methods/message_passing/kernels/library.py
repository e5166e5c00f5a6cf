"""The C library of this folder: built with the C compiler at hand, kept for later processes.

What is kept lies in a folder that is named after the sources, and in it under a name of the
compiler, its flags and the processor. Files appear whole: several processes may build at once.
"""

import atexit
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch

from methods.base import PackageMissing
from methods.kernels.kept import kept_folder

HERE = Path(__file__).parent
SOURCES = ("elementwise.c", "labels.c", "pooling.c", "sums.c", "units.c")
PLACES = (HERE / "__pycache__", Path.home() / ".cache" / "bnnbench" / "message_passing")
"""Where libraries may be kept: the first that can be written to."""

DEFINES = {torch.float32: ("-DSINGLE",), torch.float64: ()}
STRICT = ("-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""IEEE 754 to the letter, but for flags that nobody reads: infinities and NaN keep their meaning,
and a message's bits do not depend on where in a vector it stands."""


def load(dtype: torch.dtype) -> ctypes.CDLL:
    """Return the library for tensors of this type, built if need be.

    Raises `PackageMissing` without a C compiler and `RuntimeError` where compilation fails.
    """
    if dtype not in DEFINES:
        raise ValueError(f"needed float32 or float64 messages; got {dtype}")
    return _load(dtype)


@cache
def _load(dtype: torch.dtype) -> ctypes.CDLL:
    command = (*compiler(), *flags(), *DEFINES[dtype])
    folder = _folder()
    path = folder / f"{_name(command)}.so"
    if not path.exists():
        build(command, path)
    return ctypes.CDLL(str(path))


def compiler() -> tuple[str, ...]:
    """Return the command of the C compiler: CC, or the first of cc, gcc and clang."""
    named = shlex.split(os.environ.get("CC", ""))
    for words in (named, ["cc"], ["gcc"], ["clang"]):
        found = shutil.which(words[0]) if words else None
        if found:
            return (found, *words[1:])
    raise PackageMissing(
        "needed a C compiler (CC, cc, gcc or clang) for message passing's fast kernels: install "
        'one (apt-get install gcc), or choose MessagePassing(backend="reference")'
    )


def flags() -> tuple[str, ...]:
    """Return the flags of the optimised library for this processor."""
    wide = ("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()
    return ("-O3", "-march=native", *wide, *STRICT, "-fPIC", "-shared")


def build(command: tuple[str, ...], path: Path) -> None:
    """Compile the sources with a compiler and flags; the result appears whole."""
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix="partial-", suffix=".so")
    os.close(handle)
    try:
        sources = [str(HERE / name) for name in SOURCES]
        words = [*command, *sources, "-o", partial, "-lm"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(
                f"needed a C compiler that takes\n{shlex.join(words)}\n{done.stderr.strip()}\n"
                'Name another one in CC, or choose MessagePassing(backend="reference").'
            )
        os.chmod(partial, 0o755)  # other users of a shared checkout load it too
        os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)


def _name(command: tuple[str, ...]) -> str:
    binary = Path(command[0]).resolve()
    stat = binary.stat()
    parts = (*command, str(binary), str(stat.st_size), str(stat.st_mtime_ns), _processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _processor() -> str:
    """Return what a compiler sees of this processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    seen = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return platform.machine() + "".join(sorted(seen))


@cache
def _folder() -> Path:
    """Return the folder of these sources, having removed those of earlier ones beside it.

    Where nothing can be kept it is a folder of this process alone.
    """
    digest = hashlib.sha256()
    for path in sorted([*HERE.glob("*.cuh"), *HERE.glob("*.c")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    if folder := kept_folder(PLACES, digest.hexdigest(), HERE):
        return folder
    own = tempfile.mkdtemp(prefix="bnnbench-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return Path(own)
