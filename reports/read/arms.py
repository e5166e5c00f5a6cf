"""The arms of active learning: one method, several ways to acquire rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.suites.engine.store.record import Record


@dataclass(frozen=True)
class Arm:
    """One way to acquire rows: the method it belongs to, its own name and its rule."""

    method: str
    name: str
    rule: str

    @property
    def random(self) -> bool:
        """Whether this is the arm that the others are compared with."""
        return self.rule == "random"


def arm_of(label: str, run: Record) -> Arm | None:
    """Return the arm that a row of the tables is, of which `run` is one; None for none.

    Behind the run's own label, `label` may name settings.
    """
    acquisition = run.run.get("acquisition")
    if not isinstance(acquisition, Mapping):
        return None
    method, _, arm = run.method.rpartition("-")
    return Arm(method + label.removeprefix(run.method), arm, str(acquisition.get("rule")))
