"""Pickles for processes that import nothing of the started program."""

import importlib
import io
import pickle
import sys
from types import FunctionType
from typing import Any

from bnnbench.engine.run.task import Task
from bnnbench.engine.workers.base import ExecutorUnavailable

MAIN = "__main__"


def pickled(message: object) -> bytes:
    """Return a pickle; in it, a module that was started by `python -m` has its own name."""
    content = io.BytesIO()
    _Pickler(content).dump(message)
    return content.getvalue()


def pickled_task(task: Task, or_else: str = "") -> bytes:
    """Return a task as any process can read it.

    Raises `ExecutorUnavailable` for a class or function of a started file or a notebook, with the
    cure and what can be done `or_else`.
    """
    content = pickled(task)
    if MAIN.encode() in content:
        raise ExecutorUnavailable(
            f"{task.name}: other processes cannot find a class or function that the started file "
            f"or a notebook defines; move it to a module, and import it{or_else}"
        )
    return content


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        spec = getattr(sys.modules[MAIN], "__spec__", None)
        if not spec or getattr(value, "__module__", "") != MAIN:
            return NotImplemented
        if not isinstance(value, type | FunctionType):
            return NotImplemented
        return _imported, (spec.name, value.__qualname__)


def _imported(module: str, name: str) -> Any:
    value = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value
