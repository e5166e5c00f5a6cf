"""Comparison of a re-run with the stored run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bnnbench.engine.records.record import Record
from bnnbench.engine.run.devices import AUTO, gpus_here
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.measuring.provenance import UNKNOWN
from bnnbench.engine.run.packing import Stored, stored_arrays
from bnnbench.engine.run.task import RunResult, Task, codes_of
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt_evaluations, rebuilt_run
from bnnbench.metrics import CERTIFIED, DISTANCES, FAR


class NoGpuHere(NotRepeatable):
    """The run used a GPU, and this machine has none."""


Verdict = Literal["identical", "within rounding", "differs"]

ROUNDING = float(np.finfo(np.float32).eps ** 0.5)
"""Tolerance relative to an array's largest value: 3.5e-4, half the digits of single precision."""

NOTHING = 1e-12
"""A score difference below this is rounding, as in sums of numbers near 1 that cancel to 0."""

ADDED_LATER: Mapping[str, str] = {
    **dict.fromkeys(DISTANCES, "another run"),
    **dict.fromkeys(CERTIFIED, "a certified posterior"),
    **dict.fromkeys(FAR, "the true function"),
}
"""Score that a suite adds once its runs are finished → what it compares the run with."""

CIRCUMSTANCES = (
    *("commit", "dirty", "python", "cpu", "cpu_model"),
    *("machine", "device", "torch_threads"),
)


@dataclass(frozen=True)
class Comparison:
    """A recorded value next to the value of the re-run."""

    name: str
    recorded: object
    repeated: object
    verdict: Verdict


@dataclass(frozen=True)
class Reproduction:
    """The comparison of a re-run with its record."""

    results: tuple[Comparison, ...]
    """Comparisons of status, data, scores and predictions."""
    circumstances: tuple[Comparison, ...]
    """Differences in commit, packages, processor and so on."""
    not_compared: tuple[str, ...]
    """Descriptions of values missing from the record."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all results."""
        verdicts = {result.verdict for result in self.results}
        if "differs" in verdicts:
            return "differs"
        return "within rounding" if "within rounding" in verdicts else "identical"


def reproduce(
    record: Record, predictions: bytes | None, packages: Sequence[str] = ()
) -> Reproduction:
    """Re-run only this record's run, and compare.

    Raises `NotRepeatable` if the run cannot be rebuilt from its record, or its device is missing.
    """
    (outcome,) = execute(task_of(record, packages))
    return compare(record, predictions, outcome)


def task_of(record: Record, packages: Sequence[str] = ()) -> Task:
    """Return the task that re-runs only this record's run.

    Raises `NotRepeatable` if it cannot be rebuilt or its device is missing.
    """
    run = rebuilt_run(record, packages)
    codes = codes_of([run])
    return Task((run,), rebuilt_evaluations(record, packages), device_of(record), codes=codes)


def absent_source(task: Task) -> str:
    """Return the name of a data set that the task needs and this machine lacks; "" if none."""
    absent: list[str] = []

    def look(source: Any) -> Any:
        absent.extend([source.name] * bool(source.missing()))
        return source

    look(task.runs[0].case.source)
    for evaluation in task.rounds[-1]:
        evaluation.condition.with_sources(look)
    return next(iter(absent), "")


def compare(record: Record, predictions: bytes | None, outcome: RunResult) -> Reproduction:
    """Return the comparison of a record and its packed predictions with an outcome."""
    repeated = outcome.record
    results = [_exact("status", record.outcome.status, repeated.outcome.status)]
    results.append(
        _exact(
            "data",
            record.circumstances.facts.get("sha256"),
            repeated.circumstances.facts.get("sha256"),
        )
    )
    missing = []
    for name in sorted(
        record.circumstances.condition_data.keys() & repeated.circumstances.condition_data.keys()
    ):
        recorded, now = (
            record.circumstances.condition_data[name],
            repeated.circumstances.condition_data[name],
        )
        results.append(_exact(f"data of {name}", recorded, now))
    results += _scores(record, repeated, missing)
    if predictions is not None and outcome.predictions is not None:
        results += _predictions(stored_arrays(predictions), stored_arrays(outcome.predictions))
    elif record.outcome.status == "completed":
        missing.append("predictions, which are not stored")
    return Reproduction(tuple(results), tuple(_circumstances(record, repeated)), tuple(missing))


