"""The time and memory of a whole fit on this machine, from a few of its steps."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rehearsal:
    """The cost of a step as measured, and that of the whole fit as it follows."""

    step_seconds: float
    """Wall-clock seconds of a step, as the fit carries it out."""
    steps: int
    """Steps of the whole fit."""
    peak_bytes: float
    """Memory of the device at the peak of the fit; 0 where it is not counted."""
    device_bytes: float
    """Memory that the device has; 0 where it is not counted."""
    difference: float | None
    """The largest difference between what was replayed from graphs and what was passed without,
    relative to the largest number; None where there are no graphs."""

    @property
    def minutes(self) -> float:
        """The minutes of the whole fit."""
        return self.steps * self.step_seconds / 60
