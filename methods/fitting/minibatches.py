"""Shuffled minibatches for networks that are trained side by side."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Shaped
from torch import Tensor

from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.randomness import Streams


def require_unaugmented(problems: Sequence[Problem], method: object) -> None:
    """Raise `Unsupported` for data with an augmentation, which the method cannot use."""
    if any(problem.train.augmentation for problem in problems):
        raise Unsupported(
            f"{type(method).__name__} needs fixed inputs; got inputs that are augmented at random: "
            "use the source without Augmented"
        )


class Rows:
    """The training rows of problems; rows shared by several problems are stored once.

    `first + k` is the index of each member's row k in `inputs` and `targets`.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        sizes = {len(problem.train) for problem in problems}
        if len(sizes) != 1:
            raise ValueError(f"needed equal numbers of rows within a stack; got {sizes}")
        (self.count,) = sizes
        if not self.count:
            raise ValueError("needed training rows; got none")
        distinct = {id(problem.train): problem.train for problem in problems}
        self.inputs = _joined([train.inputs for train in distinct.values()])
        self.targets = _joined([train.targets for train in distinct.values()])
        places = {name: position * self.count for position, name in enumerate(distinct)}
        self.first = torch.tensor(
            [[places[id(problem.train)]] for problem in problems], device=self.inputs.device
        )


def batch_sizes(rows: int, batch_size: int, least: int = 1) -> list[int]:
    """Return the sizes of the batches of these rows, none of them below `least`.

    A smaller last batch joins the one before. Raises `Unsupported` if every batch is too small.
    """
    if min(rows, batch_size) < least:
        raise Unsupported(
            f"needed at least {least} rows in a batch, for the network's batch norm; got "
            f"{min(rows, batch_size)}: raise batch_size, use more rows, or another norm"
        )
    whole, rest = divmod(rows, batch_size)
    sizes = [batch_size] * whole
    if rest >= least:
        return [*sizes, rest]
    return [*sizes[:-1], batch_size + rest] if rest else sizes


class Minibatches:
    """The training rows of each member's problem, shuffled by the member's own stream.

    Every epoch contains each row once. The last batch may be smaller, but one of fewer than `least`
    rows joins the batch before it. An augmentation of the data draws from the same stream.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
        batch_size: int,
        least: int = 1,
    ) -> None:
        self._pool = Rows(problems)
        self._augmentations = [problem.train.augmentation for problem in problems]
        self.rows = self._pool.count
        self.streams = Streams(rngs)
        self.batch_size = min(batch_size, self.rows)
        self.sizes = batch_sizes(self.rows, self.batch_size, least)

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return len(self.sizes)

    def epoch(
        self, members: int | None = None
    ) -> Iterator[
        tuple[Shaped[Tensor, "members batch *features"], Shaped[Tensor, "members batch *target"]]
    ]:
        """Yield one epoch's batches of inputs and targets, for the first members or for all."""
        streams = self.streams.first(len(self.streams) if members is None else members)
        drawn = [
            torch.randperm(self.rows, generator=rng, device=rng.device) for rng in streams.distinct
        ]
        order = self._pool.first[: len(streams)] + streams.to_members(torch.stack(drawn))
        for index in order.split(self.sizes, dim=1):
            rows = index.flatten()
            inputs = self._pool.inputs.index_select(0, rows).unflatten(0, index.shape)
            yield (
                self._augmented(inputs, streams),
                self._pool.targets.index_select(0, rows).unflatten(0, index.shape),
            )

    def _augmented(self, inputs: Tensor, streams: Streams) -> Tensor:
        """Return each member's inputs after augmentation.

        Members that share a stream must have separate copies of it here.
        """
        if not any(self._augmentations):
            return inputs
        if len(streams.distinct) < len(streams):
            raise ValueError("members with an augmentation need separate streams")
        pairs = zip(inputs, self._augmentations, streams.of_members, strict=False)
        return torch.stack([change(x, rng) if change else x for x, change, rng in pairs])


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """Return the rows of all tensors, without copying if there is only one tensor."""
    return tensors[0] if len(tensors) == 1 else torch.cat(list(tensors))
