"""Signs and redraws of data sets: the same numbers in Python and in the board's script."""

import numpy as np
from jaxtyping import Float, Int, UInt32
from numpy import ndarray

MOST_EXACT = 13
"""With at most so many sets, all flips are enumerated."""
SIGNS, REDRAWS = 1, 2
"""Streams of random numbers."""


def bits(stream: int, index: Int[ndarray, "*_"]) -> UInt32[ndarray, "*_"]:
    """Return 32 random bits for each index, by the finaliser of MurmurHash3 (Appleby, 2011)."""
    with np.errstate(over="ignore"):
        x = (index.astype(np.uint32) + np.uint32(1)) * np.uint32(0x9E3779B9)
        x ^= np.uint32(stream) * np.uint32(0x7FEB352D)
        for factor, shift in ((0x85EBCA6B, 16), (0xC2B2AE35, 13)):
            x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
        return x ^ (x >> np.uint32(16))


def signs(sets: int, draws: int, stream: int = SIGNS) -> tuple[Float[ndarray, "draws sets"], bool]:
    """Return flips of whole data sets, and whether they are all that differ.

    A common sign changes no absolute difference, so 2^(sets - 1) are all.
    """
    if sets <= MOST_EXACT:
        patterns = np.arange(2 ** (sets - 1))[:, None] >> np.arange(sets) & 1
        return 1.0 - 2.0 * patterns, True
    index = np.arange(draws * sets).reshape(draws, sets)
    return 1.0 - 2.0 * (bits(stream, index) >> np.uint32(31)), False


def redraws(sets: int, draws: int) -> Int[ndarray, "draws sets"]:
    """Return how often each data set is drawn, with replacement, in each of `draws` leagues."""
    index = np.arange(draws * sets).reshape(draws, sets)
    drawn = (bits(REDRAWS, index) * float(sets) / 2.0**32).astype(int)
    return np.stack([np.bincount(of, minlength=sets) for of in drawn])
