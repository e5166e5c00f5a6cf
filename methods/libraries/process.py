"""A library's process, as controlled from here: started, asked, and ended with its posterior."""

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import psutil
import torch
from torch import Tensor

from bnnbench.datasets.reading import npz
from bnnbench.methods import environments
from bnnbench.methods.base import InferenceDiverged, PackageMissing, Unsupported
from bnnbench.methods.fitting import children, progress, work

INSIDE = Path(__file__).parent / "inside"
SERVER = "bnnbench.methods.libraries.inside.serve"
"""The module that the process runs, written as text so that it counts among a method's sources."""
SECONDS_TO_START = 300.0
"""If a process is not ready by then, the interpreter is wrong or lacks the library."""
LONGEST_ANSWER = 2**20
"""Maximum bytes of a line; arrays are sent in files."""
LAST_WORDS = 2000
"""Number of characters of standard error quoted in an error."""


class LibraryFailed(RuntimeError):
    """A library raised an error, or its process ended; the message quotes the library."""


class LibraryProcess:
    """A process in a library's environment that runs one script: it fits, and then predicts.

    It ends when nothing refers to it any more, and by itself when this process ends.
    """

    def __init__(self, library: str, script: Path, interpreter: str) -> None:
        self.library, self.interpreter = library, interpreter
        self.fit_bytes = 0.0
        self._folder = tempfile.TemporaryDirectory(prefix="bnnbench-")
        self._errors = open(Path(self._folder.name) / "stderr", "w+b")  # noqa: SIM115 (kept open)
        self._read = bytearray()
        start = time.perf_counter()
        try:
            self._process = subprocess.Popen(
                [interpreter, "-I", str(INSIDE / f"{SERVER.rpartition('.')[2]}.py"), str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd=self._folder.name,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            self._folder.cleanup()
            cure = environments.cure(library)
            raise LibraryFailed(
                f"{library}: {interpreter} cannot be started ({error}): {cure}"
            ) from error
        self._at_exit = weakref.finalize(self, _end, self._process, self._errors, self._folder)
        answer = self._answer(time.monotonic() + SECONDS_TO_START)
        self.environment: Mapping[str, object] = {"interpreter": interpreter, **answer["ready"]}
        children.register(self)
        children.started(time.perf_counter() - start, float(answer["cpu_seconds"]))

    @property
    def cpu_seconds(self) -> float:
        """The processor time of the process so far; 0 once it has ended."""
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(self._process.pid).cpu_times()
            return times.user + times.system + times.children_user + times.children_system
        return 0.0

    def fit(self, problem: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> dict[str, float]:
        """Fit a problem, and return the fit's diagnostics; raises what `_answer` raises."""
        file = self._written("problem", arrays)
        answer = self._ask({"do": "fit", "arrays": str(file), **problem})
        self.fit_bytes = float(answer["bytes"])
        for unit, number in answer["work"].items():
            work.count(unit, number)
        return answer["done"]

    def predict(self, inputs: Tensor, seed: int) -> dict[str, Tensor]:
        """Return the arrays of a prediction; raises what `_answer` raises."""
        file, to = self._written("inputs", {"inputs": inputs}), self._path("prediction")
        self._ask({"do": "predict", "inputs": str(file), "to": str(to), "seed": seed})
        try:
            return {name: torch.from_numpy(array) for name, array in npz.arrays_of(to).items()}
        except (OSError, ValueError, TypeError) as error:
            raise LibraryFailed(
                f"{self.library}: its prediction cannot be read: {error}"
            ) from error

    def end(self) -> None:
        """End the process and all processes that it started, at once."""
        children.unregister(self)
        self._at_exit()

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name}.npz"

    def _written(self, name: str, arrays: Mapping[str, Tensor]) -> Path:
        path = self._path(name)
        content: Any = {key: value.detach().cpu().numpy() for key, value in arrays.items()}
        np.savez(path, **content)
        return path

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._how_it_ended() from None
        return self._answer()

    def _answer(self, deadline: float | None = None) -> dict[str, Any]:
        """Return the next answer, and pass on the progress reports before it.

        Raises `PackageMissing`, `Unsupported` or `InferenceDiverged` if the library's script
        reports one of these, else `LibraryFailed`.
        """
        while True:
            answer = self._parsed(self._line(deadline))
            if "progress" in answer:
                progress.report(*answer["progress"])
            elif "failed" in answer:
                raise self._failure(answer["failed"], str(answer.get("text", "")))
            else:
                return answer

    def _failure(self, kind: str, text: str) -> Exception:
        if kind == "missing":
            cure = environments.cure(self.library)
            return PackageMissing(f"needed {self.library} in {self.interpreter} ({text}): {cure}")
        if kind == "unsupported":
            return Unsupported(f"{self.library}: {text}")
        if kind == "diverged":
            return InferenceDiverged(text)
        return LibraryFailed(f"{self.library} failed in {self.interpreter}:\n{text.strip()}")

    def _parsed(self, line: bytes) -> dict[str, Any]:
        with contextlib.suppress(ValueError):
            answer = json.loads(line)
            if isinstance(answer, dict):
                return answer
        raise LibraryFailed(
            f"{self.library}: {self.interpreter} answered {line[:100]!r}, which is not a "
            "valid answer: is it a Python interpreter?"
        )

    def _line(self, deadline: float | None) -> bytes:
        """Return the next line from the process; raises `LibraryFailed` if there is none."""
        assert self._process.stdout
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._read:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([descriptor], [], [], left)[0]:
                raise LibraryFailed(
                    f"{self.library}: {self.interpreter} was not ready after "
                    f"{SECONDS_TO_START:g} s: is it a Python interpreter?{self._last_words()}"
                )
            part = os.read(descriptor, 2**16)
            if not part:
                raise self._how_it_ended()
            self._read += part
            if len(self._read) > LONGEST_ANSWER:
                raise LibraryFailed(f"{self.library}: an answer is longer than {LONGEST_ANSWER}")
        line, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        return line

    def _how_it_ended(self) -> Exception:
        """Return the error of a process that has ended, or closed its output."""
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            code = None
        how = "closed its output"
        if code is not None and code < 0:
            hint = " (out of memory?)" if -code == signal.SIGKILL else ""
            how = f"was killed by {signal.Signals(-code).name}{hint}"
        elif code is not None:
            how = f"ended with exit code {code}"
        last_words = self._last_words()
        if "No module named 'numpy'" in last_words:
            cure = environments.cure(self.library)
            return PackageMissing(f"needed numpy and {self.library} in {self.interpreter}: {cure}")
        return LibraryFailed(f"{self.library}: the process of {self.interpreter} {how}{last_words}")

    def _last_words(self) -> str:
        """Return the end of the process's standard error, "" if it is empty."""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - LAST_WORDS))
        text = self._errors.read().decode(errors="replace").strip()
        return f"; its last words:\n{text}" if text else ""


def _environment() -> dict[str, str]:
    """Return the environment variables of a library's process: torch's thread count, and no GPU."""
    threads = str(torch.get_num_threads())
    names = "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"
    return os.environ | dict.fromkeys(names, threads) | {"CUDA_VISIBLE_DEVICES": ""}


def _end(
    process: "subprocess.Popen[bytes]",
    errors: IO[bytes],
    folder: "tempfile.TemporaryDirectory[str]",
) -> None:
    """Kill a process and its session, and remove its files."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, errors):
        with contextlib.suppress(OSError):
            if stream:
                stream.close()
    folder.cleanup()
