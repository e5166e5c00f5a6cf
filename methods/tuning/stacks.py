"""Methods that fit several settings side by side."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem


@runtime_checkable
class Variants(Protocol):
    """A method whose `fit_variants` fits member m with `variants[m]` to `problems[m]`."""

    def fit_variants(
        self, variants: Sequence[Any], problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return each member's separate fit; members with the same stream draw the same numbers."""
        ...
