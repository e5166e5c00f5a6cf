"""The draws of a prediction, if they are functions of the input."""

from typing import Any

from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, HasDrawLogProbs

SINGLE = (
    "it has one draw, from which nobody can tell how its predictions at several points depend on "
    "each other"
)


def draw_log_probs(prediction: Any, target: Tensor) -> Float64[Tensor, "draws points"]:
    r"""Return $\log p(y_n \mid x_n, \theta_s)$ for two or more draws, in nats.

    Raises `CannotAnswer` for a prediction without draws that are functions of the input: the
    product of its marginals would score another prediction.
    """
    if not isinstance(prediction, HasDrawLogProbs):
        raise CannotAnswer(f"{type(prediction).__name__} has no draws, only marginals")
    log_probs = prediction.draw_log_probs(target)
    if len(log_probs) < 2:
        raise CannotAnswer(SINGLE)
    return log_probs
