"""Switching off TF32 around a fit. In TF32, a GPU reads only 10 bits of a float32 in products.

Torch's convolutions use it by default. Sums of messages would then lose the changes of marginals
that matter, which are smaller than its rounding.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_seen: ContextVar[dict[str, bool] | None] = ContextVar("tf32", default=None)


def flags() -> dict[str, bool]:
    """Return whether convolutions and matrix products may use TF32 in this process."""
    return {
        "cudnn.allow_tf32": bool(torch.backends.cudnn.allow_tf32),
        "cuda.matmul.allow_tf32": bool(torch.backends.cuda.matmul.allow_tf32),
    }


@contextmanager
def without_tf32() -> Iterator[None]:
    """Use full-precision products and reproducible convolutions inside the block.

    The process's settings are restored afterwards, also after an exception.
    """
    cudnn = torch.backends.cudnn
    before = cudnn.allow_tf32, cudnn.deterministic, cudnn.benchmark
    products = torch.get_float32_matmul_precision()
    cudnn.allow_tf32, cudnn.deterministic, cudnn.benchmark = False, True, False
    torch.set_float32_matmul_precision("highest")
    if (seen := _seen.get()) is not None:
        seen.update(flags())
    try:
        yield
    finally:
        cudnn.allow_tf32, cudnn.deterministic, cudnn.benchmark = before
        torch.set_float32_matmul_precision(products)


@contextmanager
def watching() -> Iterator[Mapping[str, bool]]:
    """Yield the flags of the fits inside the block, to be read after it.

    These are the flags of the last `without_tf32` in it, or of the process if there is none.
    """
    seen = flags()
    token = _seen.set(seen)
    try:
        yield seen
    finally:
        _seen.reset(token)


def entry(device: torch.device, seen: Mapping[str, bool]) -> dict[str, bool]:
    """Return a record's entry on the flags of its fit; empty on a CPU, which has no TF32."""
    return {} if device.type == "cpu" else dict(seen)
