"""The record of a run: status, scores, cost, diagnostics, provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from bnnbench.datasets.conditions.traits import Traits
from bnnbench.datasets.origins import ORIGINS
from bnnbench.datasets.reading.shape import Amount, Message
from bnnbench.methods.fitting.work import UNITS

SCHEMA = 3
"""The version of the file's format."""

Status = Literal["completed", "diverged", "failed"]


@dataclass(frozen=True)
class Cost:
    """The cost of a run. Runs fitted together share it equally."""

    fit_seconds: Amount
    predict_seconds: Amount
    peak_bytes: Amount
    """Growth of resident memory during the fit; on a GPU, the peak allocation."""
    fitted_together: int = 1
    fit_joules: Amount | None = None
    """Energy of the GPU during the fit; None without a counter, as on a CPU."""
    compile_seconds: Amount = 0.0
    """Time to compile kernels and to warm up the process before the fit, not part of `fit_seconds`;
    mostly 0, as a process does so once. In earlier records it is part of the fit seconds.
    """
    fit_cpu_seconds: Amount | None = None
    """Processor time of the fit, hardly affected by the machine's load; None in earlier records,
    and for a fit that continued from a checkpoint."""
    busy_elsewhere: Amount | None = None
    """Share of the machine's processor time used by other processes during the last fit; None in
    earlier records, and for fits of less than a fifth of a second."""
    predict_cpu_seconds: Amount | None = None
    """Processor time of the predictions; None in earlier records."""
    work: Mapping[str, Amount] | None = None
    """Unit of `methods.fitting.work` → amount, as counted by the method; None in earlier records,
    and for a fit that continued from a checkpoint. A third-party method may count nothing.
    """
    fit_of: Message | None = None
    """Key of the run that shares this fit. Both have its full cost, and totals count it once."""

    @property
    def known(self) -> dict[str, float]:
        """The fields that have a value, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def value(self, name: str) -> float | None:
        """Return a cost of `COSTS`, or the work in one of its units; None if unknown."""
        if name in UNITS:
            return None if self.work is None else self.work.get(name, 0.0)
        return getattr(self, name)


COSTS = (
    *("fit_seconds", "compile_seconds", "predict_seconds"),
    *("peak_bytes", "fitted_together", "fit_joules"),
    *("fit_cpu_seconds", "busy_elsewhere", "predict_cpu_seconds"),
    *UNITS,
)
"""The costs of a run in the order of tables: numbers of `Cost`, and its units of work."""


class Settings(TypedDict, total=False):
    """The parts of a run's description that readers rely on."""

    suite: str
    profile: str
    source: Mapping[str, object]
    method: Mapping[str, object]
    acquisition: Mapping[str, object]
    fold: int
    seed: int


class Facts(TypedDict, total=False):
    """The facts of a data set (`bnnbench.datasets.facts`) that readers use."""

    train_rows: int
    test_rows: int
    features: int
    test_twins_in_train: float
    test_twins: int
    train_repeats: int
    transforms: Sequence[str]
    constant_columns: Sequence[int]
    largest_input_deviation_train: float
    largest_input_deviation_test: float
    classes: int
    class_counts_train: Sequence[int]
    class_counts_test: Sequence[int]
    target: str
    target_unit: str
    target_std: float
    sha256: str
    licence: str
    files: Mapping[str, str]
    download_bytes: int


class TargetTable(TypedDict):
    """The plain data of `bnnbench.engine.declare.grid.Reproduces`."""

    paper: str
    table: str
    departures: NotRequired[Sequence[str]]
    whole: NotRequired[bool]


class Scale(TypedDict):
    """The plain data of `datasets.base.Target`."""

    name: str
    unit: str
    mean: float
    std: float


class Circumstances(TypedDict, total=False):
    """The entries of a provenance that readers rely on."""

    packages: Mapping[str, str]
    finished: str
    chosen: str


class External(TypedDict):
    """The submitter's statement on external predictions; "" for no answer."""

    by: str
    """The submitter."""
    code: str
    cost: str
    """The code and the cost of the method, as free text."""
    file: str
    file_sha256: str


