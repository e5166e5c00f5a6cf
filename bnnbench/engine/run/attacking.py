"""Test inputs after attacks: on a posterior, or on a surrogate in its place."""

from collections.abc import Mapping

import torch
from torch import Tensor

from bnnbench.datasets.base import Dataset, Split
from bnnbench.datasets.conditions.base import Condition
from bnnbench.engine.declare.attacks import Attack
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.declare.streams import stream
from bnnbench.engine.run.guards.data_guard import unchanged_data
from bnnbench.engine.run.states import Fitted
from bnnbench.methods.base import differentiable
from bnnbench.metrics import ATTACKED


def needs_targets(condition: Condition) -> bool:
    """Return whether a condition follows the gradient of the posterior's loss at test targets."""
    return isinstance(condition, Attack) and condition.surrogate is None


def transferred(condition: Attack, run: Run, data: Dataset, device: torch.device) -> Tensor:
    """Return the inputs after an attack on its surrogate, equal for all methods and seeds.

    Raises `NotDifferentiable`.
    """
    assert condition.surrogate is not None
    split = condition.select(data)
    followed = condition.surrogate.fitted(run.source, run.fold, device)
    rng = stream("attack", run.source, run.fold, condition.family, device=device)
    perturbed = unchanged_data(condition.perturbed, split)
    return perturbed(followed, split.to(device), data.scaling, rng).inputs


def attacked(
    fitted: Fitted, condition: Attack, split: Split, device: torch.device
) -> tuple[Tensor, Mapping[str, float]]:
    """Return the inputs after an attack on a posterior, and scores of the gradient it followed.

    Raises `NotDifferentiable`.
    """
    run = fitted.loaded.run
    followed = differentiable(fitted.posterior)
    rng = stream("attack", run.source, run.fold, run.seed, condition.family, device=device)
    perturbed = unchanged_data(condition.perturbed, split)
    result = perturbed(followed, split.to(device), fitted.loaded.data.scaling, rng)
    gradient = result.gradient.cpu()
    scores = {n: float(m.score(gradient, split.targets).mean()) for n, m in ATTACKED.items()}
    return result.inputs, scores
