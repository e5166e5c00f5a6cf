r"""The cost of decisions based on predictions: the action of minimum expected cost is taken.

$$ a(x) = \arg\min_a \sum_k p(k | x) C_{ak}, \qquad \text{cost } C_{a(x), y} $$

The cost matrices are fixed in advance, each under the name that suites use. Sources: Savage (1954),
"The Foundations of Statistics"; Elkan (2001), "The foundations of cost-sensitive learning".
"""

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, HasProbabilities
from bnnbench.methods.predictions.inversion import quantile

REJECTION = 0.2
"""Cost of rejecting a point, if a wrong class costs 1."""
ANIMALS = (2, 3, 4, 5, 6, 7)
"""The classes of CIFAR-10 that are animals; the others are vehicles."""
ACROSS = 5.0
"""Cost of confusing an animal with a vehicle; confusing two animals or two vehicles costs 1."""


def realised_cost(
    prediction: HasProbabilities,
    target: Int[Tensor, " points"],
    costs: Float64[Tensor, "actions classes"],
) -> Float64[Tensor, " points"]:
    """Return, for each target, the cost of the action of minimum expected cost (lowest of equals).

    `costs` has the cost of every action under every class, in any unit.
    """
    costs = costs.to(target.device)
    expected = prediction.mixture_log_probs.double().exp() @ costs.T
    cost = costs[expected.argmin(1), target.long()]
    return cost.where(~expected.isnan().any(1), torch.nan)


def cost_with_rejection(
    prediction: HasProbabilities, target: Int[Tensor, " points"], rejection: float = REJECTION
) -> Float64[Tensor, " points"]:
    """Return 0 for a correct class, 1 for a wrong one, and `rejection` for a rejected point.

    A point is rejected if the most probable class is wrong with more than this probability.
    Source: Chow (1970), "On optimum recognition error and reject tradeoff".
    """
    classes = prediction.mixture_log_probs.shape[1]
    wrong = 1 - torch.eye(classes, dtype=torch.float64)
    rejected = torch.full((1, classes), rejection, dtype=torch.float64)
    return realised_cost(prediction, target, torch.cat([wrong, rejected]))


def cost_of_kind(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    """Return 0 for a correct class of CIFAR-10, 1 within animals or vehicles and 5 across them.

    Raises `CannotAnswer` unless there are 10 classes.
    """
    if (classes := prediction.mixture_log_probs.shape[1]) != 10:
        raise CannotAnswer(f"needed the 10 classes of CIFAR-10; got {classes}")
    animal = torch.zeros(10, dtype=torch.bool)
    animal[list(ANIMALS)] = True
    costs = torch.where(animal[:, None] == animal, 1.0, ACROSS).double().fill_diagonal_(0)
    return realised_cost(prediction, target, costs)


def cost_of_distance(
    prediction: HasProbabilities, target: Int[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    """Return the distance |a - y| between the chosen class and the target.

    For classes that are numbers, such as digits; the median under the probabilities is chosen.
    """
    label = torch.arange(prediction.mixture_log_probs.shape[1], dtype=torch.float64)
    return realised_cost(prediction, target, (label[:, None] - label).abs())


def newsvendor_cost(
    prediction: object, target: Float[Tensor, "points outputs"], level: float
) -> Float64[Tensor, " points"]:
    r"""Return the cost of ordering $q$, the predictive quantile at `level`, averaged over outputs.

    $$ c_u \max(y - q, 0) + c_o \max(q - y, 0), \qquad \frac{c_u}{c_u + c_o} = \text{level} $$

    The smaller of the two costs is 1 per unit of the target, so that a level of 0.9 means a cost of
    9 for a unit too little and 1 for a unit too much. The quantile is the action of minimum
    expected cost. Raises `CannotAnswer` for a prediction without that quantile. Source: Arrow,
    Harris and Marschak (1951), "Optimal inventory policy".
    """
    short = target.double() - quantile(prediction, level)
    return (short * (level - (short < 0).double())).mean(1) / min(level, 1 - level)
