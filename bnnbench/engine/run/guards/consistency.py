"""Third-party predictions checked against themselves, on a random sample of the rows.

A score believes what a prediction says of itself, so that a density of mass 2 would win.
"""

import math
import secrets
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from bnnbench.engine.run.guards.real_answers import TOLERANCE, RealAnswers, far, has, refuse
from bnnbench.methods.predictions.base import CannotAnswer

ROWS = 64
"""Maximum number of rows whose answers are checked."""


def check_consistent(prediction: Any, targets: Tensor) -> None:
    """Raise `Inconsistent` if answers of a prediction contradict each other.

    `targets` say where the density matters, and how the scored numbers are spread.
    """
    rng = torch.Generator().manual_seed(secrets.randbits(63))
    if not len(targets):
        return
    if not targets.is_floating_point():
        _check_classes(prediction, targets)
        return
    rows = torch.randperm(len(targets), generator=rng)[:ROWS]
    RealAnswers(prediction, targets.double(), rows, rng).check()


def hide(prediction: Any, targets: Tensor) -> None:
    """Let a class in another process be asked about numbers among which the targets are hidden."""
    if hide_among := getattr(prediction, "hide_among", None):
        hide_among(targets)


def settle(prediction: Any) -> None:
    """Let the process of a class end once its prediction is scored, if it is in another one.

    Raises an error if the class gave two answers to one question.
    """
    if settled := getattr(prediction, "settle", None):
        settled()


def _check_classes(prediction: Any, targets: Tensor) -> None:
    """Compare the log probability of every class with those of the mixture and of its draws."""
    if not has(prediction, "log_prob"):
        return
    try:
        prediction.log_prob(targets)
    except Exception:
        return  # as a metric that needs it says
    if not has(prediction, "mixture_log_probs"):
        _check_sum(prediction, targets)
        return
    log_probs = prediction.mixture_log_probs.double()
    for label in range(log_probs.shape[1]):
        asked, stated = torch.full_like(targets, label), log_probs[:, label]
        if far(prediction.log_prob(asked).double(), stated):
            refuse(prediction, f"log_prob of class {label} is not that of mixture_log_probs")
        with suppress(CannotAnswer):
            if not has(prediction, "draw_log_probs"):
                continue
            draws = prediction.draw_log_probs(asked).double()
            if far(draws.logsumexp(0) - math.log(len(draws)), stated):
                refuse(prediction, f"draw_log_probs of class {label} do not average to log_prob")
    if has(prediction, "expected_entropy"):
        entropy = -torch.where(log_probs.isinf(), 0.0, log_probs.exp() * log_probs).sum(1)
        expected = prediction.expected_entropy.double()
        if ((expected > entropy + TOLERANCE) | (expected < -TOLERANCE)).any():
            refuse(prediction, "expected_entropy is below 0 or above the entropy of the mixture")


def _check_sum(prediction: Any, targets: Tensor) -> None:
    """Require that the probabilities of all classes among the targets sum to 1 at most."""
    labels = range(int(targets.max()) + 1)
    answers = [prediction.log_prob(torch.full_like(targets, label)).double() for label in labels]
    total = torch.stack(answers).logsumexp(0).exp()
    if bool((total > 1 + TOLERANCE).any()):
        refuse(
            prediction, f"its probabilities of classes sum to {float(total.max()):.3g}, not to 1"
        )
