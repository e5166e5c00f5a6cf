"""A run carried out again, and how what came of it compares with what was kept."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bnnbench.metrics import DISTANCES
from bnnbench.suites.engine.run.execute import Outcome, Task, execute
from bnnbench.suites.engine.run.packing import Predictions, unpack, vars_of
from bnnbench.suites.engine.store.rebuilding import (
    NotRepeatable,
    rebuilt_evaluations,
    rebuilt_run,
)
from bnnbench.suites.engine.store.record import Record

Verdict = Literal["identical", "within rounding", "differs"]

ROUNDING = float(np.finfo(np.float32).eps ** 0.5)
"""3.5e-4: half of the digits of single precision, relative to the largest value of an array."""

CIRCUMSTANCES = ("commit", "dirty", "python", "cpu", "machine", "device", "torch_threads")


@dataclass(frozen=True)
class Comparison:
    """One thing that was kept beside the same thing made again."""

    what: str
    kept: object
    again: object
    verdict: Verdict


@dataclass(frozen=True)
class Reproduction:
    """What came of carrying out a run again."""

    results: tuple[Comparison, ...]
    """Status, data, scores and predictions."""
    circumstances: tuple[Comparison, ...]
    """Commit, packages, processor and the like, where they differ."""
    not_compared: tuple[str, ...]
    """What the record does not hold, in words."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all results."""
        found = {result.verdict for result in self.results}
        if "differs" in found:
            return "differs"
        return "within rounding" if "within rounding" in found else "identical"


def reproduce(
    record: Record, predictions: Predictions | None, packages: Sequence[str] = ()
) -> Reproduction:
    """Carry out a record's run again, alone, and compare.

    Raises `NotRepeatable` where the record does not lead back to its run, or the device is not
    here.
    """
    run = rebuilt_run(record, packages)
    evaluations = rebuilt_evaluations(record, packages)
    (outcome,) = execute(Task((run,), evaluations, _device(record)))
    return compare(record, predictions, outcome)


def compare(record: Record, predictions: Predictions | None, outcome: Outcome) -> Reproduction:
    """Return how a kept run and an outcome compare."""
    again = outcome.record
    results = [_exact("status", record.status, again.status)]
    results.append(_exact("data", record.facts.get("sha256"), again.facts.get("sha256")))
    missing = []
    if record.condition_data:
        for name in sorted(record.condition_data.keys() & again.condition_data.keys()):
            kept, made = record.condition_data[name], again.condition_data[name]
            results.append(_exact(f"data of {name}", kept, made))
    else:
        missing.append("checksums of the conditions' data (schema 1 has none)")
    results += _scores(record, again, missing)
    if predictions is not None and outcome.predictions is not None:
        results += _predictions(predictions, unpack(outcome.predictions))
    elif record.status == "completed":
        missing.append("predictions, which are not kept")
    return Reproduction(tuple(results), tuple(_circumstances(record, again)), tuple(missing))


def _device(record: Record) -> str:
    name = record.provenance.get("device", "cpu")
    if name != "cpu" and not torch.cuda.is_available():
        raise NotRepeatable(f"the run was carried out on {name}, and no GPU is here")
    return "cpu" if name == "cpu" else "cuda"


def _exact(what: str, kept: object, again: object) -> Comparison:
    return Comparison(what, kept, again, "identical" if kept == again else "differs")


def _scores(record: Record, again: Record, missing: list[str]) -> list[Comparison]:
    found = []
    for condition, scores in sorted(record.scores.items()):
        made = again.scores.get(condition, {})
        for name, kept in sorted(scores.items()):
            if name in made:
                verdict = _close(kept, made[name])
                found.append(Comparison(f"{condition}, {name}", kept, made[name], verdict))
            elif name in DISTANCES:
                missing.append(f"{condition}, {name}: a distance to another run")
            else:
                found.append(Comparison(f"{condition}, {name}", kept, None, "differs"))
    return found


def _close(kept: float, again: float) -> Verdict:
    if kept == again or (math.isnan(kept) and math.isnan(again)):
        return "identical"
    return "within rounding" if math.isclose(kept, again, rel_tol=ROUNDING) else "differs"


def _predictions(kept: Predictions, again: Predictions) -> list[Comparison]:
    found = []
    for condition in sorted(kept.keys() | again.keys()):
        if not (condition in kept and condition in again):
            what = f"predictions of {condition}"
            found.append(Comparison(what, condition in kept, condition in again, "differs"))
            continue
        one, other = _arrays(kept, condition), _arrays(again, condition)
        for name in sorted(one.keys() | other.keys()):
            what = f"predictions of {condition}, {name}"
            found.append(_tensors(what, one.get(name), other.get(name)))
    return found


def _arrays(predictions: Predictions, condition: str) -> dict[str, Tensor]:
    prediction, targets = predictions[condition]
    return {**vars_of(prediction), "targets": targets}


def _tensors(what: str, kept: Tensor | None, again: Tensor | None) -> Comparison:
    """Return a comparison bit by bit, then by the largest difference."""
    if kept is None or again is None or kept.shape != again.shape or kept.dtype != again.dtype:
        return Comparison(what, _form(kept), _form(again), "differs")
    if kept.numpy().tobytes() == again.numpy().tobytes():
        return Comparison(what, _form(kept), "the same bits", "identical")
    one, other = kept.double(), again.double()
    finite = one.isfinite() & other.isfinite()
    far = float((one - other)[finite].abs().max()) if finite.any() else 0.0
    scale = float(one[finite].abs().max()) if finite.any() else 1.0
    odd = not torch.equal(one[~finite].nan_to_num(), other[~finite].nan_to_num())
    verdict: Verdict = "differs" if odd or far > ROUNDING * scale else "within rounding"
    return Comparison(what, _form(kept), f"up to {far:.3g} away", verdict)


def _form(tensor: Tensor | None) -> str:
    return "none" if tensor is None else f"{str(tensor.dtype)[6:]} {list(tensor.shape)}"


def _circumstances(record: Record, again: Record) -> list[Comparison]:
    """Return what differs between then and now, and could be a reason for other numbers."""
    then, now = _flat(record.provenance), _flat(again.provenance)
    pairs = ((name, then.get(name, "unknown"), now.get(name)) for name in sorted(then | now))
    return [Comparison(name, a, b, "differs") for name, a, b in pairs if a != b]


def _flat(provenance: Mapping[str, object]) -> dict[str, object]:
    packages = provenance.get("packages")
    named = packages if isinstance(packages, Mapping) else {}
    known = {name: provenance[name] for name in CIRCUMSTANCES if name in provenance}
    return known | {f"package {name}": version for name, version in named.items()}
