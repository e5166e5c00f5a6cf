"""An ensemble of networks that were trained elsewhere: several files of weights, one network."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import torch

from bnnbench.methods.base import (
    InferenceDiverged,
    Method,
    Posterior,
    Problem,
)
from bnnbench.methods.card import Card
from bnnbench.methods.ensemble import mixture_or_failure
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.starts import start_of_problem
from bnnbench.methods.given import Given
from bnnbench.methods.networks.modules.trained import start_of_file
from bnnbench.methods.post_hoc.around import Around
from bnnbench.methods.tuning.fits import fit_all


@dataclass(frozen=True)
class Checkpoints(Around):
    """The equal-weight mixture of a method's posteriors around each file's weights."""

    card: ClassVar[Card] = Card(
        around="it is fitted around each of several trained networks, and averaged",
        trained=True,
    )

    files: tuple[str, ...] = ()
    """Files with state dictionaries of the problem's network; none: the network that it brings."""
    sha256: tuple[str, ...] = ()
    """Checksums of the files, filled in; a file with another checksum is rejected."""
    method: Method = field(default_factory=Given)
    """The method that is fitted around each network."""

    def __post_init__(self) -> None:
        for file in self.files:
            if not Path(file).is_file():
                raise ValueError(f"Checkpoints: there is no file of weights {file}")
        sums = tuple(_digest(file) for file in self.files)
        if self.sha256 and self.sha256 != sums:
            raise ValueError(f"Checkpoints: a file has changed: needed {self.sha256}; got {sums}")
        object.__setattr__(self, "sha256", sums)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the mixture for each problem; raises ValueError for files that do not fit it."""
        first = problems[0]
        read = [start_of_file(first.architecture, first.input_shape, f) for f in self.files]
        starts = [read or [start_of_problem(problem)] for problem in problems]
        members = [replace(p, start=start) for p, several in zip(problems, starts, strict=True)
                   for start in several]  # fmt: skip
        streams = [child for rng in rngs for child in spawn(rng, len(starts[0]))]
        fitted = fit_all([self.method] * len(members), members, streams).results
        size = len(starts[0])
        return [
            mixture_or_failure(fitted[place : place + size])
            for place in range(0, len(fitted), size)
        ]


def _digest(file: str) -> str:
    with Path(file).open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
