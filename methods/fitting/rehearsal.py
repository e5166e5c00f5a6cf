"""Time and memory of a whole fit on this machine, estimated from a few of its steps."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rehearsal:
    """The measured cost of a step, and the resulting cost of the whole fit."""

    step_seconds: float
    """Wall-clock seconds of a step, as run in the fit."""
    steps: int
    """Steps of the whole fit."""
    peak_bytes: float
    """Peak device memory of the fit; 0 if it is not counted."""
    device_bytes: float
    """Total memory of the device; 0 if it is not counted."""
    difference: float | None
    """The largest difference between results replayed from graphs and computed without them,
    relative to the largest number; None if there are no graphs."""

    @property
    def minutes(self) -> float:
        """The minutes of the whole fit."""
        return self.steps * self.step_seconds / 60
