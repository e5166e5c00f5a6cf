"""Entries of the table of operations (table.py), and backends with these operations as methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bnnbench.methods.message_passing.kernels.grids import MOST_ACROSS, Grid, Launch

AnyClass = TypeVar("AnyClass", bound=type)


@dataclass(frozen=True)
class Kernel:
    """A function in C, in CUDA, or both."""

    name: str
    file: str
    """The name of its source files, without suffix."""
    grid: Grid | None
    """None: there is no kernel in CUDA."""
    c_arguments: str = ""
    """n lengths, r numbers, p addresses; empty: there is no function in C."""

    def launch(self, *lengths: int) -> Launch | None:
        """Return the launch dimensions for these lengths; None if there is no work."""
        assert self.grid is not None
        how = self.grid(*lengths)
        if max(how.grid[1:]) > MOST_ACROSS:
            raise ValueError(
                f"needed at most {MOST_ACROSS} blocks across for {self.name}; got {how.grid}"
            )
        return how if min(how.grid) else None


class Operation:
    """A function of tensors that checks them, makes room for results, and runs kernels.

    `function` takes the backend's `call` (patterns.py), the names of the kernels, and the
    arguments of the operation's definition in plain torch.
    """

    def __init__(self, function: Callable[..., Any], *kernels: Kernel) -> None:
        self.function, self.kernels = function, kernels

    def as_method(self) -> Callable[..., Any]:
        """Return the operation as a method of a class with a `call`."""
        function, names = self.function, [kernel.name for kernel in self.kernels]

        def method(backend: Any, *arguments: Any) -> Any:
            return function(backend.call, *names, *arguments)

        return method


def with_operations(table: Mapping[str, Operation]) -> Callable[[AnyClass], AnyClass]:
    """Return a decorator that adds operations to a class with a `call`."""

    def add(backend: AnyClass) -> AnyClass:
        for name, operation in table.items():
            setattr(backend, name, operation.as_method())
        return backend

    return add