@dataclass(frozen=True)
class Record:
    """One run and its results, as plain data.

    The annotations are the shape that `from_json` requires of a file.
    """

    key: str
    suite: str
    profile: str
    dataset: str
    origin: str
    method: str
    fold: int
    seed: int
    run: Annotated[Mapping[str, object], Settings]
    """The full description whose hash is `key`."""
    status: Status
    error: Message | None
    scores: Mapping[str, Mapping[str, float]]
    """condition → metric → value"""
    condition_origins: Mapping[str, str]
    """condition → origin of the data it was scored on"""
    diagnostics: Mapping[str, float]
    cost: Cost | None
    facts: Annotated[Mapping[str, object], Facts]
    provenance: Annotated[Mapping[str, Any], Circumstances]
    reproduces: tuple[Annotated[Mapping[str, Any], TargetTable], ...] = ()
    target: Annotated[Mapping[str, Any], Scale] | None = field(default=None)
    """name, unit, mean and std of a regression target"""
    acquired: tuple[int, ...] = ()
    """Rows of the pool that active learning labelled, in that order."""
    reference: Mapping[str, str] | None = None
    """Key of the reference run of distances, and the SHA-256 of its predictions; or the name, the
    folder and the SHA-256 of a certified posterior, and the method's relation to it.
    """
    not_scored: Mapping[str, Message] = field(default_factory=dict)
    """Condition → reason why the posterior could not be scored under it, though the run completed.
    """
    unanswered: Mapping[str, Mapping[str, Message]] = field(default_factory=dict)
    """Condition → metric → reason why the predictions do not support it: they are intervals, for
    example, and the metric needs a density.
    """
    unsteady: Mapping[str, str] = field(default_factory=dict)
    """Condition → how its predictions depend on the other rows in the batch, or differ from call
    to call.
    """
    evaluations: tuple[Mapping[str, object], ...] = ()
    """Requested conditions and metrics, described in full."""
    condition_data: Mapping[str, str] = field(default_factory=dict)
    """Condition → SHA-256 of its inputs and targets; the SHA-256 of the fold's raw rows is
    `facts["sha256"]`."""
    predictions_sha256: str | None = None
    """Checksum of predictions.npz; None if none are stored."""
    condition_traits: Mapping[str, Annotated[Mapping[str, Any], Traits]] = field(
        default_factory=dict
    )
    """Condition → how pages name and group it (`datasets.conditions.traits`)."""
    code_sha256: str | None = None
    """Digest of the method's sources and everything they import (`bnnbench.methods.source_code`).
    """
    failed_at: Message | None = None
    """File, line and function that raised the error of a failed run; None if unknown.
    """
    fitted_sha256: str | None = None
    """Checksum of the training rows given to the last fit; None in earlier records."""
    data_sha256: str | None = None
    """Digest of the training and test rows (`bnnbench.engine.run.measuring.fingerprint`)."""
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
    title: str = ""
    """Title of the case on pages; "" if the suite gives none."""
    elsewhere: Annotated[Mapping[str, Any], External] | None = field(default=None)
    """External predictions that were only scored here; None for ordinary runs. `provenance` is then
    that of the scoring."""
    arm: str = ""
    """The part of the label `method`, after a hyphen, that names the acquisition strategy; ""
    except in active learning."""
    schema: int = SCHEMA
    """The version of the file's format."""

    @property
    def last_line(self) -> str:
        """The last line of its error, which names the reason; "" without an error."""
        *_, last = ["", *(self.error or "").strip().splitlines()]
        return last


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
        data, external = _data_of(record), record.elsewhere is not None
        fit = record.profile, record.method, record.fold, record.seed
        latest[(data, external, *fit)] = record
        sources[data] = record.run.get("source")
    current = (
        record
        for record in latest.values()
        if record.origin != "own" or record.run.get("source") == sources[_data_of(record)]
    )
    return sorted(current, key=lambda r: r.key)


def _data_of(record: Record) -> tuple[object, ...]:
    """Return the dataset of a suite; for custom data, with its file and target."""
    source = record.run.get("source")
    data = record.suite, record.dataset, record.origin
    if record.origin != "own" or not isinstance(source, Mapping):
        return data
    return (*data, source.get("path"), source.get("target_column"))


def time_chosen(record: Record) -> str:
    """Return the time when a command last chose exactly this run; "" if unknown."""
    return str(record.provenance.get("chosen", record.provenance.get("finished", "")))


def preference(record: Record) -> tuple[bool, str]:
    """Return a sort key, greatest for the preferred copy of a run: not failed, latest chosen."""
    return record.status != "failed", time_chosen(record)