def device_of(record: Record) -> str:
    """Return the device for a re-run; raises `NoGpuHere` if it was a GPU and there is none."""
    name = record.circumstances.provenance.get("device", "cpu")
    if name == UNKNOWN:
        return AUTO
    if name != "cpu" and not gpus_here():
        raise NoGpuHere(f"the run used {name}, and this machine has no GPU")
    return "cpu" if name == "cpu" else "cuda"


def _exact(name: str, recorded: object, repeated: object) -> Comparison:
    return Comparison(name, recorded, repeated, "identical" if recorded == repeated else "differs")


def _scores(record: Record, repeated: Record, missing: list[str]) -> list[Comparison]:
    comparisons = []
    for condition, scores in sorted(record.outcome.scores.items()):
        now = repeated.outcome.scores.get(condition, {})
        for name, recorded in sorted(scores.items()):
            if name in now:
                verdict = _close(recorded, now[name])
                comparisons.append(Comparison(f"{condition}, {name}", recorded, now[name], verdict))
            elif name in ADDED_LATER:
                missing.append(f"{condition}, {name}: a score against {ADDED_LATER[name]}")
            else:
                comparisons.append(Comparison(f"{condition}, {name}", recorded, None, "differs"))
    return comparisons


def _close(recorded: float, repeated: float) -> Verdict:
    if recorded == repeated or (math.isnan(recorded) and math.isnan(repeated)):
        return "identical"
    near = math.isclose(recorded, repeated, rel_tol=ROUNDING, abs_tol=NOTHING)
    return "within rounding" if near else "differs"


def _predictions(
    recorded: Mapping[str, Stored], repeated: Mapping[str, Stored]
) -> list[Comparison]:
    comparisons = []
    for condition in sorted(recorded.keys() | repeated.keys()):
        if not (condition in recorded and condition in repeated):
            title = f"predictions of {condition}"
            comparisons.append(
                Comparison(title, condition in recorded, condition in repeated, "differs")
            )
            continue
        kinds = recorded[condition].kind, repeated[condition].kind
        if kinds[0] != kinds[1]:
            comparisons.append(Comparison(f"class of {condition}", *kinds, "differs"))
        before, now = _arrays(recorded, condition), _arrays(repeated, condition)
        for name in sorted(before.keys() | now.keys()):
            title = f"predictions of {condition}, {name}"
            comparisons.append(_tensors(title, before.get(name), now.get(name)))
    return comparisons


def _arrays(predictions: Mapping[str, Stored], condition: str) -> dict[str, Tensor]:
    stored = predictions[condition]
    arrays = {**stored.arrays, "targets": stored.targets}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _tensors(name: str, recorded: Tensor | None, repeated: Tensor | None) -> Comparison:
    """Return whether two tensors are bitwise equal, else their largest difference."""
    if (
        recorded is None
        or repeated is None
        or recorded.shape != repeated.shape
        or recorded.dtype != repeated.dtype
    ):
        return Comparison(name, _form(recorded), _form(repeated), "differs")
    if recorded.numpy().tobytes() == repeated.numpy().tobytes():
        return Comparison(name, _form(recorded), "bitwise equal", "identical")
    before, now = recorded.double(), repeated.double()
    finite = before.isfinite() & now.isfinite()
    far = float((before - now)[finite].abs().max()) if finite.any() else 0.0
    scale = float(before[finite].abs().max()) if finite.any() else 1.0
    odd = not torch.equal(before[~finite].nan_to_num(), now[~finite].nan_to_num())
    verdict: Verdict = "differs" if odd or far > ROUNDING * scale else "within rounding"
    return Comparison(name, _form(recorded), f"up to {far:.3g} away", verdict)


def _form(tensor: Tensor | None) -> str:
    return "none" if tensor is None else f"{str(tensor.dtype)[6:]} {list(tensor.shape)}"


def _circumstances(record: Record, repeated: Record) -> list[Comparison]:
    """Return the circumstances that differ and could explain different numbers."""
    before, now = _flat(record.circumstances.provenance), _flat(repeated.circumstances.provenance)
    pairs = ((name, before.get(name, "unknown"), now.get(name)) for name in sorted(before | now))
    return [Comparison(name, a, b, "differs") for name, a, b in pairs if a != b]


def _flat(provenance: Mapping[str, object]) -> dict[str, object]:
    packages = provenance.get("packages")
    versions = packages if isinstance(packages, Mapping) else {}
    circumstances = {name: provenance[name] for name in CIRCUMSTANCES if name in provenance}
    return circumstances | {f"package {name}": version for name, version in versions.items()}
