"""Draws of whole functions as a small file: one row a draw, 16 bits a value."""

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

from bnnbench.datasets.references.errors import Refused

LARGEST_CODE = 65_535
LEAST_DRAWS = 400
KEPT_DRAWS = 1000
"""Number of draws that are kept, evenly of all chains."""
ARRAYS = ("codes", "low", "high", "chain", "noise_std")


@dataclass(frozen=True)
class FunctionDraws:
    """Function values at the test rows, in standardised target units; draws chain by chain."""

    f: Float[np.ndarray, "draws points"]
    chain: UInt8[np.ndarray, " draws"]
    noise_std: float

    @property
    def by_chain(self) -> Float[np.ndarray, "chains draws_of_one points"]:
        """The draws of each chain, equally many.

        Raises `Refused` where chains have different numbers of draws or are out of order.
        """
        labels, counts = np.unique(self.chain, return_counts=True)
        if len(set(counts.tolist())) != 1 or (np.diff(self.chain.astype(int)) < 0).any():
            raise Refused(f"needed equally many draws of each chain, in order; got {counts}")
        return self.f.reshape(len(labels), counts[0], -1)


def thinned(
    f: Float[np.ndarray, "chains draws_of_one points"], noise_std: float, keep: int = KEPT_DRAWS
) -> FunctionDraws:
    """Return `keep` draws, evenly of all chains and of every chain's iterations.

    Raises ValueError where chains cannot give equally many.
    """
    chains, count = f.shape[:2]
    each = keep // chains
    if keep % chains or each > count:
        raise ValueError(f"needed {keep} draws, equally many of {chains} chains of {count}")
    step = count // each
    kept_iterations = step * np.arange(1, each + 1) - 1
    chain = np.repeat(np.arange(chains, dtype=np.uint8), each)
    return FunctionDraws(f[:, kept_iterations].reshape(keep, -1), chain, noise_std)


def pack(draws: FunctionDraws) -> bytes:
    """Return the bytes of `draws.npz`; raises `Refused` for draws that no file may hold."""
    _check(draws.f)
    low, high = draws.f.min(0), draws.f.max(0)
    codes = np.rint((draws.f - low) / (high - low) * LARGEST_CODE).astype(np.uint16)
    buffer = io.BytesIO()
    arrays = {"codes": codes, "low": low, "high": high, "chain": draws.chain}
    np.savez_compressed(buffer, **arrays, noise_std=np.array([draws.noise_std]))
    return buffer.getvalue()


def unpack(content: bytes) -> FunctionDraws:
    r"""Return the draws, $f = low + (high - low)\, code / 65535$.

    Raises `Refused` for content that `pack` cannot have written.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # zip and NumPy have a dozen kinds for damaged content
        raise Refused(f"draws.npz cannot be read: {error}") from error
    _check_arrays(arrays)
    low, high = arrays["low"], arrays["high"]
    f = decoded(arrays["codes"], low, high)
    _check(f)
    return FunctionDraws(f, arrays["chain"], float(arrays["noise_std"][0]))


def decoded(codes: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return function values of codes between the bounds of each test row."""
    return low + (high - low) * codes / LARGEST_CODE


def _check_arrays(arrays: Mapping[str, np.ndarray]) -> None:
    if set(arrays) != set(ARRAYS):
        raise Refused(f"draws.npz: needed {', '.join(ARRAYS)}; got {', '.join(sorted(arrays))}")
    codes, chain = arrays["codes"], arrays["chain"]
    if codes.dtype != np.uint16 or codes.ndim != 2:
        raise Refused(
            f"draws.npz, codes: needed draws x points of uint16; got {codes.dtype} of shape "
            f"{codes.shape}"
        )
    for name, shape in (("low", codes.shape[1:]), ("high", codes.shape[1:]), ("noise_std", (1,))):
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64:
            raise Refused(f"draws.npz, {name}: needed float64 of shape {shape}; got {array.shape}")
    if chain.shape != codes.shape[:1] or chain.dtype != np.uint8:
        raise Refused(f"draws.npz, chain: needed uint8 of {len(codes)} draws; got {chain.shape}")
    if not (np.isfinite(arrays["noise_std"]).all() and arrays["noise_std"][0] > 0):
        raise Refused(f"draws.npz, noise_std: needed a number above 0; got {arrays['noise_std']}")


def _check(f: np.ndarray) -> None:
    if len(f) < LEAST_DRAWS:
        raise Refused(f"draws.npz: needed at least {LEAST_DRAWS} draws; got {len(f)}")
    finite = np.isfinite(f).all(0)
    if not finite.all():
        raise Refused(f"draws.npz: the draws at test row {int(np.argmin(finite))} are not finite")
    varied = np.ptp(f, axis=0) > 0
    if not varied.all():
        row = int(np.argmin(varied))
        raise Refused(
            f"draws.npz: all draws at test row {row} are {f[0, row]}; a posterior of a noisy "
            "target varies"
        )
