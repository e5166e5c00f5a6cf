"""Blocks of training rows that are held out in turn, and problems without them."""

import hashlib
import math
from dataclasses import dataclass, fields, replace
from typing import cast

import torch
from torch import Tensor

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.memo import content
from bnnbench.methods.fitting.starts import require_unseen
from bnnbench.methods.predictions.base import Predictive, require
from bnnbench.methods.predictions.predictive import RealPredictive

PARTS = 5
"""Number of parts of the rows; a block is one of them."""
ENOUGH_ROWS = 2000
"""Total number of rows to hold out, if there are enough."""
MOST_BLOCKS = 3
FEWEST_ROWS = 2 * PARTS
NEGLIGIBLE = 1e-4
"""Share of a feature's largest deviation below which it counts as constant without a block."""


@dataclass(frozen=True, kw_only=True)
class Units:
    """The standardisation of inputs, and of a single target, by a part of a problem's rows."""

    shift: Tensor
    scale: Tensor
    target_mean: float = 0.0
    target_std: float = 1.0

    def standardised(self, inputs: Tensor) -> Tensor:
        """Return inputs of the whole problem, standardised like those of the part."""
        return (inputs - self.shift) / self.scale

    def in_original_units(self, prediction: Predictive) -> Predictive:
        """Return a prediction of a fit to the part in the units of the whole problem."""
        return rescaled(prediction, self.target_mean, self.target_std)


@dataclass(frozen=True)
class HeldOut(Units):
    """A problem without a block of its rows, and that block.

    Inputs that are features, and single targets, are standardised in `problem` by its remaining
    rows; `block` is in the units of the whole problem. If the problem brings calibration rows, they
    are the block, and the problem is whole.
    """

    problem: Problem
    block: Split

    @property
    def inputs(self) -> Tensor:
        """The block's inputs, standardised like `problem`."""
        return self.standardised(self.block.inputs)

    @property
    def units(self) -> Units:
        """The standardisation without any rows."""
        names = (each.name for each in fields(Units))
        return Units(**{name: getattr(self, name) for name in names})


def rescaled(prediction: Predictive, mean: float, std: float) -> Predictive:
    """Return a prediction of mean + std * y; any prediction is kept for a mean of 0 and std of 1.

    Raises `CannotAnswer` for a prediction that cannot be rescaled.
    """
    if (mean, std) == (0.0, 1.0):
        return prediction
    require(prediction, "rescaled")
    return cast(RealPredictive, prediction).rescaled(mean, std)


