"""State dictionaries: read from files without running code, and compared with a network."""

import pickle
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

NESTED = ("state_dict", "model_state_dict", "model")
"""Keys under which training loops store the state dictionary beside other values."""
PREFIXES = ("module.", "_orig_mod.")
"""Prefixes of names by `nn.DataParallel` and `torch.compile`."""
MOST_NAMES = 20
"""Maximum number of names in a clause of an error."""


@dataclass(frozen=True)
class Expected:
    """Shape and type of a tensor that a network needs."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, tensor: Tensor) -> "Expected":
        """Return a tensor's shape and type."""
        return cls(tuple(tensor.shape), tensor.dtype)


def loaded_state(file: str, kinds: Sequence[type] = ()) -> dict[str, Tensor]:
    """Return the state dictionary of a file by `torch.save`, or of a file `*.safetensors`.

    The file may hold it beside other values, as training loops store it, or hold a whole module
    whose classes are among `kinds` or in `torch.nn`. Nothing in it is executed
    (`torch.load(..., weights_only=True)`). Raises ValueError for any other file, and
    ImportError without safetensors.
    """
    content = _of_safetensors(file) if file.endswith(".safetensors") else _of_torch(file, kinds)
    content = content.state_dict() if isinstance(content, nn.Module) else content
    if isinstance(content, Mapping):
        nested = (content[key] for key in NESTED if isinstance(content.get(key), Mapping))
        content = next(nested, content)
    if not (isinstance(content, Mapping) and content and all(map(_is_named, content.items()))):
        kind = type(content).__name__
        raise ValueError(f"{file} has no state dictionary of tensors, but a {kind}: {CURE}")
    return _without_prefix(dict(content))


CURE = "save torch.save(network.state_dict(), FILE)"


def compared(
    state: Mapping[str, Tensor],
    expected: Mapping[str, Expected],
    origin: str,
    network: str,
    optional: Collection[str] = (),
    cure: str = "",
) -> None:
    """Raise ValueError, with all names, unless a state dictionary has the expected tensors.

    `optional` names may be in it, or not.
    """
    needed = [name for name in expected if name not in optional]
    both = [(n, Expected.of(state[n]), expected[n]) for n in needed if n in state]
    faults = {
        "it lacks": [name for name in needed if name not in state],
        "it has the unknown": [n for n in state if n not in expected and n not in optional],
        "it has other shapes of": [
            f"{name} {one.shape} instead of {other.shape}"
            for name, one, other in both
            if one.shape != other.shape
        ],
        "it has other types of": [
            f"{name} {one.dtype} instead of {other.dtype}"
            for name, one, other in both
            if one.dtype != other.dtype
        ],
    }
    clauses = [f"{fault} {_listed(names)}" for fault, names in faults.items() if names]
    if clauses:
        raise ValueError(f"{origin} does not fit {network}: {'; '.join(clauses)}{cure}")


def _of_torch(file: str, kinds: Sequence[type]) -> Any:
    layers = [kind for kind in vars(nn).values() if isinstance(kind, type)]
    try:
        with torch.serialization.safe_globals([*layers, *kinds, set]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old pickles, which then fail
            return torch.load(file, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, KeyError, ValueError) as error:
        (reason, *_) = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(
            f"{file} cannot be read without running code in it, or is no file by torch.save: "
            f"{CURE} ({reason})"
        ) from error


def _of_safetensors(file: str) -> Any:
    try:
        from safetensors.torch import load_file
    except ImportError as error:
        raise ImportError(f"{file} needs safetensors: pip install safetensors") from error
    try:
        return load_file(Path(file))
    except Exception as error:  # the package raises its own type of error
        raise ValueError(f"{file} is no file of safetensors: {error}") from error


def _is_named(item: tuple[object, object]) -> bool:
    return isinstance(item[0], str) and isinstance(item[1], Tensor)


def _without_prefix(state: dict[str, Tensor]) -> dict[str, Tensor]:
    for prefix in PREFIXES:
        if all(name.startswith(prefix) for name in state):
            state = {name.removeprefix(prefix): tensor for name, tensor in state.items()}
    return state


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
