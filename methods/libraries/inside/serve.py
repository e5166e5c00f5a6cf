"""The process of a library: it fits once, and then predicts until its input ends.

Run as `python -I serve.py SCRIPT.py` in the library's environment. A request is a line of JSON on
standard input, an answer a line of JSON on standard output; arrays are in npz files, and nothing is
pickled. The library's printed output goes to standard error. Only NumPy and the library are
imported.
"""

import contextlib
import faulthandler
import importlib.metadata
import importlib.util
import json
import os
import platform
import signal
import sys
import threading
import time
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "bnnbench.methods" + ".libraries.inside"
"""Name of this package, in two texts: as a single text it would count all scripts in this folder
among the sources of each method."""
SECONDS_BETWEEN_LOOKS = 1.0


def main() -> None:
    """Answer requests."""
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver handles it and ends this process
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    threading.Thread(target=_end_with_the_parent, args=(os.getppid(),), daemon=True).start()

    def answer(**content: Any) -> None:
        answers.write(json.dumps(content) + "\n")

    try:
        script = _script(sys.argv[1])
    except Exception as error:
        answer(failed=_kind(error), text=_text(error))
        return
    answer(ready=_environment(script), cpu_seconds=time.process_time())
    fitted: Any = None
    for line in requests:
        request = json.loads(line)
        try:
            if request["do"] == "fit":
                _forget_peak()
                before = _memory("VmRSS")
                fitted = script.fit(_task(request, answer))
                grown = max(0.0, _memory("VmHWM") - before)
                work = getattr(fitted, "work", {})
                answer(done=_plain(fitted.diagnostics), bytes=grown, work=work)
            else:
                with np.load(request["inputs"], allow_pickle=False) as file:
                    inputs = file["inputs"]
                np.savez(request["to"], **fitted.predict(inputs, request["seed"]))
                answer(done={})
        except Exception as error:
            answer(failed=_kind(error), text=_text(error))


def _script(file: str) -> Any:
    """Import a script that can import nothing of bnnbench but this folder."""
    parts = PACKAGE.split(".")
    for number in range(1, len(parts) + 1):
        package = types.ModuleType(".".join(parts[:number]))
        package.__path__ = []
        sys.modules[package.__name__] = package
    sys.modules[PACKAGE].__path__ = [str(Path(__file__).parent)]
    sys.meta_path.insert(0, _NothingElse())  # even if bnnbench is installed next to the library
    spec = importlib.util.spec_from_file_location(f"{PACKAGE}.{Path(file).stem}", file)
    assert spec
    assert spec.loader
    script = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


class _NothingElse:
    """A finder that refuses all other modules of bnnbench."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.startswith("bnnbench.") and not name.startswith(f"{PACKAGE}."):
            raise ModuleNotFoundError(f"No module named {name!r}")


def _task(request: dict[str, Any], answer: Any) -> Any:
    from bnnbench.methods.libraries.inside.task import Task

    with np.load(request["arrays"], allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}

    def report(done: int, total: int, loss: float) -> None:
        answer(progress=[int(done), int(total), float(loss)])

    names = "settings", "classes", "noise_std", "architecture", "seed"
    return Task(**{name: request[name] for name in names}, arrays=arrays, report=report)


def _environment(script: Any) -> dict[str, Any]:
    packages = {}
    for name in script.DISTRIBUTIONS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages[name] = importlib.metadata.version(name)
    return {"python": platform.python_version(), "packages": packages}


def _kind(error: Exception) -> str:
    if isinstance(error, ImportError):
        return "missing"
    name = type(error).__name__
    of_task = type(error).__module__ == f"{PACKAGE}.task"
    return name.lower() if of_task else "error"


def _text(error: Exception) -> str:
    if _kind(error) == "error":
        return "".join(traceback.format_exception(error))
    return str(error)


def _plain(diagnostics: Any) -> dict[str, float]:
    return {str(name): float(value) for name, value in diagnostics.items()}


def _end_with_the_parent(parent: int) -> None:
    """End this process, and those that it started, once its parent process has ended."""
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os.killpg(0, signal.SIGKILL)


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory(field: str) -> float:
    """Return the bytes in a line of /proc/self/status; 0 if absent."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return float(line.split()[1]) * 1024
    return 0.0


if __name__ == "__main__":
    main()
