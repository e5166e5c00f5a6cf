"""Tensors and NumPy arrays, stored with the order of their axes in memory.

A product of a transposed matrix rounds differently from that of a copy in rows, so that an array
comes back with the order that it had.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.saved.errors import NotLoaded, NotSaved

WITHOUT_NUMPY = {"bfloat16": (torch.bfloat16, torch.int16)}
"""Types that NumPy lacks, with the type of equal size as which they are stored."""


class Collected:
    """Arrays under names; equal ones share the first one's name."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._names: dict[tuple[object, ...], str] = {}

    def add(self, value: Tensor | np.ndarray, path: str) -> dict[str, Any]:
        """Store a tensor or array, and return its description."""
        if isinstance(value, np.ndarray):
            return {"array": self._stored(*_ordered(value), path)} | _order(value)
        tensor, name = value.detach().cpu(), str(value.dtype).removeprefix("torch.")
        kind = {"dtype": name} if name in WITHOUT_NUMPY else {}
        stored = tensor.view(WITHOUT_NUMPY[name][1]) if kind else tensor
        array = stored.resolve_conj().resolve_neg().numpy()
        return {"tensor": self._stored(*_ordered(array), path)} | kind | _order(array)

    def _stored(self, array: np.ndarray, path: str) -> str:
        if array.dtype.hasobject:
            raise NotSaved(f"{path} is an array of Python objects, which cannot be saved")
        content = hashlib.sha256(array.tobytes()).digest()
        taken = path in self.arrays or path == "file"  # the name of an argument of np.savez
        new = f"{path}.{len(self.arrays)}" if taken else path
        name = self._names.setdefault((array.shape, array.dtype.str, content), new)
        self.arrays[name] = array
        return name


def restored(node: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Tensor | np.ndarray:
    """Return the tensor or array of a description; raises `NotLoaded` for one that is faulty."""
    kind = "tensor" if "tensor" in node else "array"
    name = node[kind]
    if not isinstance(name, str) or name not in arrays or node.keys() - {kind, "order", "dtype"}:
        raise NotLoaded(f"there is no array {name!r}")
    array = arrays[name]
    order = node.get("order", [*range(array.ndim)])
    if not isinstance(order, list) or sorted(order) != [*range(array.ndim)]:
        raise NotLoaded(f"the order of axes of {name!r} is {order!r}")
    axes = np.argsort(order)
    if kind == "array":
        return array.copy().transpose(axes)
    try:
        # torch's own memory is aligned, on which the rounding of products depends.
        tensor = torch.from_numpy(array).clone().permute(axes.tolist())
    except TypeError as error:
        raise NotLoaded(f"the array {name!r} has a type that torch lacks") from error
    return _viewed(tensor, node["dtype"]) if "dtype" in node else tensor


def _viewed(tensor: Tensor, name: object) -> Tensor:
    kinds = WITHOUT_NUMPY.get(name) if isinstance(name, str) else None
    if kinds is None or tensor.dtype != kinds[1]:
        raise NotLoaded(f"an array has the unknown type {name!r}")
    return tensor.view(kinds[0])


def _ordered(array: np.ndarray) -> tuple[np.ndarray]:
    """Return the array in rows, with its axes in the order of memory."""
    order = _axes(array)
    return (np.ascontiguousarray(array.transpose(order)).reshape([array.shape[a] for a in order]),)


def _order(array: np.ndarray) -> dict[str, Sequence[int]]:
    order = _axes(array)
    return {} if order == [*range(array.ndim)] else {"order": order}


def _axes(array: np.ndarray) -> list[int]:
    """Return the axes from the slowest in memory to the fastest; those of one entry come first."""
    wide = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    ordered = sorted(wide, key=lambda axis: -abs(array.strides[axis]))
    if ordered == wide or not array.size:
        return [*range(array.ndim)]
    return [axis for axis in range(array.ndim) if axis not in wide] + ordered
