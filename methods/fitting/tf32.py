"""TF32, products of float32 of which a GPU reads 10 bits, switched off around a fit.

Torch's convolutions use it unless told not to. Sums of messages lose what they are about: changes
of marginals that are smaller than its rounding.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_seen: ContextVar[dict[str, bool] | None] = ContextVar("tf32", default=None)


def flags() -> dict[str, bool]:
    """Return whether convolutions, and matrix products, may use TF32 in this process."""
    return {
        "cudnn.allow_tf32": bool(torch.backends.cudnn.allow_tf32),
        "cuda.matmul.allow_tf32": bool(torch.backends.cuda.matmul.allow_tf32),
    }


@contextmanager
def without_tf32() -> Iterator[None]:
    """Let products inside the block be of full precision, and convolutions repeat their bits.

    The process's own settings come back after it, also where it raises.
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

    They are those of its last `without_tf32`, or of the process where there is none.
    """
    seen = flags()
    token = _seen.set(seen)
    try:
        yield seen
    finally:
        _seen.reset(token)


def entry(device: torch.device, seen: Mapping[str, bool]) -> dict[str, bool]:
    """Return a record's entry on the flags of its fit; a CPU knows no TF32 and has none."""
    return {} if device.type == "cpu" else dict(seen)
