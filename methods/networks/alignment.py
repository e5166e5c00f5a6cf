"""Copies of parts of a flat weight vector to addresses that GPU libraries can read.

Kernels of cuDNN read 16 bytes at once and kill the process at an address that is not a multiple of
16. A member's weights may start anywhere, as may layers after one of odd size.
"""

from torch import Tensor

BYTES = 16


def aligned(tensor: Tensor) -> Tensor:
    """Return the tensor, or a copy if it is on a GPU at an address that kernels cannot read."""
    return tensor.clone() if tensor.is_cuda and tensor.data_ptr() % BYTES else tensor


def put_back(tensor: Tensor, written: Tensor) -> None:
    """Copy back what was written into the tensor returned by `aligned`."""
    if written is not tensor:
        tensor.data.copy_(written)
