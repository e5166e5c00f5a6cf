"""Acquisition strategies of active learning: one method with several ways to acquire rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.engine.records.record import Record


@dataclass(frozen=True)
class Arm:
    """One acquisition strategy: its method, its own name and its rule."""

    method: str
    name: str
    rule: str

    @property
    def random(self) -> bool:
        """True for the strategy that the others are compared with."""
        return self.rule == "random"


def arm_of(label: str, run: Record) -> Arm | None:
    """Return the strategy in a table's row, given one of its runs; None without active learning.

    `label` may add settings to the run's own label.
    """
    acquisition = run.run.get("acquisition")
    if not isinstance(acquisition, Mapping):
        return None
    method = run.method[: -len(run.strategy) - 1]
    return Arm(method + label[len(run.method) :], run.strategy, str(acquisition.get("rule")))
