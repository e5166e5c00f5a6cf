"""Scores of predictions against certified posteriors, and each method's relation to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.references.certificate import Refused, checksums
from bnnbench.datasets.references.reading import Reference, home, read, require_data
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Certified, Suite
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.store.rescoring.added import Reasons, Role, Values
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


@dataclass(frozen=True)
class CertifiedPosterior:
    """The certified posterior of a case; None, with a doubt, if it cannot be trusted."""

    reference: Reference | None
    doubt: str = ""
    folder: str = ""
    methods: Mapping[str, Method] = field(default_factory=dict)
    """The suite's methods, with their settings for the case."""
    metrics = CERTIFIED
    title = "distances to a certified posterior"

    @classmethod
    def of_case(cls, suite: Suite, case: Case, certified: Certified) -> "CertifiedPosterior":
        """Return the reference of a suite's case."""
        methods = {label: suite.method_for(case, label) for label in suite.methods}
        try:
            return cls(_reference(certified, case), "", certified.folder, methods)
        except Refused as reason:
            return cls(None, f"none, {reason}")

    def role(self, record: Record) -> Role:
        """Return how a record of the case is treated.

        Runs of methods not named in the command keep scores against this same reference.
        """
        if self.reference is None or record.fold != self.reference.certificate["model"]["fold"]:
            return "dropped"
        if record.method in self.methods:
            return "compared"
        same = (record.reference or {}).get("sha256") == self.reference.identity
        return "left" if same else "dropped"

    def identity(self, record: Record) -> Mapping[str, str]:
        """Return the reference, and the relation of the record's method to it."""
        assert self.reference
        return {
            "key": self.reference.name,
            "folder": self.folder,
            "sha256": self.reference.identity,
            "relation": relation(self.methods[record.method], record, self.reference),
        }

    def scores(self, record: Record, store: Store) -> tuple[Values, Reasons]:
        """Return the scores, and reasons for missing ones."""
        assert self.reference
        try:
            prediction: Any = store.predictions(record.key)[CONDITION][0]
            functions = function_values(prediction, self.reference.draws.noise_std)
        except (NotImported, CannotAnswer) as reason:
            return {}, {CONDITION: dict.fromkeys(CERTIFIED, message(reason))}
        truth, values, reasons = truth_of(self.reference), {}, {}
        for name, metric in CERTIFIED.items():
            try:
                values[name] = float(metric.score(functions, truth).mean())
            except CannotAnswer as reason:
                reasons[name] = message(reason)
        return {CONDITION: values}, {CONDITION: reasons}


def named_posterior(record: Record, store: Store) -> CertifiedPosterior | None:
    """Return the reference that a record was compared with; None if its draws have changed."""
    identity = record.reference or {}
    try:
        reference = read(_folder(identity["folder"]) / identity["key"])
    except Refused:
        return None
    return CertifiedPosterior(reference) if reference.identity == identity["sha256"] else None


def relation(method: Method, record: Record, reference: Reference) -> Relation:
    """Return how the method, by its class, relates to the reference's model."""
    use, model = prior_use(method), reference.certificate["model"]
    if use in ("none", None):
        return "no posterior"
    alike = all(record.run.get(name) == model[name] for name in ("prior", "architecture"))
    return "matched" if use == "given" and alike else "same family, other prior"


def truth_of(reference: Reference) -> Truth:
    """Return a reference's draws in the form that metrics take."""
    draws = reference.draws
    means = torch.from_numpy(draws.f)
    functions = FunctionValues(means, torch.zeros_like(means), draws.noise_std)
    directions = torch.from_numpy(draws.directions).double()
    return Truth(functions, torch.from_numpy(draws.groups), directions)


def _folder(name: str) -> Path:
    return Path(name) if name else home()


def _reference(certified: Certified, case: Case) -> Reference:
    """Return the case's reference. Raises `Refused` if its data are not the case's."""
    reference = read(_folder(certified.folder) / case.name)
    require_data(reference, checksums(case.source.load(reference.certificate["model"]["fold"])))
    return reference
