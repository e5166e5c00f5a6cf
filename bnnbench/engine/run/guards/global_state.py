"""Global state of the process, restored after each method so that nothing leaks to the next."""

import contextlib
import functools
import gc
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import threadpoolctl
import torch

from bnnbench.engine.run.rows import Rows
from bnnbench.engine.run.states import noted
from bnnbench.engine.run.task import CarryOut, Packed, Task
from bnnbench.methods.fitting.progress import Listener


@dataclass(frozen=True)
class Setting:
    """A setting that any code in a process can change for all other code."""

    name: str
    get: Callable[[], Any]
    restore: Callable[[Any], object]


def _set_default_device(device: torch.device) -> None:
    # The CPU is the default without a mode, which would slow every call.
    torch.set_default_device(None if device.type == "cpu" else device)


@functools.cache
def _libraries() -> list[threadpoolctl.LibController]:
    """Return the libraries with their own thread pools; finding them takes milliseconds."""
    return threadpoolctl.ThreadpoolController().lib_controllers


def _library_threads() -> list[int]:
    return [library.num_threads or 1 for library in _libraries()]


def _set_library_threads(threads: list[int]) -> None:
    for library, number in zip(_libraries(), threads, strict=True):
        library.set_num_threads(number)


def _signal_handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def _restore_handlers(handlers: dict[int, Any]) -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may set handlers
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _restore_environment(environment: dict[str, str]) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)


def _restore_list(target: list[Any]) -> Callable[[list[Any]], None]:
    def restore(items: list[Any]) -> None:
        target[:] = items

    return restore


def _restore_filters(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # pyright: ignore[reportIndexIssue] (a list at run time)
    warnings._filters_mutated()  # pyright: ignore[reportAttributeAccessIssue]


def with_restored_state(carry_out: CarryOut) -> CarryOut:
    """Return the function with `restored` around it; what it restored is noted in each run."""

    def guarded(task: Task, device: torch.device, listener: Listener, rows: Rows) -> list[Packed]:
        with restored(seed=int(task.runs[0].key, 16) % 2**63) as changed:
            packed = carry_out(task, device, listener, rows)
        if not changed:  # the block above completes it
            return packed
        entry = "process_state_restored", list(changed)
        return [replace(one, state=noted(one.state, *entry)) for one in packed]

    return guarded


SETTINGS = (
    Setting("gradient mode", torch.is_grad_enabled, torch.set_grad_enabled),
    Setting("default dtype", torch.get_default_dtype, torch.set_default_dtype),
    Setting("default device", torch.get_default_device, _set_default_device),
    Setting("threads of torch", torch.get_num_threads, torch.set_num_threads),
    Setting("threads of other libraries", _library_threads, _set_library_threads),
    Setting(
        "deterministic algorithms",
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    Setting(
        "precision of float32 products",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    Setting("floating-point errors of NumPy", np.geterr, lambda errors: np.seterr(**errors)),
    Setting("environment variables", lambda: dict(os.environ), _restore_environment),
    Setting("working directory", os.getcwd, os.chdir),
    Setting("signal handlers", _signal_handlers, _restore_handlers),
    Setting("warnings filters", lambda: list(warnings.filters), _restore_filters),
    Setting("import path", lambda: list(sys.path), _restore_list(sys.path)),
    Setting("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Setting("garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
)
"""All settings restored after a run; random states and standard streams are separate."""


@contextmanager
def restored(seed: int) -> Iterator[list[str]]:
    """Run the block, then restore the process; yield a list of the settings that it changed.

    Global random generators are seeded with `seed`, so that a method that draws from them gives
    the same numbers whatever ran before, and get their earlier states back.
    """
    changed: list[str] = []
    before = [(setting, setting.get()) for setting in SETTINGS]
    # NumPy's global generator is not used here, but methods may draw from it.
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    streams = sys.stdin, sys.stdout, sys.stderr
    descriptors = {number: _duplicate(number) for number in (0, 1, 2)}
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    torch.default_generator.manual_seed(seed)
    try:
        yield changed
    finally:
        for setting, value in before:
            if _differs(setting.get, value):
                setting.restore(value)
                changed.append(setting.name)
        if _restore_streams(streams, descriptors):
            changed.append("standard streams")
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])


def _differs(get: Callable[[], Any], value: Any) -> bool:
    try:
        return get() != value
    except OSError:  # the working directory was removed
        return True


def _duplicate(number: int) -> int | None:
    with contextlib.suppress(OSError):
        return os.dup(number)
    return None


def _restore_streams(streams: tuple[Any, Any, Any], descriptors: dict[int, int | None]) -> bool:
    """Reopen standard streams that were closed or replaced; return whether there were any."""
    changed = False
    for number, copy in descriptors.items():
        if copy is None:
            continue
        if _file_behind(number) != _file_behind(copy):
            os.dup2(copy, number)
            changed = True
        os.close(copy)
    for name, stream, number in zip(("stdin", "stdout", "stderr"), streams, (0, 1, 2), strict=True):
        if stream is not None and stream.closed:
            mode = "r" if number == 0 else "w"
            stream = open(number, mode, closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            changed = True
        if getattr(sys, name) is not stream:
            setattr(sys, name, stream)
            changed = True
    return changed


def _file_behind(number: int) -> tuple[int, int] | None:
    """Return device and inode of an open file; None if it was closed."""
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino
