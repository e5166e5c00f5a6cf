"""The declarations of a suite, and the runs that follow from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from bnnbench.datasets.base import DataSource, PoolSource
from bnnbench.datasets.conditions.acquired import Acquired
from bnnbench.datasets.conditions.base import Condition
from bnnbench.engine.declare.acquisition import Acquisition
from bnnbench.engine.declare.attacks import Attack
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import canonical_json, describe, digest
from bnnbench.engine.declare.probe import Probe
from bnnbench.methods.base import BatchedMethod, Method, SharesFits
from bnnbench.methods.networks.architectures import Architecture, modules_in
from bnnbench.methods.networks.priors import FixedPrecision


@dataclass(frozen=True)
class Evaluation:
    """A test condition and the names of the metrics that score it."""

    condition: Condition
    metrics: tuple[str, ...]


def after_each_fit(
    evaluations: Sequence[Evaluation], acquisition: Acquisition | None
) -> list[tuple[Evaluation, ...]]:
    """Return the evaluations after each fit of a run; only active learning has several fits."""
    if acquisition is None:
        return [tuple(evaluations)]
    return [
        tuple(Evaluation(Acquired(e.condition, count), e.metrics) for e in evaluations)
        for count in range(acquisition.rounds + 1)
    ]


@dataclass(frozen=True)
class Run:
    """The settings that determine a fit, or the fits of active learning."""

    suite: str
    profile: str
    label: str
    case: Case
    """The case with the network of this run, which may be a custom network of the method."""
    method: Method
    fold: int
    seed: int
    acquisition: Acquisition | None = None
    own_architecture: bool = False
    """True if the suite gives this method its own network."""
    probes: tuple[Probe, ...] = ()
    """Measurements of the posterior. Posteriors are not stored, so other probes make another run.
    """
    strategy: str = ""
    """The part of the label, after a hyphen, that names the acquisition."""

    @property
    def source(self) -> DataSource:
        """The case's data."""
        return self.case.source

    @property
    def architecture(self) -> Architecture:
        """The network that is fitted."""
        return self.case.network

    @property
    def modules(self) -> tuple[Mapping[str, object], ...]:
        """Class, size, structure and source code of custom networks; empty without any."""
        if not any(True for _ in modules_in(self.architecture)):
            return ()
        from bnnbench.methods.networks.modules.facts import identities  # needs torch

        return identities(self.architecture)

    @property
    def prior(self) -> FixedPrecision | None:
        """The case's prior; None if methods choose their own."""
        return self.case.prior

    @property
    def names(self) -> Mapping[str, str]:
        """Its names, by fields of a record; changing them does not make another run."""
        titles = {"dataset": self.case.name, "title": self.case.title}
        return {"method": self.label, "strategy": self.strategy, **titles}

    @cached_property
    def description(self) -> Mapping[str, object]:
        """The run as plain data, without labels, names and titles, which are only for display."""
        names = ("suite", "profile", "source", "method", "architecture", "fold", "seed")
        rare = ("acquisition", "own_architecture", "probes", "prior", "modules")
        rare = [name for name in rare if getattr(self, name)]
        return {name: describe(getattr(self, name)) for name in (*names, *rare)}

    @cached_property
    def key(self) -> str:
        """The run's name on disk."""
        return digest(self.description)


@dataclass(frozen=True)
class Reproduces:
    """A published table whose protocol a suite follows, and the deviations from it."""

    paper: str
    table: str
    departures: tuple[str, ...] = ()
    whole: bool = True
    """False for a short profile, whose fewer or smaller runs do not compare with printed scores."""


@dataclass(frozen=True)
class Certified:
    """Certified posteriors as the reference: each case is compared with the one of its name."""

    folder: str = ""
    """Folder of references; "" for this project's."""


@dataclass(frozen=True)
class TrueFunction:
    """The true function as the reference, far from the data; sources need one input and know it."""


Networks = Architecture | Mapping[str, Architecture]
"""One network for all, or networks by case name, with "default" for the rest."""


@dataclass(frozen=True)
class Arm:
    """A method in the tables; in active learning, with one acquisition strategy."""

    label: str
    method: str
    """Label of the method."""
    name: str = ""
    """Name of the acquisition strategy, which ends the label; "" without one."""
    acquisition: Acquisition | None = None


