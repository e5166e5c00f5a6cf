"""Parts of a flat vector of weights where a GPU's libraries can read them.

Kernels of cuDNN read 16 bytes at once, and end the process at an address that 16 does not divide.
A member's weights begin anywhere, and so do layers after one of odd size.
"""

from torch import Tensor

BYTES = 16


def aligned(tensor: Tensor) -> Tensor:
    """Return the tensor, on a GPU a copy of it if it begins where a kernel cannot read."""
    return tensor.clone() if tensor.is_cuda and tensor.data_ptr() % BYTES else tensor


def put_back(tensor: Tensor, written: Tensor) -> None:
    """Give a tensor what was written into it as `aligned` returned it."""
    if written is not tensor:
        tensor.data.copy_(written)
