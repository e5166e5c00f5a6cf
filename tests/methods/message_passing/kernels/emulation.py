"""CUDA kernels on a processor: the .cu files compiled as C++, one thread per CUDA thread."""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from bnnbench.methods.compiled.c_library import STRICT
from bnnbench.methods.message_passing.kernels.cuda import Cuda, source
from bnnbench.methods.message_passing.kernels.grids import Launch
from bnnbench.methods.message_passing.kernels.table import KERNELS

HEADER = Path(__file__).with_name("emulator.hpp")
STANDARD = ("-std=c++20", *(flag for flag in STRICT if not flag.startswith("-std")))


class Emulated(Cuda):
    """The CUDA kernels, launched as on a GPU but run by the processor's threads."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder, self.flags = folder, flags
        self.libraries: dict[tuple[str, ...], ctypes.CDLL] = {}
        self.launched: list[tuple[str, Launch]] = []

    def run(
        self,
        name: str,
        defines: tuple[str, ...],
        how: Launch,
        numbers: Sequence[float],
        tensors: Sequence[Tensor | None],
    ) -> None:
        """Run a kernel with the addresses of its arguments, as a driver receives them."""
        self.launched.append((name, how))
        values = [
            ctypes.c_int64(number) if isinstance(number, int) else ctypes.c_double(number)
            for number in numbers
        ]
        values += [ctypes.c_void_p(t if t is None else t.data_ptr()) for t in tensors]
        addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        sides = (ctypes.c_uint * 6)(*how.grid, *how.block)
        getattr(self._library(KERNELS[name].file, defines), f"run_{name}")(sides, addresses)

    def _library(self, file: str, defines: tuple[str, ...]) -> ctypes.CDLL:
        key = (file, *defines)
        if key not in self.libraries:
            stem = "".join(key)
            text, library = self.folder / f"{stem}.cpp", self.folder / f"{stem}.so"
            kernels = [name for name, kernel in KERNELS.items() if kernel.file == file]
            emulated = "".join(f"EMULATED({name})\n" for name in kernels)
            text.write_text(f'#include "{HEADER}"\n{source(file)}\n{emulated}')
            words = [*compiler(), *STANDARD, "-O2", "-march=native", "-fPIC", "-shared"]
            words += ["-pthread", "-w", *defines, *self.flags, str(text), "-o", str(library)]
            subprocess.run(words, check=True)
            self.libraries[key] = ctypes.CDLL(str(library))
        return self.libraries[key]


def compiler() -> list[str]:
    """Return the command of a C++ compiler; None if absent."""
    found = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")
    return [found] if found else []
