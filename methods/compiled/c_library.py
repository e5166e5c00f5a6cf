"""Libraries in C: built with the C compiler at hand, kept for later processes.

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
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.compiled.cache import kept_folder

DEFINES = {torch.float32: ("-DSINGLE",), torch.float64: ()}
STRICT = ("-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""IEEE 754 to the letter, but for flags that nobody reads: infinities and NaN keep their meaning,
and an element's bits do not depend on where in a vector it stands."""


@dataclass(frozen=True)
class CLibrary:
    """Sources in C, with the headers of their own folder and of others."""

    folder: Path
    sources: tuple[str, ...]
    headers: tuple[Path, ...]
    """Further folders of headers."""
    places: tuple[Path, ...]
    """Where libraries may be kept: the first that can be written to."""
    cure: str
    """What else a user without a working compiler can do, as the end of a sentence."""

    def load(self, dtype: torch.dtype) -> ctypes.CDLL:
        """Return the library for tensors of this type, built if need be.

        Raises `PackageMissing` without a C compiler and `RuntimeError` where compilation fails.
        """
        if dtype not in DEFINES:
            raise ValueError(f"needed float32 or float64; got {dtype}")
        return _loaded(self, dtype)

    def path(self, dtype: torch.dtype) -> Path:
        """Return where the library for this type lies, having built it if need be."""
        includes = [f"-I{folder}" for folder in self.headers]
        command = (*compiler(self.cure), *flags(), *includes, *DEFINES[dtype])
        path = _folder(self) / f"{_name(command)}.so"
        if not path.exists():
            self.build(command, path)
        return path

    def build(self, command: tuple[str, ...], path: Path) -> None:
        """Compile the sources with a compiler and flags; the result appears whole."""
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix="partial-", suffix=".so")
        os.close(handle)
        try:
            sources = [str(self.folder / name) for name in self.sources]
            words = [*command, *sources, "-o", partial, "-lm"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(
                    f"needed a C compiler that takes\n{shlex.join(words)}\n{done.stderr.strip()}\n"
                    f"Name another one in CC, or {self.cure}."
                )
            os.chmod(partial, 0o755)  # other users of a shared checkout load it too
            os.replace(partial, path)
        finally:
            Path(partial).unlink(missing_ok=True)

    def digest(self) -> str:
        """Return a hash of the sources and all headers."""
        found = hashlib.sha256()
        for folder in (self.folder, *self.headers):
            for path in sorted([*folder.glob("*.cuh"), *folder.glob("*.c")]):
                found.update(path.name.encode() + b"\0" + path.read_bytes())
        return found.hexdigest()


def compiler(cure: str) -> tuple[str, ...]:
    """Return the command of the C compiler: CC, or the first of cc, gcc and clang."""
    named = shlex.split(os.environ.get("CC", ""))
    for words in (named, ["cc"], ["gcc"], ["clang"]):
        found = shutil.which(words[0]) if words else None
        if found:
            return (found, *words[1:])
    raise PackageMissing(
        "needed a C compiler (CC, cc, gcc or clang) for fast kernels: install one "
        f"(apt-get install gcc), or {cure}"
    )


def flags() -> tuple[str, ...]:
    """Return the flags of an optimised library for this processor."""
    wide = ("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()
    return ("-O3", "-march=native", *wide, *STRICT, "-fPIC", "-shared")


@cache
def _loaded(library: CLibrary, dtype: torch.dtype) -> ctypes.CDLL:
    return ctypes.CDLL(str(library.path(dtype)))


@cache
def _folder(library: CLibrary) -> Path:
    """Return the folder of these sources, having removed those of earlier ones beside it.

    Where nothing can be kept it is a folder of this process alone.
    """
    if folder := kept_folder(library.places, library.digest(), library.folder):
        return folder
    own = tempfile.mkdtemp(prefix="bnnbench-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return Path(own)


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
