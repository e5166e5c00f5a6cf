"""What a suite declares, and the runs that follow from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from bnnbench.datasets.base import DataSource, PoolSource
from bnnbench.datasets.conditions.base import Acquired, Condition
from bnnbench.methods.base import BatchedMethod, Method
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.suites.engine.declare.acquisition import Acquisition
from bnnbench.suites.engine.declare.attacks import Attack
from bnnbench.suites.engine.declare.case import Case
from bnnbench.suites.engine.declare.description import canonical_json, describe, digest
from bnnbench.suites.engine.declare.probe import Probe


@dataclass(frozen=True)
class Evaluation:
    """A test condition and the names of the metrics that score it."""

    condition: Condition
    metrics: tuple[str, ...]


def after_each_fit(
    evaluations: Sequence[Evaluation], acquisition: Acquisition | None
) -> list[tuple[Evaluation, ...]]:
    """Return what is scored after each fit of a run: one fit, but for active learning."""
    if acquisition is None:
        return [tuple(evaluations)]
    return [
        tuple(Evaluation(Acquired(e.condition, count), e.metrics) for e in evaluations)
        for count in range(acquisition.rounds + 1)
    ]


@dataclass(frozen=True)
class Run:
    """What determines a fit, or the fits of active learning."""

    suite: str
    profile: str
    label: str
    case: Case
    """With the network of this run, which may be the method's own."""
    method: Method
    fold: int
    seed: int
    acquisition: Acquisition | None = None
    own_architecture: bool = False
    """Whether the suite gives this method a network of its own."""
    probes: tuple[Probe, ...] = ()
    """What is measured of the posterior; no posterior is kept, so other probes are another run."""

    @property
    def source(self) -> DataSource:
        """The case's data."""
        return self.case.source

    @property
    def architecture(self) -> Architecture:
        """The network that is fitted."""
        return self.case.network

    @property
    def names(self) -> Mapping[str, str]:
        """What it is called, by the fields of a record; other names are no other run."""
        return {"method": self.label, "dataset": self.case.name, "title": self.case.title}

    @cached_property
    def description(self) -> Mapping[str, object]:
        """The run as plain data; labels, names and titles are for people and no part of it."""
        names = ("suite", "profile", "source", "method", "architecture", "fold", "seed")
        rare = ("acquisition", "own_architecture", "probes")
        rare = [name for name in rare if getattr(self, name)]
        return {name: describe(getattr(self, name)) for name in (*names, *rare)}

    @cached_property
    def key(self) -> str:
        """The run's name on disk."""
        return digest(self.description)


@dataclass(frozen=True)
class Reproduces:
    """A published table whose protocol a suite follows, and where it departs from it."""

    paper: str
    table: str
    departures: tuple[str, ...] = ()


Networks = Architecture | Mapping[str, Architecture]
"""One for all, or by the name of a case with "default" for the rest."""


