"""Scores of predictions against certified posteriors, and each method's relation to them."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.references.checksums import checksums
from bnnbench.datasets.references.errors import Refused
from bnnbench.datasets.references.reading import FOLDER, Reference, read, require_data
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Certified, Suite
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.store.rescoring.added import is_answered, with_scores, without
from bnnbench.engine.store.store import Store
from bnnbench.methods.base import Method, prior_use
from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.metrics import CERTIFIED
from bnnbench.metrics.functions.values import FunctionValues, Truth, function_values

Relation = Literal["matched", "same family, other prior", "no posterior"]
"""`matched`: the method approximates this posterior. `same family, other prior`: one with another
prior or another network. `no posterior`: none; its distance shows how well it substitutes one."""
CONDITION = Clean().name
"""References are for the clean test rows."""


def add_certified(suite: Suite, certified: Certified, store: Store) -> list[str]:
    """Give each record its scores against its case's reference, and return warnings.

    A case without a trusted reference, or with other data, has no scores.
    """
    doubts = []
    for case in suite.cases:
        records = [r for r in store.current() if _is_of(r, suite, case)]
        if not records:
            continue
        try:
            reference = _reference(certified, case)
        except Refused as reason:
            _drop(records, store)
            doubts.append(f"no distances to a certified posterior on {case.name}: {reason}")
            continue
        fold = reference.certificate["model"]["fold"]
        compared = [r for r in records if r.fold == fold and r.method in suite.methods]
        # Runs of methods not named in the command keep scores against this same reference.
        untouched = [r for r in records if r.fold == fold and _is_against(r, reference)]
        _drop([r for r in records if r not in compared and r not in untouched], store)
        for record in compared:
            method = suite.method_for(case, record.method)
            identity = {
                "key": reference.name,
                "folder": certified.folder,
                "sha256": reference.identity,
                "relation": relation(method, record, reference),
            }
            if record.outcome.status == "completed" and not (
                record.reference == identity and is_answered(record, CONDITION, CERTIFIED)
            ):
                _rewrite(dataclasses.replace(record, reference=identity), reference, store)
    return doubts


def relation(method: Method, record: Record, reference: Reference) -> Relation:
    """Return how the method, by its class, relates to the reference's model."""
    use, model = prior_use(method), reference.certificate["model"]
    if use in ("none", None):
        return "no posterior"
    alike = all(record.run.get(name) == model[name] for name in ("prior", "architecture"))
    return "matched" if use == "given" and alike else "same family, other prior"


def certified_scores(record: Record, store: Store) -> dict[str, dict[str, float]]:
    """Return condition → metric → value, recomputed from stored predictions.

    It is empty if the reference's draws have changed. Raises `CorruptRecord`.
    """
    identity = record.reference or {}
    try:
        reference = read(_folder(identity["folder"]) / identity["key"])
    except Refused:
        return {}
    if reference.identity != identity["sha256"]:
        return {}
    return {CONDITION: _scores(record, reference, store)[0]}


def truth_of(reference: Reference) -> Truth:
    """Return a reference's draws in the form that metrics take."""
    draws = reference.draws
    means = torch.from_numpy(draws.f)
    functions = FunctionValues(means, torch.zeros_like(means), draws.noise_std)
    directions = torch.from_numpy(draws.directions).double()
    return Truth(functions, torch.from_numpy(draws.groups), directions)


def _folder(name: str) -> Path:
    return Path(name) if name else FOLDER


def _reference(certified: Certified, case: Case) -> Reference:
    """Return the case's reference. Raises `Refused` if its data are not the case's."""
    reference = read(_folder(certified.folder) / case.name)
    require_data(reference, checksums(case.source.load(reference.certificate["model"]["fold"])))
    return reference


def _is_of(record: Record, suite: Suite, case: Case) -> bool:
    alike = (record.profile, record.dataset) == (suite.profile, case.name)
    return alike and record.run.get("source") == describe(case.source)


def _is_against(record: Record, reference: Reference) -> bool:
    return (record.reference or {}).get("sha256") == reference.identity


def _rewrite(record: Record, reference: Reference, store: Store) -> None:
    values, reasons = _scores(record, reference, store)
    store.rewrite(with_scores(record, CERTIFIED, {CONDITION: values}, {CONDITION: reasons}))


def _scores(
    record: Record, reference: Reference, store: Store
) -> tuple[dict[str, float], dict[str, str]]:
    """Return metric → value, and metric → reason for a missing value."""
    try:
        prediction: Any = store.predictions(record.key)[CONDITION][0]
        functions = function_values(prediction, reference.draws.noise_std)
    except (NotImported, CannotAnswer) as reason:
        return {}, dict.fromkeys(CERTIFIED, message(reason))
    truth, values, reasons = truth_of(reference), {}, {}
    for name, metric in CERTIFIED.items():
        try:
            values[name] = float(metric.score(functions, truth).mean())
        except CannotAnswer as reason:
            reasons[name] = message(reason)
    return values, reasons


def _drop(records: Iterable[Record], store: Store) -> None:
    """Remove scores against a reference that is no longer valid."""
    for record in records:
        if record.reference is not None:
            store.rewrite(dataclasses.replace(without(record, CERTIFIED), reference=None))
