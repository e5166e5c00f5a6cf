"""Draws of whole functions as a small file: one row per draw, 16 bits per value."""

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from bnnbench.datasets.reading import npz
from bnnbench.datasets.references.certificate import Refused

LARGEST_CODE = 65_535
LEAST_DRAWS = 400
KEPT_DRAWS = 1000
"""Number of stored draws, taken evenly from all chains."""
GROUPS, GROUP_SIZE, DIRECTIONS = 100, 5, 64
ARRAYS = ("codes", "low", "high", "chain", "noise_std", "groups", "directions")


@dataclass(frozen=True)
class FunctionDraws:
    """Function values at the test rows, in standardised target units; draws chain by chain."""

    f: Float[np.ndarray, "draws points"]
    chain: UInt8[np.ndarray, " draws"]
    noise_std: float
    groups: Int[np.ndarray, "groups size"]
    """Groups of test rows for joint scores, drawn once."""
    directions: Float[np.ndarray, "directions points"]
    """Unit vectors along which whole functions are compared, drawn once."""

    @property
    def by_chain(self) -> Float[np.ndarray, "chains draws_of_one points"]:
        """The draws of each chain.

        Raises `Refused` if chains have different numbers of draws or are out of order.
        """
        labels, counts = np.unique(self.chain, return_counts=True)
        if len(set(counts.tolist())) != 1 or (np.diff(self.chain.astype(int)) < 0).any():
            raise Refused(f"needed equally many draws from each chain, in order; got {counts}")
        return self.f.reshape(len(labels), counts[0], -1)


def thinned(
    f: Float[np.ndarray, "chains draws_of_one points"], noise_std: float, keep: int = KEPT_DRAWS
) -> FunctionDraws:
    """Return `keep` draws, evenly from all chains and all iterations of a chain.

    Groups of test rows and directions are drawn with a fixed seed and stored with the draws.

    Raises ValueError if the chains cannot contribute equally.
    """
    chains, count, points = f.shape
    each = keep // chains
    if keep % chains or each > count:
        raise ValueError(f"needed {keep} draws, equally many from {chains} chains of {count}")
    step = count // each
    kept_iterations = step * np.arange(1, each + 1) - 1
    chain = np.repeat(np.arange(chains, dtype=np.uint8), each)
    rng = np.random.default_rng(0)
    size = min(GROUP_SIZE, points)
    groups = np.stack([rng.choice(points, size, replace=False) for _ in range(GROUPS)])
    directions = rng.normal(size=(DIRECTIONS, points))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    functions = f[:, kept_iterations].reshape(keep, points)
    return FunctionDraws(functions, chain, noise_std, groups, directions.astype(np.float32))


def pack(draws: FunctionDraws) -> bytes:
    """Return the bytes of `draws.npz`; raises `Refused` for draws that must not be stored."""
    _check(draws.f)
    low, high = draws.f.min(0), draws.f.max(0)
    codes = np.rint((draws.f - low) / (high - low) * LARGEST_CODE).astype(np.uint16)
    buffer = io.BytesIO()
    arrays = {
        "codes": codes,
        "low": low,
        "high": high,
        "chain": draws.chain,
        "noise_std": np.array([draws.noise_std]),
        "groups": draws.groups.astype(np.uint16),
        "directions": draws.directions.astype(np.float32),
    }
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def unpack(content: bytes) -> FunctionDraws:
    r"""Return the draws, $f = low + (high - low)\, code / 65535$.

    Raises `Refused` for content that `pack` cannot have written.
    """
    try:
        arrays = npz.arrays_of(content, ARRAYS)
    except Exception as error:  # zip and NumPy raise many kinds of errors
        raise Refused(f"draws.npz cannot be read: {error}") from error
    _check_arrays(arrays)
    low, high = arrays["low"], arrays["high"]
    f = decoded(arrays["codes"], low, high)
    _check(f)
    return FunctionDraws(
        f,
        arrays["chain"],
        float(arrays["noise_std"][0]),
        arrays["groups"].astype(np.int64),
        arrays["directions"],
    )


def decoded(codes: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return function values from codes, given each test row's bounds."""
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
        if not np.isfinite(array).all():
            raise Refused(f"draws.npz, {name}: its values are not finite")
    if chain.shape != codes.shape[:1] or chain.dtype != np.uint8:
        raise Refused(f"draws.npz, chain: needed uint8 of {len(codes)} draws; got {chain.shape}")
    if not arrays["noise_std"][0] > 0:
        raise Refused(f"draws.npz, noise_std: needed a number above 0; got {arrays['noise_std']}")
    groups, directions = arrays["groups"], arrays["directions"]
    if groups.dtype != np.uint16 or groups.ndim != 2 or (groups >= codes.shape[1]).any():
        raise Refused(f"draws.npz, groups: needed test rows 0 to {codes.shape[1] - 1}, as uint16")
    if directions.dtype != np.float32 or directions.shape[1:] != codes.shape[1:]:
        raise Refused(
            f"draws.npz, directions: needed float32 vectors over {codes.shape[1]} test rows; got "
            f"{directions.shape}"
        )


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
            f"draws.npz: all draws at test row {row} are {f[0, row]}, but a posterior given "
            "noisy targets varies"
        )
