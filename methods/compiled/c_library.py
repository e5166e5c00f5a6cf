"""C libraries, built with the available C compiler and cached for later processes.

The cache has a folder named after the sources; a library's name in it depends on the compiler, its
flags and the processor. Files are written atomically: several processes may build at once.
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
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.compiled.cache import cache_folder

DEFINES = {torch.float32: ("-DSINGLE",), torch.float64: ()}
STRICT = ("-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""IEEE 754 to the letter, except for flags that nobody reads: infinities and NaN keep their
meaning, and an element's bits do not depend on its position in a vector."""


@dataclass(frozen=True)
class CLibrary:
    """C sources, with the headers of their own folder and of others."""

    folder: Path
    sources: tuple[str, ...]
    headers: tuple[Path, ...]
    """Other folders of headers."""
    places: tuple[Path, ...]
    """Folders for the cached libraries; the first that is writable is used."""
    cure: str
    """A further remedy for users without a working compiler, worded as the end of a sentence."""

    def load(self, dtype: torch.dtype) -> ctypes.CDLL:
        """Return the library for tensors of this type, built if necessary.

        Raises `PackageMissing` without a C compiler and `RuntimeError` if compilation fails.
        """
        if dtype not in DEFINES:
            raise ValueError(f"needed float32 or float64; got {dtype}")
        return _loaded(self, dtype)

    def path(self, dtype: torch.dtype) -> Path:
        """Return the path of the library for this type, after building it if necessary."""
        includes = [f"-I{folder}" for folder in self.headers]
        command = (*compiler(self.cure), *flags(), *includes, *DEFINES[dtype])
        path = _folder(self) / f"{_name(command)}.so"
        if not path.exists():
            self.build(command, path)
        return path

    def build(self, command: tuple[str, ...], path: Path) -> None:
        """Compile the sources with a compiler and flags; the result is written atomically."""
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix="partial-", suffix=".so")
        os.close(handle)
        try:
            sources = [str(self.folder / name) for name in self.sources]
            arguments = [*command, *sources, "-o", partial, "-lm"]
            result = subprocess.run(arguments, capture_output=True, text=True, check=False)
            if result.returncode:
                command_line, errors = shlex.join(arguments), result.stderr.strip()
                raise RuntimeError(
                    f"needed a C compiler that takes\n{command_line}\n{errors}\n"
                    f"Set another one in CC, or {self.cure}."
                )
            with suppress(PermissionError):  # in a sandbox, where the folder has no other users
                os.chmod(partial, 0o755)  # other users of a shared checkout load it too
            os.replace(partial, path)
        finally:
            Path(partial).unlink(missing_ok=True)

    def digest(self) -> str:
        """Return a hash of the sources and all headers."""
        digest = hashlib.sha256()
        for folder in (self.folder, *self.headers):
            for path in sorted([*folder.glob("*.cuh"), *folder.glob("*.c")]):
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()


def compiler(cure: str) -> tuple[str, ...]:
    """Return the command of the C compiler: CC, or the first of cc, gcc and clang."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in (named, ["cc"], ["gcc"], ["clang"]):
        path = shutil.which(command[0]) if command else None
        if path:
            return (path, *command[1:])
    raise PackageMissing(
        "needed a C compiler (CC, cc, gcc or clang) for fast kernels: install one "
        f"(apt-get install gcc), or {cure}"
    )


def flags() -> tuple[str, ...]:
    """Return the flags for an optimised library on this processor."""
    wide = ("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()
    return ("-O3", "-march=native", *wide, *STRICT, "-fPIC", "-shared")


@cache
def _loaded(library: CLibrary, dtype: torch.dtype) -> ctypes.CDLL:
    return ctypes.CDLL(str(library.path(dtype)))


@cache
def _folder(library: CLibrary) -> Path:
    """Return the folder of these sources, after removing folders of earlier sources next to it.

    If nothing can be cached, it is a temporary folder of this process.
    """
    if folder := cache_folder(library.places, library.digest(), library.folder):
        return folder
    temporary = tempfile.mkdtemp(prefix="bnnbench-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def _name(command: tuple[str, ...]) -> str:
    binary = Path(command[0]).resolve()
    stat = binary.stat()
    parts = (*command, str(binary), str(stat.st_size), str(stat.st_mtime_ns), _processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _processor() -> str:
    """Return the properties of this processor that matter to a compiler."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    properties = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return platform.machine() + "".join(sorted(properties))
