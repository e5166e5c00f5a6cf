"""Targets that a prediction holds to be impossible, as far as it says so."""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def is_possible(
    prediction: Any, target: Float[Tensor, "points outputs"]
) -> Bool[Tensor, "points 1"]:
    """Return whether targets can occur, as far as is known: not beyond all samples."""
    if not hasattr(prediction, "log_prob"):
        unknown = not hasattr(prediction, "samples")
        return torch.full((len(target), 1), unknown, device=target.device)
    return prediction.log_prob(target.double())[:, None] > -math.inf
