"""Shuffled minibatches for networks that are trained side by side."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Shaped
from torch import Tensor

from methods.base import Problem


class Minibatches:
    """The training rows of each member's problem, shuffled by the member's own stream.

    Every epoch shows each row once; the last batch may be smaller.
    """

    def __init__(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator], batch_size: int
    ) -> None:
        sizes = {len(problem.train) for problem in problems}
        if len(sizes) != 1:
            raise ValueError(f"problems of one stack have equal numbers of rows, not {sizes}")
        (self.rows,) = sizes
        self.rngs = tuple(rngs)
        self.batch_size = min(batch_size, self.rows)
        distinct = {id(problem.train): problem.train for problem in problems}
        self._inputs = _stack([train.inputs for train in distinct.values()])
        self._targets = _stack([train.targets for train in distinct.values()])
        places = {name: place for place, name in enumerate(distinct)}
        self._place = torch.tensor(
            [[places[id(problem.train)]] for problem in problems], device=self._inputs.device
        )

    def __len__(self) -> int:
        """How many batches an epoch has."""
        return -(-self.rows // self.batch_size)

    def epoch(
        self,
    ) -> Iterator[
        tuple[Shaped[Tensor, "members batch *features"], Shaped[Tensor, "members batch *target"]]
    ]:
        """Yield one epoch's batches of inputs and targets."""
        order = torch.stack(
            [torch.randperm(self.rows, generator=rng, device=rng.device) for rng in self.rngs]
        )
        for index in order.split(self.batch_size, dim=1):
            if len(self.rngs) == 1:  # a plain row gather is the fastest for images
                yield self._inputs[0][index[0]][None], self._targets[0][index[0]][None]
            else:
                yield self._inputs[self._place, index], self._targets[self._place, index]


def _stack(tensors: Sequence[Tensor]) -> Tensor:
    """Stack without copying where there is only one."""
    return tensors[0][None] if len(tensors) == 1 else torch.stack(list(tensors))