@dataclass(frozen=True)
class Suite:
    """One profile of one benchmark: a product of cases, methods, folds and seeds."""

    name: str
    title: str
    cases: tuple[Case, ...]
    methods: Mapping[str, Method]
    evaluations: tuple[Evaluation, ...]
    folds: int = 1
    """Maximum number of folds of each source."""
    seeds: int = 1
    profile: str = "paper"
    reproduces: tuple[Reproduces, ...] = ()
    fitted_together: int = 20
    """Maximum number of folds and seeds in one task; 1 if a network gains nothing from more."""
    optional: tuple[str, ...] = ()
    """Names of cases included only if their files are already on this machine."""
    optional_methods: tuple[str, ...] = ()
    """Labels of methods included only if the packages they need are installed."""
    own_architectures: Mapping[str, Networks] = field(default_factory=dict)
    """Label → the custom networks of a method, in place of the case's."""
    own_settings: Mapping[str, Mapping[str, Method]] = field(default_factory=dict)
    """Name of a case → label → the method with its settings for that case."""
    acquisitions: Mapping[str, Acquisition] = field(default_factory=dict)
    """Active learning: suffix of a method's label → acquisition strategy. Every method is included
    once with each strategy; the sources are pools.
    """
    reference: str | Certified | TrueFunction | None = None
    """The label of a method that serves as the reference, or certified posteriors: all other
    predictions' distances to it are scores. Or the true function, with the cdf at it as a score.
    """
    probes: tuple[Probe, ...] = ()
    """Measurements of every posterior after its last fit, in addition to `evaluations`."""
    shortened: str = ""
    """A sentence that names the parts cut from the declared suite to keep a time limit; display
    only."""

    def __post_init__(self) -> None:
        self._check_acquisitions()
        for condition in (evaluation.condition for evaluation in self.evaluations):
            if not isinstance(condition, Condition):
                raise TypeError(
                    f"{type(condition).__name__} is not a test condition: it lacks some of name, "
                    "traits, sources, with_sources, origin and select "
                    "(see bnnbench.datasets.conditions.base.Condition)"
                )
        settings = [label for methods in self.own_settings.values() for label in methods]
        labels_used = {*self.own_architectures, *self.optional_methods, *settings}
        if strangers := labels_used - self.methods.keys():
            raise ValueError(f"no method has the label {', '.join(sorted(strangers))}")
        labels: dict[str, str] = {}
        for label, method in self.methods.items():
            identity = canonical_json(describe([method, self.own_architectures.get(label)]))
            if (twin := labels.setdefault(identity, label)) != label:
                raise ValueError(f"{twin!r} and {label!r} are the same method: {method}")
        self._check_cases()

    def _check_cases(self) -> None:
        names = [case.name.casefold() for case in self.cases]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(
                f"each case needs its own name, but {twice[0]!r} is the name of "
                f"{names.count(twice[0])}: give them names, as in Case(source, network, name)"
            )
        for first, second in combinations(self.cases, 2):
            if (first.source, first.prior) != (second.source, second.prior):
                continue
            for label in self.methods:
                if self._what(first, label) == self._what(second, label):
                    raise ValueError(
                        f"the runs of {label!r} on {first.name!r} and on {second.name!r} are the "
                        "same: their sources, networks and settings are equal. Leave one case "
                        "out, or give the method networks by case in own_architectures"
                    )

    def _what(self, case: Case, label: str) -> tuple[Method, Architecture]:
        """Return the method and network of a run that the label and the case determine."""
        return self.method_for(case, label), self.architecture_for(case, label)

    def _check_acquisitions(self) -> None:
        rules = list(self.acquisitions.values())
        if any(rules.count(rule) > 1 for rule in rules):
            raise ValueError(f"two acquisition strategies have the same rule: {self.acquisitions}")
        if len({rule.rounds for rule in rules}) > 1:
            raise ValueError(
                f"all acquisition strategies need equal numbers of rounds: {self.acquisitions}"
            )
        attacks = [e.condition.name for e in self.evaluations if isinstance(e.condition, Attack)]
        if rules and attacks:
            raise ValueError(f"active learning cannot be scored under attacks; got {attacks[0]}")
        if odd := [arm for arm in self.acquisitions if not arm or "-" in arm]:
            raise ValueError(
                f"the name of an acquisition strategy must not be empty or contain '-': {odd[0]!r}"
            )
        if rules and (
            others := [c.name for c in self.cases if not isinstance(c.source, PoolSource)]
        ):
            raise ValueError(f"active learning needs pools (`ActivePool`); {others[0]} is not one")

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every method with each acquisition strategy, in the order of the tables."""
        if not self.acquisitions:
            return tuple(Arm(label, label) for label in self.methods)
        return tuple(
            Arm(f"{label}-{arm}", label, arm, acquisition)
            for label in self.methods
            for arm, acquisition in self.acquisitions.items()
        )

    @property
    def final_evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations after the last fit of a run."""
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
        """Return every run, with folds and seeds innermost."""
        for case in self.cases:
            for arm in self.arms:
                network = self.architecture_for(case, arm.method)
                case_with_network = replace(case, network=network)
                for fold in range(min(self.folds, case.source.folds)):
                    for seed in range(self.seeds):
                        yield Run(
                            self.name,
                            self.profile,
                            arm.label,
                            case_with_network,
                            self.method_for(case, arm.method),
                            fold,
                            seed,
                            arm.acquisition,
                            arm.method in self.own_architectures,
                            self.probes,
                            arm.name,
                        )


def grouped(runs: Iterator[Run], size: int) -> list[tuple[Run, ...]]:
    """Return the runs in groups to be fitted together, equal except for fold and seed.

    Only a method with `fit_many` forms groups of more than one fit, of at most `size`. Runs that
    share their fits are in one group.
    """
    groups: list[list[Run]] = []
    alike: dict[object, list[list[Run]]] = {}
    for run in runs:
        kind = run.case.name, _fits_of(run)
        most = size if isinstance(run.method, BatchedMethod) else 1
        same = [group for group in alike.get(kind, ()) if group[0].case == run.case]
        shared = [group for group in same if (run.fold, run.seed) in _fits_in(group)]
        roomy = [group for group in same[-1:] if len(_fits_in(group)) < most]
        if joinable := shared or roomy:
            joinable[0].append(run)
        else:
            groups.append([run])
            alike.setdefault(kind, []).append(groups[-1])
    return [tuple(group) for group in groups]


def _fits_in(group: Sequence[Run]) -> set[tuple[int, int]]:
    """Return fold and seed of the fits of a group."""
    return {(run.fold, run.seed) for run in group}


def _fits_of(run: Run) -> str:
    """Return a text that is equal for runs of a case whose fits differ only in the rows."""
    method = run.method
    if run.acquisition or not isinstance(method, SharesFits):
        return run.label
    described = describe(method)
    assert isinstance(described, Mapping)
    rest = {name: value for name, value in described.items() if name not in method.of_predictions}
    return canonical_json(rest)
