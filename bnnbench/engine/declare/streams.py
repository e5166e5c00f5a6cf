"""Named random streams: a generator that depends on its arguments and nothing else."""

import hashlib

import torch

from bnnbench.engine.declare.description import canonical_json, describe


def stream(*names: object, device: torch.device | str = "cpu") -> torch.Generator:
    """Return the generator named by `names`: strings, numbers or frozen dataclasses.

    Equal names give equal streams on one kind of device; different names give independent ones.
    """
    text = canonical_json(describe(names))
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
    return torch.Generator(device).manual_seed(seed)
