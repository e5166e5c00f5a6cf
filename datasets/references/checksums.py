"""Checksums of the arrays on which a posterior over functions depends."""

import hashlib
from collections.abc import Mapping

import numpy as np
from torch import Tensor

from bnnbench.datasets.base import Dataset


def checksums(data: Dataset) -> Mapping[str, object]:
    """Return the SHA-256 of each standardised array as little-endian float64, and the sizes."""
    train, test = data.train, data.test
    arrays = {
        "train_inputs": train.inputs,
        "train_targets": train.targets,
        "test_inputs": test.inputs,
    }
    sizes = {"rows": len(train), "test_rows": len(test), "features": train.inputs.shape[1]}
    return {name: checksum(array) for name, array in arrays.items()} | sizes


def checksum(array: Tensor) -> str:
    """Return the SHA-256 of an array's bytes as C-contiguous little-endian float64."""
    values = np.ascontiguousarray(array.cpu().numpy(), dtype="<f8")
    return hashlib.sha256(values.tobytes()).hexdigest()
