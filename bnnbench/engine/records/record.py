"""The record of a run: its identity, outcome, cost and circumstances."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.origins import ORIGINS
from bnnbench.datasets.reading.shape import Message
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.shapes import External, Facts, Provenance, Scale, Settings, TargetTable

Status = Literal["completed", "diverged", "failed"]


@dataclass(frozen=True)
class Identity:
    """The run that a record belongs to, and what it was to answer."""

    key: str
    suite: str
    profile: str
    dataset: str
    method: str
    fold: int
    seed: int
    run: Annotated[Mapping[str, object], Settings]
    """The full description whose hash is `key`."""
    title: str = ""
    """Title of the case on pages; "" if the suite gives none."""
    strategy: str = ""
    """The part of the label `method`, after a hyphen, that names the acquisition strategy; ""
    except in active learning."""
    reproduces: tuple[Annotated[Mapping[str, Any], TargetTable], ...] = ()
    evaluations: tuple[Mapping[str, object], ...] = ()
    """Requested conditions and metrics, described in full."""
    reference: Mapping[str, str] | None = None
    """Key of the reference run of distances, and the SHA-256 of its predictions; or the name, the
    folder and the SHA-256 of a certified posterior, and the method's relation to it.
    """
    external: Annotated[Mapping[str, Any], External] | None = field(default=None)
    """External predictions that were only scored here; None for ordinary runs. `provenance` is then
    that of the scoring."""


def has_converged(diagnostics: Mapping[str, float]) -> bool:
    """Return False if a fit reports that it did not converge.

    NaN and infinities do not say that it converged.
    """
    reported = diagnostics.get("converged", 1.0)
    return math.isfinite(reported) and reported > 0


@dataclass(frozen=True)
class Outcome:
    """The results of a run, or its error."""

    status: Status
    error: Message | None
    scores: Mapping[str, Mapping[str, float]]
    """condition → metric → value"""
    diagnostics: Mapping[str, float]
    failed_at: Message | None = None
    """File, line and function that raised the error of a failed run; None if unknown."""
    not_scored: Mapping[str, Message] = field(default_factory=dict)
    """Condition → reason why the posterior could not be scored under it, though the run completed.
    """
    unanswered: Mapping[str, Mapping[str, Message]] = field(default_factory=dict)
    """Condition → metric → reason why the predictions do not support it: they are intervals, for
    example, and the metric needs a density.
    """
    batch_dependence: Mapping[str, str] = field(default_factory=dict)
    """Condition → how its predictions depend on the other rows in the batch, or differ from call
    to call.
    """
    acquired: tuple[int, ...] = ()
    """Rows of the pool that active learning labelled, in that order."""
    own_network: Mapping[str, object] | None = None
    """Class, parameters and structure_sha256 of a method-supplied network, in place of the
    architecture in `run`; None for other methods.
    """
    search: Mapping[str, object] | None = None
    """The trials of a search for settings on held-out training rows (`methods.tuning.search`); None
    for a method with fixed settings."""
    trial_scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Trial of that search → metric → test score of its fit to all training rows, which the search
    never saw."""
    predictions_sha256: str | None = None
    """Checksum of predictions.npz; None if none are stored."""

    @property
    def unconverged(self) -> bool:
        """True if the fit reports that it did not converge."""
        return not has_converged(self.diagnostics)

    @property
    def last_line(self) -> str:
        """The last line of the error, which names the reason; "" without an error."""
        *_, last = ["", *(self.error or "").strip().splitlines()]
        return last


@dataclass(frozen=True)
class Circumstances:
    """The data and the code of a run, and where it ran."""

    origin: str
    """Origin of the data (`datasets.origins`)."""
    facts: Annotated[Mapping[str, object], Facts]
    provenance: Annotated[Mapping[str, Any], Provenance]
    condition_origins: Mapping[str, str]
    """condition → origin of the data it was scored on"""
    target: Annotated[Mapping[str, Any], Scale] | None = field(default=None)
    """name, unit, mean and std of a regression target"""
    condition_traits: Mapping[str, Annotated[Mapping[str, Any], Traits]] = field(
        default_factory=dict
    )
    """Condition → how pages name and group it (`datasets.conditions.traits`)."""
    condition_data: Mapping[str, str] = field(default_factory=dict)
    """Condition → SHA-256 of its inputs and targets; the SHA-256 of the fold's raw rows is
    `facts["sha256"]`."""
    data_sha256: str | None = None
    """Digest of the training and test rows (`bnnbench.engine.run.measuring.fingerprint`)."""
    fitted_sha256: str | None = None
    """Checksum of the training rows given to the last fit; None in earlier records."""
    code_sha256: str | None = None
    """Digest of the method's sources and everything they import (`bnnbench.methods.source_code`).
    """


@dataclass(frozen=True)
class Record(Identity):
    """A run and its results, as plain data.

    The annotations of its parts are the shapes that `from_json` requires of a file.
    """

    outcome: Outcome = field(kw_only=True)
    cost: Cost | None = field(kw_only=True)
    circumstances: Circumstances = field(kw_only=True)

    def with_outcome(self, **changes: Any) -> "Record":
        """Return the record with other values of these fields of its outcome."""
        return replace(self, outcome=replace(self.outcome, **changes))

    def with_circumstances(self, **changes: Any) -> "Record":
        """Return the record with other values of these fields of its circumstances."""
        return replace(self, circumstances=replace(self.circumstances, **changes))


def distance_from_official(origin: str) -> int:
    """Return the rank of an origin, the most official first, unknown ones last."""
    return ORIGINS.index(origin) if origin in ORIGINS else len(ORIGINS)


def newest(records: Iterable[Record]) -> list[Record]:
    """Return one record for each dataset, method, fold and seed: the latest chosen.

    External predictions never replace a run of the same label, nor the reverse. In custom data,
    each file and target is a dataset, and only its latest content and reading count. The order is
    by the times at which the store received the records, which never go backwards within a store,
    whatever its machines' clocks do (`clock.Clock`); ties are broken by key.
    """
    latest: dict[tuple[object, ...], Record] = {}
    sources: dict[tuple[object, ...], object] = {}
    for record in sorted(records, key=lambda r: (time_chosen(r), r.key)):
        data, external = _data_of(record), record.external is not None
        fit = record.profile, record.method, record.fold, record.seed
        latest[(data, external, *fit)] = record
        sources[data] = record.run.get("source")
    current = (
        record
        for record in latest.values()
        if record.circumstances.origin != "own"
        or record.run.get("source") == sources[_data_of(record)]
    )
    return sorted(current, key=lambda r: r.key)


def _data_of(record: Record) -> tuple[object, ...]:
    """Return the dataset of a suite; for custom data, with its file and target."""
    source = record.run.get("source")
    data = record.suite, record.dataset, record.circumstances.origin
    if record.circumstances.origin != "own" or not isinstance(source, Mapping):
        return data
    return (*data, source.get("path"), source.get("target_column"))


def time_chosen(record: Record) -> str:
    """Return the time when a command last chose exactly this run; "" if unknown."""
    return str(
        record.circumstances.provenance.get(
            "chosen", record.circumstances.provenance.get("finished", "")
        )
    )


def preference(record: Record) -> tuple[bool, str]:
    """Return a sort key, greatest for the preferred copy of a run: not failed, latest chosen."""
    return record.outcome.status != "failed", time_chosen(record)
