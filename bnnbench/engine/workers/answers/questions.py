"""Questions to predictive classes and their answers, as `Plain` messages."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.engine.workers.channel import Malformed, Plain

CONSTANTS = ("of_classes", "may_be_infinite")

PROPERTIES = (
    *("mean", "variance", "variances", "mixture_log_probs", "expected_entropy", "samples"),
    *("reverse_mutual_information", "levels", "values", "level", "low", "high", "members"),
)
"""Attributes of a prediction that depend on no target."""

OF_TARGETS: Mapping[str, int] = {"log_prob": 0, "cdf": 0, "draw_log_probs": 1}
"""Function of one number per point → the axis of the points in its answer."""

CALLS = (*OF_TARGETS, "quantile", "interval", "rescaled", "summary")


def question(name: str, subject: int, *arguments: Any) -> Plain:
    """Return a question about the object of a number; arguments are plain data or arrays."""
    given = [None if isinstance(one, Tensor) else one for one in arguments]
    files = tuple(array_file(one) for one in arguments if isinstance(one, Tensor))
    return Plain([name, subject, given], files)


def array_file(array: Any) -> bytes:
    """Return an array as the bytes of an npy file."""
    tensor = array.detach().cpu() if isinstance(array, Tensor) else torch.as_tensor(array)
    buffer = io.BytesIO()
    np.save(buffer, tensor.numpy(), allow_pickle=False)
    return buffer.getvalue()


def array_of(file: bytes) -> Tensor:
    """Return the array of an npy file. Raises `Malformed`."""
    try:
        return torch.from_numpy(np.load(io.BytesIO(file), allow_pickle=False))
    except (ValueError, TypeError, OSError, EOFError) as error:
        raise Malformed(f"an array that cannot be read: {error}") from error


def with_arrays(arguments: Sequence[Any], files: Sequence[bytes]) -> list[Any]:
    """Return the arguments of a question, with its arrays in the places of None."""
    arrays = iter(files)
    return [array_of(next(arrays)) if one is None else one for one in arguments]
