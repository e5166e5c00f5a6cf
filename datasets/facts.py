"""Facts about a split that matter for trust in its scores.

train_rows, test_rows, features: sizes
test_twins_in_train: the fraction of test rows with an exact duplicate in train: equal features
    and target, for images equal pixels
test_twins, train_repeats: the number of such test rows; the number of training rows that repeat
    an earlier one
transforms: changes of the raw rows, as sentences, in order
constant_columns: numbers of the inputs that are constant in train; they are left unscaled
largest_input_deviation_train, ..._test: the maximum absolute standardised input
classes, class_counts_train, class_counts_test: only for classification
target, target_unit, target_std: only for regression, in original units
sha256: of the raw rows: inputs and targets of train, then of test; images with channels first
licence: the licence stated by the publisher
files, download_bytes: from `of_source`: path → checksum of every file behind the rows; the size
    of the download
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from torch import Tensor

from bnnbench.datasets.base import Categorical, Dataset, DataSource
from bnnbench.datasets.reading.scales import is_constant

Rows = tuple[np.ndarray, np.ndarray]
"""Raw inputs and targets, before standardisation."""


def facts_of(
    dataset: Dataset, train: Rows, test: Rows, licence: str, transforms: Sequence[str] = ()
) -> Mapping[str, object]:
    """Return the facts of a data set, given its raw rows and the transforms applied to them."""
    train_digests = _digests(_events(train))
    met = sum(row in train_digests for row in _row_hashes(_events(test)))
    return {
        "train_rows": len(train[0]),
        "test_rows": len(test[0]),
        "features": int(np.prod(train[0].shape[1:])),
        "test_twins_in_train": met / len(test[0]),
        "test_twins": met,
        "train_repeats": len(train[0]) - len(train_digests),
        "constant_columns": constant_columns(train[0]),
        "largest_input_deviation_train": _largest(dataset.train.inputs),
        "largest_input_deviation_test": _largest(dataset.test.inputs),
        **_of_targets(dataset, train[1], test[1]),
        "sha256": _sha256(*train, *test),
        "licence": licence,
        "transforms": list(transforms),
    }


def of_source(source: DataSource) -> Mapping[str, object]:
    """Return the facts about a source's files; empty if it has no files."""
    files = files_of(source)
    return {"files": files, "download_bytes": source.bytes} if files else {}


def files_of(source: object) -> dict[str, str]:
    """Return path → checksum of the files behind a source or the source that it wraps."""
    inner = getattr(source, "source", None)
    if inner is not None:
        return files_of(inner)
    return {file.path: file.checksum for file in getattr(source, "data_files", ())}


def _digests(rows: np.ndarray) -> set[bytes]:
    return set(_row_hashes(rows))


def _row_hashes(rows: np.ndarray) -> Iterator[bytes]:
    """Yield a 128-bit hash for each row, since 60,000 images would not fit in memory twice."""
    for row in np.ascontiguousarray(rows):
        yield hashlib.blake2b(row.tobytes(), digest_size=16).digest()


def constant_columns(inputs: np.ndarray) -> list[int]:
    """Return the numbers of the inputs that are constant over all rows, up to rounding."""
    flat = inputs.reshape(len(inputs), -1)
    if np.issubdtype(flat.dtype, np.integer):
        return np.flatnonzero(flat.max(0) == flat.min(0)).tolist()
    return np.flatnonzero(is_constant(flat.mean(0), flat.std(0), len(flat))).tolist()


def _events(rows: Rows) -> np.ndarray:
    """Return the values whose bytes are equal for duplicate rows."""
    inputs, targets = rows
    return np.column_stack([inputs, targets]) if inputs.ndim == 2 else inputs


def _of_targets(dataset: Dataset, train: np.ndarray, test: np.ndarray) -> Mapping[str, object]:
    if isinstance(dataset.likelihood, Categorical):
        classes = dataset.likelihood.classes
        return {
            "classes": classes,
            "class_counts_train": np.bincount(train, minlength=classes).tolist(),
            "class_counts_test": np.bincount(test, minlength=classes).tolist(),
        }
    target = dataset.target
    assert target is not None
    return {"target": target.name, "target_unit": target.unit, "target_std": target.std}


def _largest(inputs: Tensor) -> float:
    low, high = inputs.aminmax()
    return max(-float(low), float(high))


def _sha256(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
