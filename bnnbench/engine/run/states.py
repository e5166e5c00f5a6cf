"""The states of a run: loaded, fitted, scored, or failed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import torch
from torch import AcceleratorError

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.records.record import Status
from bnnbench.engine.run.error_texts import message, place, traceback_of
from bnnbench.engine.run.worker_process import is_worker
from bnnbench.methods.base import InferenceDiverged, Posterior
from bnnbench.methods.predictions.base import Predictive


@dataclass(frozen=True)
class FitCost:
    """The cost of fits; energy, processor time and work are None if unknown for any fit."""

    seconds: float = 0.0
    compile_seconds: float = 0.0
    peak_bytes: float = 0.0
    busy_elsewhere: float | None = None
    """Share of the machine's processor time that others took during the last fit."""
    joules: float | None = 0.0
    cpu_seconds: float | None = 0.0
    work: Mapping[str, float] | None = field(default_factory=dict)
    """Unit → amount."""

    def __add__(self, later: "FitCost") -> "FitCost":
        return FitCost(
            self.seconds + later.seconds,
            self.compile_seconds + later.compile_seconds,
            max(self.peak_bytes, later.peak_bytes),
            later.busy_elsewhere,
            _sum(self.joules, later.joules),
            _sum(self.cpu_seconds, later.cpu_seconds),
            _sum_of_units(self.work, later.work),
        )

    def shared_by(self, runs: int) -> "FitCost":
        """Return each run's equal share."""
        share, work = 1 / runs, self.work
        return FitCost(
            share * self.seconds,
            share * self.compile_seconds,
            share * self.peak_bytes,
            self.busy_elsewhere,
            None if self.joules is None else share * self.joules,
            None if self.cpu_seconds is None else share * self.cpu_seconds,
            None if work is None else {unit: share * amount for unit, amount in work.items()},
        )


@dataclass(frozen=True)
class PredictCost:
    """The cost of all predictions of a run."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __add__(self, later: "PredictCost") -> "PredictCost":
        return PredictCost(self.seconds + later.seconds, self.cpu_seconds + later.cpu_seconds)


@dataclass(frozen=True)
class Fits:
    """Facts about a run's fits so far, including a failed one."""

    cost: FitCost = field(default_factory=FitCost)
    train_sha256: str | None = None
    """Checksum of the last fit's training rows, computed before the fit."""
    notes: Mapping[str, object] = field(default_factory=dict)
    """Entries of the record's provenance, such as fits that continued from a checkpoint."""
    own_network: Mapping[str, object] | None = None
    """Description of a network that the method provides itself; otherwise None."""
    shared_with: str | None = None
    """Key of the run whose fit this run shares; None if the fit is its own."""


@dataclass(frozen=True)
class ConditionResult:
    """Predictions and scores under one condition."""

    data_sha256: str | None = None
    """Checksum of its inputs and targets; None for measurements of probes."""
    scores: Mapping[str, float] | None = None
    unanswered: Mapping[str, str] = field(default_factory=dict)
    """Metric → reason why the predictions cannot be scored by it."""
    not_scored: str = ""
    """Reason why the posterior cannot be scored here; "" if it can."""
    batch_dependence: str = ""
    """Description of how predictions depend on the other rows of a batch; "" if they do not."""
    stored: tuple[Predictive, torch.Tensor] | None = None
    """Predictions to be stored, with their targets."""
    traits: Traits | None = None
    """Title and grouping of a probe's measurements; None for a condition of the suite."""


@dataclass(frozen=True)
class Search:
    """The trials of a search for settings, and the test scores of each."""

    data: Mapping[str, object]
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Trial → metric → test score of its fit to all training rows."""
    predictions: Mapping[str, tuple[Predictive, torch.Tensor]] = field(default_factory=dict)
    """Trial → predictions to be scored in another process; empty where they are scored."""


@dataclass(frozen=True)
class Results:
    """The results of a run's predictions so far, over all rounds."""

    conditions: Mapping[str, ConditionResult] = field(default_factory=dict)
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    cost: PredictCost = field(default_factory=PredictCost)
    search: Search | None = None

    @property
    def scores(self) -> dict[str, Mapping[str, float]]:
        """Condition → metric → score; empty for one that no metric of the suite could score."""
        conditions = self.conditions.items()
        return {name: result.scores for name, result in conditions if result.scores is not None}

    def with_condition(self, name: str, result: ConditionResult) -> "Results":
        """Return the results with those of a condition added or replaced."""
        return replace(self, conditions={**self.conditions, name: result})


