"""The random generators that a whole process shares, which no code of the project may move."""

import numpy as np
import torch


def states() -> tuple[object, ...]:
    """Return the states of those of NumPy and torch, to be compared."""
    numpy = str(np.random.get_state())  # noqa: NPY002 (it is the one in question)
    return numpy, torch.get_rng_state().tolist()
