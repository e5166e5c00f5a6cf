"""Active learning: choose the pool rows to label next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.predictions.predictive import RealPredictive
from bnnbench.metrics.uncertainty import entropy, mutual_information
from bnnbench.wording import did_you_mean


def total_variance(prediction: RealPredictive) -> Float64[Tensor, " points"]:
    """Return the predictive variance, summed over outputs.

    Under homoscedastic noise it is greatest where the function's variance is, which is also where a
    label is most informative (paper 004, section 5.4).
    """
    return prediction.variance.double().sum(1)


RULES: Mapping[str, Callable[[Any], Tensor] | None] = {
    "random": None,
    "variance": total_variance,
    "entropy": entropy,
    "bald": mutual_information,
}
"""Rule → score; the rows with the greatest scores are acquired. BALD: Houlsby et al. (2011).

BALD measures disagreement among draws: for a single draw it is 0 everywhere, so the choice is
random.
"""


@dataclass(frozen=True)
class Acquisition:
    """In each of `rounds` rounds, the `batch` rows with the greatest scores are acquired.

    Training restarts after each round, so there are rounds + 1 fits.
    """

    rule: str
    rounds: int = 9
    batch: int = 1

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            hint = did_you_mean(self.rule, RULES) or f"known are {', '.join(RULES)}"
            raise ValueError(f"{self.rule!r} is not an acquisition rule; {hint}")
        if self.rounds < 1 or self.batch < 1:
            raise ValueError(
                f"rounds and batch must be at least 1; got {self.rounds}, {self.batch}"
            )
