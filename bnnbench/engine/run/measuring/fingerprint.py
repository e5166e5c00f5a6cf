"""Checksums of the data behind a result."""

import hashlib
from collections.abc import MutableMapping

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from bnnbench.datasets.base import Dataset, Split

_digests: MutableMapping[Tensor, bytes] = WeakIdKeyDictionary()


def fingerprint(split: Split) -> str:
    """Return the SHA-256 of the types, shapes and values of inputs and targets.

    A tensor shared by many runs is read only once.
    """
    return hashlib.sha256(_digest(split.inputs) + _digest(split.targets)).hexdigest()


def fingerprint_of_data(dataset: Dataset) -> str:
    """Return the SHA-256 of training, test and calibration rows.

    If the source gives a checksum of the raw rows, it is used instead, since standardising may
    round differently on another processor.
    """
    raw = dataset.facts.get("sha256")
    if isinstance(raw, str):
        return raw
    joined = "".join(map(fingerprint, dataset.splits))
    return hashlib.sha256(joined.encode()).hexdigest()


def _digest(tensor: Tensor) -> bytes:
    if tensor not in _digests:
        array = tensor.detach().cpu().contiguous().numpy()
        digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.reshape(-1).view("u1").data)
        _digests[tensor] = digest.digest()
    return _digests[tensor]
