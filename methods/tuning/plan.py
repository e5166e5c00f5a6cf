"""The fits of a search: its trials, lengths and blocks."""

from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.methods.base import Method
from bnnbench.methods.tuning.ladder import ladder
from bnnbench.methods.tuning.space import Space, configured, setting


@dataclass(frozen=True)
class Plan:
    """The fits of a search for problems of one shape."""

    method: Method
    space: Space
    settings: tuple[Mapping[str, object], ...]
    """Settings of each trial, by path."""
    places: tuple[Mapping[str, float], ...]
    """Position of each trial's settings in their distributions, from 0 to 1, by path."""
    lengths: tuple[int | None, ...]
    """Lengths, ascending; a single None for a method without a length."""
    blocks: int
    """Number of held-out blocks, out of five."""
    held_out_noise: bool
    """True if a regression's predictions use the noise of held-out rows."""
    held_out_temperature: bool
    """True if class probabilities use the best temperature for held-out rows."""
    halving: bool

    @property
    def trials(self) -> int:
        """The number of trials."""
        return len(self.settings)

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to choose."""
        return self.space.is_empty and not (self.held_out_noise or self.held_out_temperature)

    def variant(self, trial: int, rung: int) -> Method:
        """Return the method of a trial, at the length with this index in `lengths`."""
        chosen, length = dict(self.settings[trial]), self.lengths[rung]
        if length is not None:
            assert self.space.length
            chosen[self.space.length] = length
        return configured(self.method, chosen)

    def survivors(self, rung: int) -> int:
        """Return how many trials are fitted at a length."""
        above = len(self.lengths) - 1
        longest = max(1, self.trials >> above)
        return min(self.trials, longest << (above - rung)) if self.halving else self.trials


def lengths(
    method: Method, space: Space, given: tuple[int, ...], rows: int, updates: int
) -> tuple[int | None, ...]:
    """Return the lengths to try: those given, else the space's, else successive doublings."""
    if space.length is None:
        return (None,)
    if stated := given or space.lengths:
        return stated
    batch_size = ".".join([*space.length.split(".")[:-1], "batch_size"])
    return ladder(rows, setting(method, batch_size), updates)
