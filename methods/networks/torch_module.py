"""A custom network, or a part of one, as a layer of an architecture."""

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.methods.own_files import module_of

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, repr=False)
class TorchModule:
    """A `torch.nn.Module`; an architecture with only this layer is a custom network.

    `TorchModule(ResNet, outputs=10)` is a whole network; followed by another layer, as in
    `(TorchModule(backbone, outputs=512, frozen=("*",)), Linear(10))`, it is the part before a head.
    The module's own constructor draws its initial weights, from the stream of the run.

    Patterns are shell patterns (`*`, `?`, `[...]`) for the names of parameters and buffers. A
    pattern that begins with `!` excludes names that earlier patterns select, as in
    `("*", "!*lora*")`.
    """

    factory: "str | Callable[..., nn.Module]"
    """Function or class that returns the module, or its name, as "package.module:function" or
    "file.py:function". It is stored as a name, so that worker processes find it."""
    outputs: int | tuple[int, ...]
    """Shape of the output of one input; a number means a vector."""
    inputs: tuple[int, ...] = ()
    """Shape of one input, `()` if it follows from the data."""
    arguments: Mapping[str, Any] | tuple[tuple[str, Any], ...] = ()
    """Keyword arguments of the factory: numbers, strings, and tuples of them."""
    frozen: tuple[str, ...] = ()
    """Patterns of tensors that are not trained. Their values come from `weights`, or from the
    factory with seed 0: the same in every run."""
    weights: str = ""
    """File with a state dictionary, saved by `torch.save`, that gives all initial values."""
    fresh: tuple[str, ...] = ()
    """Patterns of tensors that do not start from that file, such as a new head."""
    weights_sha256: str = ""
    """Checksum of that file, filled in; a file with another checksum is rejected."""
    stacked: bool = False
    """True if several fits of this network are computed together, by `torch.vmap`, if that works.
    It is faster for small networks, but a fit's rounding then depends on the fits next to it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "factory", name_of_factory(self.factory))
        if isinstance(self.outputs, Sequence) and len(self.outputs) == 1:
            object.__setattr__(self, "outputs", self.outputs[0])  # one spelling, one hash
        given = self.arguments
        pairs = given.items() if isinstance(given, Mapping) else given
        object.__setattr__(self, "arguments", tuple(sorted(_hashable(list(pairs)))))
        for name in ("inputs", "frozen", "fresh"):
            value = getattr(self, name)
            _require(not isinstance(value, str | int), f"{name} to be a tuple", value)
            object.__setattr__(self, name, tuple(value))
        sides = (*self.output_shape, *self.inputs)
        _require(
            bool(self.output_shape) and all(isinstance(n, int) and n > 0 for n in sides),
            "outputs and inputs to be numbers above 0",
            (self.outputs, self.inputs),
        )
        _require(bool(self.weights) or not self.fresh, "a file of weights beside fresh", self.fresh)
        if self.weights:
            object.__setattr__(self, "weights_sha256", self._checked())

    def __repr__(self) -> str:
        values = ((field, getattr(self, field.name)) for field in fields(self))
        given = [f"{field.name}={value!r}" for field, value in values if value != field.default]
        return f"TorchModule({', '.join(given)})"

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the output of one input."""
        return self.outputs if isinstance(self.outputs, tuple) else (self.outputs,)

    @property
    def source_module(self) -> str:
        """The name of the Python module that has the factory."""
        return str(self.factory).partition(":")[0]

    def _checked(self) -> str:
        file = Path(self.weights)
        if not file.is_file():
            raise ValueError(f"{self.factory}: there is no file of weights {file.absolute()}")
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if self.weights_sha256 not in ("", digest):
            raise ValueError(
                f"{self.factory}: the file of weights {file} has changed: needed SHA-256 "
                f"{self.weights_sha256}; got {digest}"
            )
        return digest


def name_of_factory(factory: object) -> str:
    """Return "package.module:function" for a factory that can be imported by that name.

    Raises ValueError for any other, such as a lambda or a function inside a function.
    """
    if isinstance(factory, str):
        place, colon, name = factory.rpartition(":")
        _require(bool(colon and place and name), 'a factory as "module:function"', factory)
        return f"{module_of(Path(place))}:{name}" if place.endswith(".py") else factory
    name = getattr(factory, "__qualname__", "<nameless>")
    _require(callable(factory) and "<" not in name, "a factory that workers can import: a function "
             "or class at the top level of a module", factory)  # fmt: skip
    module = inspect.getmodule(factory)
    _require(module is not None, "a factory that belongs to a module", factory)
    place = getattr(factory, "__module__", "")
    if place in ("__main__", "__mp_main__"):
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        place = spec.name if spec else "__main__"
    return f"{place}:{name}"


def _hashable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    plain = value is None or isinstance(value, bool | int | float | str)
    _require(plain, "arguments to be numbers, strings and tuples of them", value)
    return value


def _require(holds: bool, needed: str, given: object) -> None:
    if not holds:
        raise ValueError(f"TorchModule needs {needed}; got {given!r}")