@dataclass(frozen=True)
class Suite:
    """One profile of one benchmark: a product of cases, methods, folds and seeds."""

    name: str
    title: str
    cases: tuple[Case, ...]
    methods: Mapping[str, Method]
    evaluations: tuple[Evaluation, ...]
    folds: int = 1
    """How many folds of each source, at most."""
    seeds: int = 1
    profile: str = "paper"
    reproduces: tuple[Reproduces, ...] = ()
    fitted_together: int = 20
    """At most this many folds and seeds are one task; 1 where a network gains nothing by it."""
    optional: tuple[str, ...] = ()
    """Names of cases that take part only where their files are already on this machine."""
    optional_methods: tuple[str, ...] = ()
    """Labels of methods that take part only where the packages they need are installed."""
    own_architectures: Mapping[str, Networks] = field(default_factory=dict)
    """The networks of methods, by label, that do not take the case's."""
    own_settings: Mapping[str, Mapping[str, Method]] = field(default_factory=dict)
    """Name of a case → label → the method with the settings that are its own there."""
    acquisitions: Mapping[str, Acquisition] = field(default_factory=dict)
    """Active learning: what is added to a method's label → how rows are acquired. Every method
    takes part once with each; the sources are pools."""
    reference: str | None = None
    """The label of a method that is taken for the truth: the distance of every other method's
    predictions to its predictions is a score."""
    probes: tuple[Probe, ...] = ()
    """What is measured of every posterior after its last fit, beside `evaluations`."""

    def __post_init__(self) -> None:
        self._check_acquisitions()
        settings = [label for own in self.own_settings.values() for label in own]
        named = {*self.own_architectures, *self.optional_methods, *settings}
        if strangers := named - self.methods.keys():
            raise ValueError(f"no method has the label {', '.join(sorted(strangers))}")
        labels: dict[str, str] = {}
        for label, method in self.methods.items():
            what = canonical_json(describe([method, self.own_architectures.get(label)]))
            if (same := labels.setdefault(what, label)) != label:
                raise ValueError(f"{same!r} and {label!r} are the same method: {method}")
        self._check_cases()

    def _check_cases(self) -> None:
        names = [case.name.casefold() for case in self.cases]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(
                f"needed a name of its own for each case; {twice[0]!r} stands for "
                f"{names.count(twice[0])}: give them names, as in Case(source, network, name)"
            )
        for one, other in combinations(self.cases, 2):
            if one.source != other.source:
                continue
            for label in self.methods:
                if self._what(one, label) == self._what(other, label):
                    raise ValueError(
                        f"the runs of {label!r} on {one.name!r} and on {other.name!r} are the "
                        "same: their sources, networks and settings are equal. Leave one case "
                        "out, or give the method networks by case in own_architectures"
                    )

    def _what(self, case: Case, label: str) -> tuple[Method, Architecture]:
        """Return what of a run the label and the network of a case determine."""
        return self.method_for(case, label), self.architecture_for(case, label)

    def _check_acquisitions(self) -> None:
        rules = list(self.acquisitions.values())
        if any(rules.count(rule) > 1 for rule in rules):
            raise ValueError(f"two arms acquire alike: {self.acquisitions}")
        if len({rule.rounds for rule in rules}) > 1:
            raise ValueError(f"all arms make equally many acquisitions: {self.acquisitions}")
        attacks = [e.condition.name for e in self.evaluations if isinstance(e.condition, Attack)]
        if rules and attacks:
            raise ValueError(f"active learning is not scored under attacks; got {attacks[0]}")
        if odd := [arm for arm in self.acquisitions if not arm or "-" in arm]:
            raise ValueError(f"the name of an arm has letters and no '-': {odd[0]!r}")
        if rules and (no := [c.name for c in self.cases if not isinstance(c.source, PoolSource)]):
            raise ValueError(f"active learning needs pools (`ActivePool`); not one: {no[0]}")

    @property
    def arms(self) -> tuple[tuple[str, str, Acquisition | None], ...]:
        """Label in the tables, label of the method and acquisition, in the order of the tables."""
        if not self.acquisitions:
            return tuple((label, label, None) for label in self.methods)
        return tuple(
            (f"{label}-{arm}", label, acquisition)
            for label in self.methods
            for arm, acquisition in self.acquisitions.items()
        )

    @property
    def final_evaluations(self) -> tuple[Evaluation, ...]:
        """What is scored after the last fit of a run."""
        acquisition = next(iter(self.acquisitions.values()), None)
        return after_each_fit(self.evaluations, acquisition)[-1]

    def architecture_for(self, case: Case, label: str) -> Architecture:
        """Return the network of a method for a case."""
        networks = self.own_architectures.get(label, case.network)
        if isinstance(networks, Mapping):
            return networks[case.name if case.name in networks else "default"]
        return networks

    def method_for(self, case: Case, label: str) -> Method:
        """Return the method of a label with its settings for a case."""
        return self.own_settings.get(case.name, {}).get(label, self.methods[label])

    def runs(self) -> Iterator[Run]:
        """Return every run, folds and seeds innermost."""
        for case in self.cases:
            for name, label, acquisition in self.arms:
                own = replace(case, network=self.architecture_for(case, label))
                for fold in range(min(self.folds, case.source.folds)):
                    for seed in range(self.seeds):
                        yield Run(
                            self.name,
                            self.profile,
                            name,
                            own,
                            self.method_for(case, label),
                            fold,
                            seed,
                            acquisition,
                            label in self.own_architectures,
                            self.probes,
                        )


def grouped(runs: Iterator[Run], size: int) -> list[tuple[Run, ...]]:
    """Return the runs in groups to be fitted together: equal but for fold and seed.

    Only a method with `fit_many` makes groups of more than one, of `size` at most.
    """
    groups: list[tuple[Run, ...]] = []
    for run in runs:
        last = groups[-1] if groups else ()
        alike = last and (last[0].case, last[0].label) == (run.case, run.label)
        if alike and isinstance(run.method, BatchedMethod) and len(last) < size:
            groups[-1] = (*last, run)
        else:
            groups.append((run,))
    return groups