@dataclass(frozen=True)
class Loaded:
    """A run before a fit, with its earlier rounds of active learning."""

    run: Run
    first: Dataset
    """The data of the first round; all stored predictions are on its target's scale."""
    data: Dataset
    """The data of this round."""
    acquired: tuple[int, ...] = ()
    fits: Fits = field(default_factory=Fits)
    results: Results = field(default_factory=Results)

    @property
    def loaded(self) -> "Loaded":
        return self

    def with_loaded(self, loaded: "Loaded") -> "Loaded":
        return loaded


@dataclass(frozen=True)
class Fitted:
    """A run after a fit."""

    loaded: Loaded
    posterior: Posterior

    @property
    def results(self) -> Results:
        return self.loaded.results

    def with_loaded(self, loaded: Loaded) -> "Fitted":
        return replace(self, loaded=loaded)


@dataclass(frozen=True)
class Scored:
    """A run after some or all of its conditions were scored."""

    fitted: Fitted
    results: Results

    @property
    def loaded(self) -> Loaded:
        return self.fitted.loaded

    def with_loaded(self, loaded: Loaded) -> "Scored":
        return replace(self, fitted=self.fitted.with_loaded(loaded))


@dataclass(frozen=True)
class Failed:
    """A run that an error ended, with the state that it had reached."""

    status: Status
    error: str
    failed_at: str | None
    """File, line and function that raised the error; None if unknown or if inference diverged."""
    reached: Loaded | Fitted | Scored

    @classmethod
    def by(cls, error: BaseException, state: "State") -> "Failed":
        """Return the state of a run that an error ended."""
        reached = state.reached if isinstance(state, Failed) else state
        if isinstance(error, InferenceDiverged):
            return cls("diverged", message(error), None, reached)
        return cls("failed", traceback_of(error), place(error), reached)

    @property
    def loaded(self) -> Loaded:
        return self.reached.loaded

    @property
    def results(self) -> Results:
        return self.reached.results

    def with_loaded(self, loaded: Loaded) -> "Failed":
        return replace(self, reached=self.reached.with_loaded(loaded))


State = Loaded | Fitted | Scored | Failed


def noted(state: State, entry: str, value: object) -> State:
    """Return a state with an entry in the provenance of its record."""
    loaded = state.loaded
    fits = replace(loaded.fits, notes={**loaded.fits.notes, entry: value})
    return state.with_loaded(replace(loaded, fits=fits))


Begun = TypeVar("Begun", Loaded, Fitted, Scored)
Result = TypeVar("Result")


def advanced(state: Begun, steps: Iterable[Begun]) -> Begun | Failed:
    """Return the last of the states that the steps yield, as `Failed` if a step raises an error."""
    reached = state

    def advance() -> None:
        nonlocal reached
        for step in steps:
            reached = step

    error = tried(advance)
    return reached if error is None else Failed.by(error, reached)


def tried(call: Callable[[], Result]) -> Result | BaseException:
    """Return the result of a call of third-party code, or the error that it raised.

    Ctrl-C is raised, and so is an error that leaves the device unusable for this process. Workers
    receive no Ctrl-C: an interrupt there comes from the called code.
    """
    try:
        return call()
    except AcceleratorError:
        raise
    except KeyboardInterrupt as interrupt:
        if not is_worker():
            raise
        return interrupt
    except BaseException as error:
        return error


def each(states: Iterable[State], step: Callable[..., State]) -> list[State]:
    """Return the states after a step; failed ones stay as they are."""
    return [state if isinstance(state, Failed) else step(state) for state in states]


def _sum(before: float | None, amount: float | None) -> float | None:
    return None if before is None or amount is None else before + amount


def _sum_of_units(
    before: Mapping[str, float] | None, amounts: Mapping[str, float] | None
) -> Mapping[str, float] | None:
    if before is None or amounts is None:
        return None
    return {**before, **{unit: before.get(unit, 0.0) + n for unit, n in amounts.items()}}
