"""Data, targets and scores of submitted runs, compared with what this machine computes."""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from bnnbench.commands.stored_runs.own_classes import false_scores_apart
from bnnbench.commands.stored_runs.submitted import Refused, Submitted
from bnnbench.datasets.base import Dataset
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.measuring.fingerprint import fingerprint, fingerprint_of_data
from bnnbench.engine.run.packing import Stored, stored_arrays
from bnnbench.engine.store.rescoring.false_scores import false_scores
from bnnbench.engine.workers.separate import NoAnswer

FEW = 3


def check_data(submitted: Submitted) -> None:
    """Raise `Refused` unless data and targets are those of this machine's files.

    Raises what a source raises for missing or damaged files.
    """
    loaded: dict[tuple[str, int], Dataset] = {}
    for record in submitted.records:
        run = submitted.runs[record.key]
        place = record.dataset, record.fold
        if place not in loaded:
            loaded = {place: run.source.load(run.fold)}  # one at a time, as they may be large
        for problem in _problems(submitted, record, loaded[place]):
            raise Refused(f"the run {record.key}: {problem}")


def _problems(submitted: Submitted, record: Record, data: Dataset) -> Iterator[str]:
    circumstances = record.circumstances
    target = dataclasses.asdict(data.target) if data.target else None
    if circumstances.data_sha256 != fingerprint_of_data(data):
        yield "made with other data than this machine's"
    if circumstances.target != target or circumstances.origin != data.origin:
        yield "it states another target or origin than its data have"
    stored = stored_of(submitted, record)
    for evaluation in submitted.evaluations(record):
        name = evaluation.condition.name
        if record.outcome.status == "completed" and name not in stored:
            if name not in record.outcome.not_scored:
                yield f"predictions under {name} are missing"
            continue
        split = evaluation.condition.select(data)
        if circumstances.condition_data.get(name, "") not in ("", fingerprint(split)):
            yield f"made with other data under {name} than this machine's"
        if name in stored and not _equal(stored[name].targets, split.targets.numpy()):
            yield f"its predictions under {name} come with other targets than the data's"


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())


def stored_of(submitted: Submitted, record: Record) -> Mapping[str, Stored]:
    """Return the stored predictions of a record as arrays, by condition."""
    if not record.outcome.predictions_sha256:
        return {}
    return stored_arrays(submitted.store.packed(record.key))


def check_scores(submitted: Submitted) -> None:
    """Raise `Refused` unless every score follows from the stored predictions.

    Predictions of this project's classes are scored here. Those of a class that comes with the runs
    are scored in a process of its own, which imports that class.
    """
    of_its_class: list[str] = []
    for record in submitted.records:
        kinds = {stored.kind for stored in stored_of(submitted, record).values()}
        modules = {kind.partition(":")[0] for kind in kinds if ":" in kind}
        if strangers := modules - set(submitted.modules):
            raise Refused(
                f"the predictions of {record.key} are of a class of {min(strangers)}, which does "
                "not come with the runs: put it into the file of the method"
            )
        if modules:
            of_its_class.append(record.key)
        else:
            _refuse_false(record.key, false_scores(submitted.store, record, complete=True))
    for key, phrases in _scored_apart(submitted, of_its_class).items():
        _refuse_false(key, phrases)


def _refuse_false(key: str, phrases: list[str]) -> None:
    if phrases:
        raise Refused(f"scores of {key} are false: {'; '.join(phrases[:FEW])}")


def _scored_apart(submitted: Submitted, keys: list[str]) -> Mapping[str, list[str]]:
    if not keys:
        return {}
    try:
        return false_scores_apart(
            *(submitted.store, keys, submitted.modules, submitted.code),
            complete=True,
            sandbox=submitted.sandbox,
        )
    except NoAnswer as error:
        raise Refused(f"its own class of predictions cannot be scored: {error}") from error
