"""Memo of the last result of a costly computation."""

import hashlib
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from torch import Tensor

Result = TypeVar("Result")


class Memo(Generic[Result]):
    """The latest computed value of this process, and its key."""

    def __init__(self) -> None:
        self._of: Hashable = object()
        self._results: list[Result] = []

    def get(self, of: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the last result if its key equals `of`, else `compute()`."""
        if self._of != of:
            self._results = [compute()]
            self._of = of
        return self._results[0]


def content(*tensors: Tensor) -> str:
    """Return a digest of shapes, types and numbers."""
    digest = hashlib.blake2b(digest_size=16)
    for tensor in tensors:
        array = tensor.detach().cpu().contiguous().numpy()
        digest.update(f"{array.shape} {array.dtype};".encode())
        digest.update(array.data)
    return digest.hexdigest()