def blocks_of(rows: int) -> int:
    """Return how many of five blocks to hold out: one to three, with 2,000 rows if possible."""
    return min(MOST_BLOCKS, max(1, math.ceil(ENOUGH_ROWS / max(rows // PARTS, 1))))


def held_out(problem: Problem, blocks: int) -> list[HeldOut]:
    """Return the problem without each of the first blocks of its rows.

    Each block is a fifth of the rows, in an order determined by the rows themselves; equal inputs
    are in one block. Rows outside all blocks, usually at most four, are always fitted. Calibration
    rows are the only block, if there are any. Raises `Unsupported` for fewer than ten rows, and for
    a problem with a start but without calibration rows. Weights from a module's file are taken to
    have been trained on other rows.
    """
    if problem.calibration is not None:
        zero = problem.train.inputs.new_zeros(())
        return [HeldOut(problem, problem.calibration, shift=zero, scale=zero + 1)]
    require_unseen(problem)
    count = len(problem.train)
    if count < FEWEST_ROWS:
        raise Unsupported(
            f"needed at least {FEWEST_ROWS} training rows, to hold some out; got {count}"
        )
    return [_without(problem, block) for block in _blocks(problem.train)[:blocks]]


def stream(*names: object, device: torch.device | str = "cpu") -> torch.Generator:
    """Return the stream determined by these names."""
    digest = hashlib.sha256(":".join(map(str, ("tuning", *names))).encode()).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest[:7], "big"))


def checksum(train: Split) -> str:
    """Return a digest of the rows."""
    return content(train.inputs, train.targets)


def rows_of(problem: Problem) -> tuple[str, ...]:
    """Return digests of the training rows, the calibration rows and the trained network, if any."""
    rows = tuple(checksum(s) for s in (problem.train, problem.calibration) if s is not None)
    return (*rows, content(problem.start.weights, problem.start.buffers)) if problem.start else rows


def _blocks(train: Split) -> list[Tensor]:
    """Return the rows of each block, in ascending order.

    A block takes whole groups of equal inputs, in random order, if they fit. It is smaller if no
    further group fits, and takes part of a group only if it would otherwise be empty.
    """
    inverse = torch.unique(train.inputs.flatten(1), dim=0, return_inverse=True)[1].cpu()
    members: list[list[int]] = [[] for _ in range(int(inverse.max()) + 1)]
    for row, group in enumerate(inverse.tolist()):
        members[group].append(row)
    order = torch.randperm(len(members), generator=stream("rows", checksum(train))).tolist()
    size, blocks, left = len(train) // PARTS, [], [members[group] for group in order]
    for _ in range(PARTS):
        block: list[int] = []
        passed: list[list[int]] = []
        for group in left:
            if len(block) + len(group) <= size:
                block += group
            else:
                passed.append(group)
        if not block:
            block, passed[0] = passed[0][:size], passed[0][size:]
        blocks.append(torch.tensor(sorted(block)))
        left = passed
    return blocks


def _without(problem: Problem, block: Tensor) -> HeldOut:
    """Return the problem without these rows."""
    train = problem.train
    remains = torch.ones(len(train), dtype=torch.bool)
    remains[block] = False
    block = block.to(train.inputs.device)
    fitted = train.rows(remains.nonzero().squeeze(1).to(train.inputs.device))
    shift, scale = _standardisation(fitted.inputs, train.inputs)
    inputs = (fitted.inputs - shift) / scale
    if train.targets.ndim != 2 or train.targets.shape[1] != 1:
        rows = replace(fitted, inputs=inputs)
        return HeldOut(replace(problem, train=rows), train.rows(block), shift=shift, scale=scale)
    mean, std = _standardisation(fitted.targets, train.targets)
    rows = replace(fitted, inputs=inputs, targets=(fitted.targets - mean) / std)
    likelihood = problem.likelihood
    if isinstance(likelihood, Gaussian) and likelihood.noise_std is not None:
        likelihood = Gaussian(likelihood.noise_std / float(std))
    zero = None if problem.target_zero is None else (problem.target_zero - float(mean)) / float(std)
    inner = replace(problem, train=rows, likelihood=likelihood, target_zero=zero)
    units = {"shift": shift, "scale": scale, "target_mean": float(mean), "target_std": float(std)}
    return HeldOut(inner, train.rows(block), **units)


def _standardisation(fitted: Tensor, of_all: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of each feature; 0 and 1 for images and constants.

    A feature that is constant only without the block loses its level.
    """
    if fitted.ndim != 2:
        return fitted.new_zeros(()), fitted.new_ones(())
    constant = _constant(fitted, of_all)
    level = torch.where(_constant(of_all, of_all), 0.0, fitted[0])  # intentionally 0 or 1
    mean, std = fitted.mean(0), fitted.std(0, correction=0)
    return torch.where(constant, level, mean), torch.where(constant, 1.0, std)


def _constant(rows: Tensor, of_all: Tensor) -> Tensor:
    """Return which features vary in `rows` by no more than rounding.

    Rounding is float32's, and `NEGLIGIBLE` times the largest deviation of all rows, since
    standardisation may have enlarged the rounding of the original numbers.
    """
    rows, of_all = rows.double(), of_all.double()
    rounding = 2 * torch.finfo(torch.float32).eps * rows.abs().amax(0)
    negligible = NEGLIGIBLE * (of_all - of_all.mean(0)).abs().amax(0)
    return rows.std(0, correction=0) <= rounding.maximum(negligible)
