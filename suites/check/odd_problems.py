"""Fifteen odd problems, each a small problem of `problems` with one thing changed."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.networks.architectures import BatchNorm
from bnnbench.suites.check.problems import stream
from bnnbench.suites.check.small import SMALL

FEATURES, ROWS = 500, 37
"""Features of the problem with many, and its rows, which are those of the ordinary problems."""


@dataclass(frozen=True)
class Odd:
    """A change of a problem, or of the inputs whose targets are predicted."""

    meaning: str
    """A phrase that says what is odd."""
    change: Callable[[Problem], Problem] = lambda problem: problem
    inputs: Callable[[Tensor], Tensor] = lambda inputs: inputs
    of_classes: bool | None = None
    """True if it needs classes, False if it needs real targets; None if it takes both."""

    def applies(self, problem: Problem) -> bool:
        """Return whether the problem has the kind of targets that the change needs."""
        return self.of_classes in (None, isinstance(problem.likelihood, Categorical))


def with_inputs(change: Callable[[Tensor], Tensor]) -> Callable[[Problem], Problem]:
    """Return the change of a problem that replaces its training inputs."""
    return lambda problem: _with(
        problem, Split(change(problem.train.inputs), problem.train.targets)
    )


def with_targets(change: Callable[[Tensor], Tensor]) -> Callable[[Problem], Problem]:
    """Return the change of a problem that replaces its training targets."""
    return lambda problem: _with(
        problem, Split(problem.train.inputs, change(problem.train.targets))
    )


def with_rows(rows: int) -> Callable[[Problem], Problem]:
    """Return the change of a problem that leaves its first rows."""
    return lambda p: _with(p, p.train.rows(slice(rows)))


def _with(problem: Problem, train: Split) -> Problem:
    return dataclasses.replace(problem, train=train)


def _many_features(inputs: Tensor) -> Tensor:
    return torch.randn(len(inputs), FEATURES, generator=stream(7), dtype=inputs.dtype)


def _constant_column(inputs: Tensor) -> Tensor:
    return torch.cat([inputs[:, :-1], torch.full_like(inputs[:, -1:], 5.0)], 1)


def _outlier(targets: Tensor) -> Tensor:
    return torch.cat([1e3 + targets[:1], targets[1:]])


def _scaled(factor: float) -> Callable[[Problem], Problem]:
    """Return the change that multiplies inputs and real targets."""

    def change(problem: Problem) -> Problem:
        inputs, targets = problem.train.inputs, problem.train.targets
        scaled = factor * targets if targets.is_floating_point() else targets
        return _with(problem, Split(factor * inputs, scaled))

    return change


def _lone_row(problem: Problem) -> Problem:
    """Return the problem of a network with batch norm whose last batch has one row."""
    *before, last = problem.architecture
    network = (*before, BatchNorm(), last) if before else (BatchNorm(), last)
    part = problem.train.rows(slice(SMALL["batch_size"] + 1))
    return dataclasses.replace(problem, train=part, architecture=network)


ODD: Mapping[str, Odd] = {
    "few rows": Odd("five training rows", with_rows(5)),
    "one row": Odd("a single training row", with_rows(1)),
    "one row more than a batch": Odd("a batch norm, and a lone row in the last batch", _lone_row),
    "duplicated rows": Odd(
        "equal inputs in all rows", with_inputs(lambda x: x[:1].expand_as(x).clone())
    ),
    "one feature": Odd("a single feature", with_inputs(lambda x: x[:, :1])),
    "many features": Odd(f"{FEATURES} features in {ROWS} rows", with_inputs(_many_features)),
    "constant column": Odd("a feature that is 5 in all rows", with_inputs(_constant_column)),
    "constant target": Odd(
        "the target 1 in all rows", with_targets(torch.ones_like), of_classes=False
    ),
    "huge scale": Odd("inputs and real targets times a million", _scaled(1e6)),
    "tiny scale": Odd("inputs and real targets divided by a million", _scaled(1e-6)),
    "outlier": Odd(
        "a target that is a thousand deviations away", with_targets(_outlier), of_classes=False
    ),
    "missing class": Odd(
        "three classes, of which rows have two", with_targets(lambda y: y.clamp(max=1)),
        of_classes=True,
    ),
    "one class": Odd(
        "three classes, of which rows have one", with_targets(torch.ones_like), of_classes=True
    ),
    "far inputs": Odd("predictions at inputs times a hundred", inputs=lambda x: 100 * x),
    "no rows to predict": Odd("predictions for no inputs", inputs=lambda x: x[:0]),
}  # fmt: skip
"""Name → the odd problem."""
