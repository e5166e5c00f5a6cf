"""The CUDA kernels of message passing, launched as on a GPU but run by an emulator."""

from collections.abc import Sequence

from torch import Tensor

from bnnbench.methods.message_passing.kernels.cuda import Cuda, source
from bnnbench.methods.message_passing.kernels.grids import Launch
from bnnbench.methods.message_passing.kernels.table import KERNELS
from tests.methods.emulated import Emulator, Library


class Emulated(Cuda):
    """The kernels in .cu files; every launch is checked for races between its blocks."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.libraries: dict[tuple[str, ...], Library] = {}
        self.launched: list[tuple[str, Launch]] = []

    def run(
        self,
        name: str,
        defines: tuple[str, ...],
        how: Launch,
        numbers: Sequence[float],
        tensors: Sequence[Tensor | None],
    ) -> None:
        """Run a kernel, compiled with these macros."""
        self.launched.append((name, how))
        self._library(KERNELS[name].file, defines).launch(name, *how, numbers, tensors)

    def _library(self, file: str, defines: tuple[str, ...]) -> Library:
        key = (file, *defines)
        if key not in self.libraries:
            kernels = [name for name, kernel in KERNELS.items() if kernel.file == file]
            self.libraries[key] = self.emulator.library(self.source(file), kernels, *defines)
        return self.libraries[key]

    def source(self, file: str) -> str:
        """Return the source of a file's kernels."""
        return source(file)
