"""What is known of a run while it is carried out: fitted, asked to predict, given further rows."""

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from bnnbench.datasets.base import Dataset
from bnnbench.methods.base import InferenceDiverged, Posterior
from bnnbench.methods.predictions.base import Predictive
from bnnbench.suites.engine.declare.grid import Run
from bnnbench.suites.engine.store.record import Status


@dataclass
class Attempt:
    """What is known of one run while it is carried out."""

    run: Run
    start: Dataset
    """What the run begins with; its target's scale is that of all predictions it keeps."""
    acquired: tuple[int, ...] = ()
    data: Dataset = field(init=False)
    """What the posterior is fitted to."""
    status: Status = "completed"
    error: str | None = None
    posterior: Posterior | None = None
    own_network: Mapping[str, object] | None = None
    """The network that the method brought itself, described; None for the others."""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    not_scored: dict[str, str] = field(default_factory=dict)
    """Condition → why this posterior has no predictions under it."""
    unanswered: dict[str, dict[str, str]] = field(default_factory=dict)
    """Condition → metric → why its predictions have no answer to it."""
    probed: tuple[str, ...] = ()
    """Conditions whose scores are measurements of probes."""
    predictions: dict[str, tuple[Predictive, torch.Tensor]] = field(default_factory=dict)
    """What the store will keep."""
    condition_data: dict[str, str] = field(default_factory=dict)
    """Condition → checksum of what the posterior was asked about."""
    diagnostics: dict[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    compile_seconds: float = 0.0
    predict_seconds: float = 0.0
    peak_bytes: float = 0.0
    fit_joules: float | None = None
    interruptions: dict[str, object] = field(default_factory=dict)
    """How often the fits went on from a checkpoint, and which checkpoints were of no use."""

    def __post_init__(self) -> None:
        self.data = self.start

    def record_failure(self, error: BaseException) -> None:
        self.status = "diverged" if isinstance(error, InferenceDiverged) else "failed"
        lines = traceback.format_exception(error)
        self.error = str(error) if self.status == "diverged" else "".join(lines)


def unfinished(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the attempts that have not failed so far."""
    return [attempt for attempt in attempts if attempt.status == "completed"]
