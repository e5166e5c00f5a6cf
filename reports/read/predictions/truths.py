"""Scores of methods against certified posteriors, with floors and the posterior's own scores."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev

from jaxtyping import Float
from numpy import ndarray

from bnnbench.datasets.references.certificate import Refused
from bnnbench.datasets.references.reading import Reference, home, read
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.score import score
from bnnbench.engine.store.rescoring.certified import CONDITION, truth_of
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics import CERTIFIED
from bnnbench.metrics.functions.floors import floor, halves
from bnnbench.metrics.functions.values import Truth, function_values
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.readable import prediction_of

RELATIONS = ("matched", "same family, other prior", "no posterior")
"""In page order. Methods are ranked only within one relation."""
FLOORED = "w2_relative"
ON_TARGETS = ("log_likelihood", "rmse")


@dataclass(frozen=True)
class Standing:
    """A method's mean scores over seeds."""

    method: str
    relation: str
    scores: Mapping[str, Sequence[float]]
    """metric → value of each seed"""
    draws: int | None
    """The number of predicting functions; None for distributions in closed form."""

    def mean(self, metric: str) -> float:
        """Return the mean over seeds; NaN without values."""
        values = self.scores.get(metric, ())
        return mean(values) if values else math.nan

    def standard_error(self, metric: str) -> float | None:
        """Return the standard error of the mean over seeds; None for fewer than two."""
        values = self.scores.get(metric, ())
        return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


@dataclass(frozen=True)
class Rows:
    """Scores of one run at each test row, and its distribution of the function there."""

    log_likelihood: Float[ndarray, " rows"]
    """In standardised units."""
    kl: Float[ndarray, " rows"]
    means: Float[ndarray, "components rows"]
    variances: Float[ndarray, "components rows"]
    """Variances of the function, without noise; 0 if components are draws."""

    @property
    def are_draws(self) -> bool:
        """True for several whole functions, whose values at different rows belong together."""
        return len(self.means) > 1 and not self.variances.any()


class Comparison:
    """The methods of one data set against its reference."""

    def __init__(self, reference: Reference, records: Sequence[Record], store: Store) -> None:
        self.reference = reference
        self._records, self._store = records, store

    @cached_property
    def truth(self) -> Truth:
        """The reference in the form that scores use."""
        return truth_of(self.reference)

    @cached_property
    def resolution(self) -> Mapping[str, float]:
        """The score of one half of the reference against the other."""
        return {name: halves(metric.score, self.truth) for name, metric in CERTIFIED.items()}

    @cached_property
    def exact(self) -> Mapping[str, float]:
        """Scores of the exact posterior on the test targets; empty without stored targets."""
        record = self._records[0]
        if (held := prediction_of(self._store, record, CONDITION)) is None:
            return {}
        prediction = self.truth.functions.predictive
        return score(prediction, held[1], ON_TARGETS, record.circumstances.target).values

    def floor(self, draws: int) -> float:
        """Return the minimum expected relative W2 with this many draws."""
        return floor(CERTIFIED[FLOORED].score, self.truth, draws)

    @cached_property
    def rows(self) -> Mapping[str, "Rows"]:
        """Method → scores of each test row, from its first run whose prediction can be read."""
        by_method: dict[str, Rows] = {}
        for record in sorted(self._records, key=lambda r: r.seed):
            if record.method not in by_method and (rows := self._rows(record)):
                by_method[record.method] = rows
        return by_method

    def _rows(self, record: Record) -> "Rows | None":
        if (held := prediction_of(self._store, record, CONDITION)) is None:
            return None
        prediction, targets = held
        try:
            functions = function_values(prediction, self.reference.draws.noise_std)
        except (CannotAnswer, ValueError):  # it has no function values for one output
            return None
        kl = CERTIFIED["kl_from_truth"].score(functions, self.truth)
        means, variances = functions.means.numpy(), functions.variances.numpy()
        likelihood = prediction.log_prob(targets).double()
        return Rows(likelihood.numpy(), kl.numpy(), means, variances)

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """The methods: matched ones first, and by KL within each relation."""
        by_method: dict[str, list[Record]] = defaultdict(list)
        for record in self._records:
            by_method[record.method].append(record)
        standings = [self._standing(method, records) for method, records in by_method.items()]

        def order(standing: Standing) -> tuple[int, float]:
            kl = standing.mean("kl_from_truth")
            return RELATIONS.index(standing.relation), math.inf if math.isnan(kl) else kl

        return tuple(sorted(standings, key=order))

    def _standing(self, method: str, records: Sequence[Record]) -> Standing:
        scores: dict[str, list[float]] = defaultdict(list)
        for record in records:
            for name, value in record.outcome.scores[CONDITION].items():
                scores[name].append(value)
        relation = (records[0].reference or {})["relation"]
        return Standing(method, relation, scores, self._draws(records[0]))

    def _draws(self, record: Record) -> int | None:
        prediction, _ = prediction_of(self._store, record, CONDITION) or (None, None)
        if not isinstance(prediction, GaussianPredictive):
            return None
        is_point = record.outcome.scores[CONDITION].get("std_ratio") == 0
        return len(prediction.means) if is_point or len(prediction.means) > 1 else None


def comparison(store: Store, benchmark: Benchmark) -> Comparison | None:
    """Return the comparison of a data set; None if no run has scores against a reference."""
    records = [r for r in benchmark.records if _is_compared(r)]
    for identity in _identities(records):
        folder = Path(identity["folder"]) if identity["folder"] else home()
        try:
            reference = read(folder / identity["key"])
        except Refused:
            continue
        if reference.identity == identity["sha256"]:
            matching = [r for r in records if (r.reference or {})["sha256"] == reference.identity]
            return Comparison(reference, matching, store)
    return None


def _is_compared(record: Record) -> bool:
    return record.outcome.status == "completed" and "relation" in (record.reference or {})


def _identities(records: Sequence[Record]) -> Iterator[Mapping[str, str]]:
    seen: set[str] = set()
    for identity in (record.reference or {} for record in records):
        if identity["sha256"] not in seen:
            seen.add(identity["sha256"])
            yield identity
