"""Pickles read as data: arrays, strings, numbers and containers of them, but never code."""

import io
import pickle

import numpy as np


class _DataUnpickler(pickle.Unpickler):
    """Resolves the three names that a pickled array needs and rejects all others."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"the pickle needs {module}.{name}; only arrays, strings, numbers, lists, "
                "dicts and tuples are read, because anything else can run code. Nothing was run"
            )
        return _ALLOWED[module, name]


def load(content: bytes) -> object:
    """Return the content of a pickle, decoding Python 2 strings as latin-1.

    Raises pickle.UnpicklingError for anything but plain data, before running any code.
    """
    return _DataUnpickler(io.BytesIO(content), encoding="latin1").load()


_NDARRAY = object()
"""Stands for `numpy.ndarray` in a pickle; it can be passed on, but not called."""


def _array(placeholder: object, shape: tuple[int, ...], typecode: object) -> np.ndarray:
    """Return the empty array that the pickle fills next."""
    if placeholder is not _NDARRAY:
        raise pickle.UnpicklingError(f"only plain arrays are read; got {placeholder!r}")
    return np.empty(shape, np.int8)


def _dtype(spec: str, align: int = 0, copy: int = 1) -> np.dtype:
    """Return a plain dtype; NumPy needs booleans in place of old pickles' 0 and 1."""
    dtype = np.dtype(spec, align=bool(align), copy=bool(copy))
    if dtype.kind not in "biufcSU" or dtype.fields:
        raise pickle.UnpicklingError(f"only arrays of numbers and strings are read; got {spec!r}")
    return dtype


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _array,
    ("numpy._core.multiarray", "_reconstruct"): _array,
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _dtype,
}
