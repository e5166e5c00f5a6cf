"""The state of a run while it is carried out: fitted, evaluated, given further rows."""

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import AcceleratorError

from bnnbench.datasets.base import Dataset, PoolSource
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.reading import cache
from bnnbench.datasets.reading.third_party_text import shortened
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.guards.data_guard import sound
from bnnbench.engine.run.guards.isolation import Keeper
from bnnbench.engine.store.record import Status
from bnnbench.methods.base import InferenceDiverged, Posterior
from bnnbench.methods.predictions.base import Predictive

LONGEST_ERROR = 20_000
"""Characters of an error that are kept; of a longer one, its beginning and its end."""


@dataclass(frozen=True)
class Spent:
    """The cost of a fit; some is unknown (None) if it continued from a checkpoint."""

    seconds: float
    compile_seconds: float
    peak_bytes: float
    busy_elsewhere: float | None
    joules: float | None
    cpu_seconds: float | None
    work: Mapping[str, float] | None
    """Unit → amount."""


@dataclass
class Attempt:
    """The state of one run while it is carried out."""

    run: Run
    start: Dataset
    """The first training data; its target's scale is that of all stored predictions."""
    keeper: Keeper | None = None
    """The process that gives training rows to a fit without test rows, where there is one."""
    acquired: tuple[int, ...] = ()
    data: Dataset = field(init=False)
    """The training data of the current fit."""
    status: Status = "completed"
    error: str | None = None
    failed_at: str | None = None
    """File, line and function that raised the error of a failed run, where they are known."""
    posterior: Posterior | None = None
    own_network: Mapping[str, object] | None = None
    """Description of a network that the method brought itself; None for other methods."""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    not_scored: dict[str, str] = field(default_factory=dict)
    """Condition → reason why this posterior has no predictions under it."""
    unanswered: dict[str, dict[str, str]] = field(default_factory=dict)
    """Condition → metric → reason why its predictions cannot be scored by it."""
    unsteady: dict[str, str] = field(default_factory=dict)
    """Condition → how its predictions change in other company."""
    probed: dict[str, Traits] = field(default_factory=dict)
    """Conditions whose scores are measurements of probes."""
    predictions: dict[str, tuple[Predictive, torch.Tensor]] = field(default_factory=dict)
    """The predictions to be stored."""
    fitted_sha256: str | None = None
    """Checksum of the training rows of the last fit, taken before it."""
    condition_data: dict[str, str] = field(default_factory=dict)
    """Condition → checksum of its inputs and targets."""
    diagnostics: dict[str, float] = field(default_factory=dict)
    search: Mapping[str, object] | None = None
    """The trials of a search for settings; None for a method that was fitted as it is."""
    trial_scores: dict[str, dict[str, float]] = field(default_factory=dict)
    """Trial of that search → metric → test score, of its fit to all training rows."""
    fit_seconds: float = 0.0
    compile_seconds: float = 0.0
    predict_seconds: float = 0.0
    predict_cpu_seconds: float = 0.0
    peak_bytes: float = 0.0
    fit_joules: float | None = 0.0
    fit_cpu_seconds: float | None = 0.0
    work: dict[str, float] | None = field(default_factory=dict)
    """Unit → amount, of all fits. Like processor time and energy, None where that of one fit is
    unknown."""
    busy_elsewhere: float | None = None
    fit_of: str | None = None
    """Key of the run of this task whose fit it shares; None for that run itself."""
    provenance_entries: dict[str, object] = field(default_factory=dict)
    """Entries that this run adds to its provenance, such as fits continued from a checkpoint."""

    def __post_init__(self) -> None:
        self.data = self.start

    @classmethod
    def begun(cls, run: Run, keeper: Keeper | None) -> "Attempt":
        """Return an attempt whose data are loaded: with a keeper, the training rows alone."""
        load = keeper.training_rows if keeper else type(run.source).load
        return cls(run, load(run.source, run.fold), keeper)

    def reload(self) -> None:
        """Load the data again."""
        self.start = self.data = self.run.source.load(self.run.fold)
        if self.acquired:
            assert isinstance(self.run.source, PoolSource)
            self.data = self.run.source.with_acquired(self.run.fold, self.acquired)

    def withhold(self) -> None:
        """With a keeper, drop all rows but those of the next fit."""
        if self.keeper:
            source, fold = self.run.source, self.run.fold
            self.keeper.forget()
            self.start = self.keeper.training_rows(source, fold)
            self.data = self.keeper.training_rows(source, fold, self.acquired)

    def reveal(self) -> None:
        """With a keeper, load all rows; for after a fit."""
        if self.keeper:
            source, fold = self.run.source, self.run.fold
            self.start = self.data = self.keeper.all_rows(source, fold)
            if self.acquired:
                self.data = self.keeper.all_rows(source, fold, self.acquired)

    def charge(self, spent: Spent, share: float) -> None:
        """Add this share of what a fit took."""
        self.fit_seconds += share * spent.seconds
        self.compile_seconds += share * spent.compile_seconds
        self.peak_bytes = max(self.peak_bytes, share * spent.peak_bytes)
        self.busy_elsewhere = spent.busy_elsewhere
        self.fit_joules = _sum(self.fit_joules, spent.joules, share)
        self.fit_cpu_seconds = _sum(self.fit_cpu_seconds, spent.cpu_seconds, share)
        if self.work is None or spent.work is None:
            self.work = None
            return
        for unit, amount in spent.work.items():
            self.work[unit] = self.work.get(unit, 0.0) + share * amount

    def record_failure(self, error: BaseException) -> None:
        self.status = "diverged" if isinstance(error, InferenceDiverged) else "failed"
        self.error = message(error) if self.status == "diverged" else _traceback(error)
        self.failed_at = None if self.status == "diverged" else _place(error)


def _sum(before: float | None, amount: float | None, share: float) -> float | None:
    return None if before is None or amount is None else before + share * amount


@contextmanager
def blaming(*attempts: Attempt) -> Iterator[None]:
    """Record any error of the block as the failure of these attempts.

    Ctrl-C passes, and so does an error of the device, after which the process can use it no more.
    """
    try:
        yield
    except (KeyboardInterrupt, AcceleratorError):
        raise
    except BaseException as error:
        for attempt in attempts:
            attempt.record_failure(error)


def message(error: BaseException) -> str:
    """Return the text of an error, whatever its class makes of that."""
    try:
        return _storable(str(error).strip() or type(error).__name__)
    except Exception as second:
        return f"{type(error).__name__}, whose text raises {type(second).__name__}"


def _traceback(error: BaseException) -> str:
    try:
        return _storable("".join(traceback.format_exception(error)))
    except Exception:
        return message(error)


def _place(error: BaseException) -> str | None:
    """Return file, line and function of the innermost frame; None for an error never raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return (
        f"{frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else None
    )


def _storable(text: str) -> str:
    """Return the text without halves of characters, which no file takes, and not too long."""
    return shortened(text.encode("utf-8", "backslashreplace").decode(), LONGEST_ERROR)


def reload_changed_data(attempts: Sequence[Attempt]) -> None:
    """Load the data of attempts again where another run of this process has changed them."""
    data = {id(attempt.data): attempt.data for attempt in attempts}  # seeds of a fold share theirs
    changed = {key for key, one in data.items() if not sound(one.train, one.test)}
    if changed:
        cache.forget()
    for attempt in attempts:
        if id(attempt.data) in changed:
            attempt.reload()


def unfinished(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the attempts that have not failed so far."""
    return [attempt for attempt in attempts if attempt.status == "completed"]
