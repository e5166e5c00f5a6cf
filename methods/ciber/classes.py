r"""Class probabilities, exact over a box of last-layer weights.

The probability of class k is the logistic function of its logit minus the log of the sum of the
others' exponentials; the box moves only the logit.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.ciber.samples import Dense, Samples
from bnnbench.methods.fitting.settings import require_choice
from bnnbench.methods.integration.integrals import mean_weight
from bnnbench.methods.integration.logistic import log_mean_logistic
from bnnbench.methods.integration.sums import SumOfUniforms
from bnnbench.methods.integration.weights import SMOOTHSTEP_REACH, smoothstep

Logistic = Literal["exact", "cubic"]


@dataclass(frozen=True)
class ClassWeights:
    """The weights of the last layer that a classifier collapses, and their integral.

    "exact": one weight per class, point and sample, the one with the largest range times magnitude,
    under the logistic function itself. "cubic": the weights with the largest variance along the
    trajectory, as many as classes, under the smoothstep cubic.
    """

    logistic: Logistic = "exact"
    normalised: bool = True
    """True divides a sample's probabilities by their sum; otherwise they are not a distribution,
    and suites reject them.
    """

    def __post_init__(self) -> None:
        require_choice(self, "logistic", get_args(Logistic))


def require_few_classes(weights: ClassWeights, classes: int) -> None:
    """Raise `Unsupported` if the cubic may give every class a probability of 0."""
    most = int(torch.tensor(SMOOTHSTEP_REACH).exp()) + 1
    if weights.logistic == "cubic" and classes > most:
        raise Unsupported(
            f'needed at most {most} classes for the cubic, or logistic="exact"; got {classes}'
        )


def log_probabilities(
    samples: Samples, weights: ClassWeights, inputs: Float[Tensor, "points *features"]
) -> Float[Tensor, "samples points classes"]:
    """Return the log probabilities of each sample, with gradients, in the weights' precision."""
    layer, hidden = samples.dense(-1), samples.features(inputs, -1)
    logits = layer(hidden)
    if logits.shape[-1] == 1:
        return logits - logits  # the only class is certain
    against = logits - _log_sum_of_others(logits)
    class_log_means = _exact if weights.logistic == "exact" else _cubic
    log_probs = class_log_means(layer, hidden, against)
    if weights.normalised:
        log_probs = log_probs - log_probs.logsumexp(-1, keepdim=True)
    return log_probs.to(logits.dtype)


def _exact(layer: Dense, hidden: Tensor, against: Tensor) -> Tensor:
    lower, upper = layer.weight_box.lower, layer.weight_box.upper
    ends = []
    for k in range(against.shape[-1]):
        position = (hidden.abs() * (upper - lower)[k]).argmax(-1, keepdim=True)
        z = hidden.gather(-1, position)
        weight = layer.weight[:, None, k].expand(*hidden.shape).gather(-1, position)
        bounds = torch.cat([lower[k][position], upper[k][position]], -1)
        ends.append(against[..., k : k + 1] + z * (bounds - weight))
    ends_of_interval = torch.stack(ends, -2)
    return log_mean_logistic(ends_of_interval.amin(-1), ends_of_interval.amax(-1))


def _cubic(layer: Dense, hidden: Tensor, against: Tensor) -> Tensor:
    box = layer.weight_box
    classes, width = box.variance.shape
    best = box.variance.flatten().topk(min(classes, classes * width)).indices
    rows, columns = best // width, best % width
    class_means = []
    for k in range(classes):
        in_class = columns[rows == k]
        z = hidden[..., in_class]
        moves = z * (box.middle[k, in_class] - layer.weight[:, None, k, in_class])
        logit = SumOfUniforms(against[..., k] + moves.sum(-1), z.abs() * box.width[k, in_class])
        class_means.append(mean_weight(logit, smoothstep()).clamp(0.0, 1.0))
    return torch.stack(class_means, -1).log()


def _log_sum_of_others(logits: Tensor) -> Tensor:
    """Return the log of the sum of the exponentials of all other classes' logits."""
    none = torch.full_like(logits[..., :1], -torch.inf)
    before = torch.cat([none, logits.logcumsumexp(-1)[..., :-1]], -1)
    behind = torch.cat([logits.flip(-1).logcumsumexp(-1).flip(-1)[..., 1:], none], -1)
    return torch.logaddexp(before, behind)
