"""Where the data of a suite really comes from on this machine."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bnnbench.datasets.base import DataSource, Origin, Part, PoolSource, PoolTooSmall
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.resolve import Policy, resolve
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.suites.engine.command.arguments import Options
from bnnbench.suites.engine.declare.case import Case
from bnnbench.suites.engine.declare.grid import Evaluation, Suite


@dataclass(frozen=True)
class Provided:
    """One data set as it will be used, for people to read."""

    name: str
    origin: Origin
    train_rows: int
    test_rows: int
    folds: int
    conditions: Mapping[str, Origin]
    """Conditions whose data has another origin."""
    pool_rows: int = 0
    """Rows to choose from in active learning."""


def resolved(suite: Suite, options: Options) -> Suite:
    """Return the suite on sources that can be loaded; cases that become one are taken once.

    Several sources may have the same stand-in, or the same rows under a limit. Optional sources
    whose files are missing and optional methods whose packages are, are left out. A dry run
    downloads nothing, and keeps sources whose files are to be downloaded. Raises
    `DataUnavailable` where there is none for another source.
    """

    @functools.cache
    def found(source: Any, part: Part | None = None) -> Any:
        if options.dry_run and not options.offline and to_be_fetched(source, options.data):
            usable = source
        else:
            usable = resolve(source, options.data, options.offline, part)
        if not (rows := options.limit):
            return usable
        if isinstance(usable, PoolSource):
            return usable.limited(rows)
        return Limited(usable, train=rows, test=rows)

    absent, lacking = left_out(suite), not_installed(suite)
    evaluations: dict[str, Evaluation] = {}
    for evaluation in suite.evaluations:
        condition = evaluation.condition.with_sources(functools.partial(found, part="test"))
        known = evaluations.get(condition.name, Evaluation(condition, ()))
        metrics = dict.fromkeys(known.metrics + evaluation.metrics)
        evaluations[condition.name] = Evaluation(known.condition, tuple(metrics))
    cases: dict[str, Case] = {}
    declared: dict[tuple[DataSource, Architecture], DataSource] = {}
    for case in suite.cases:
        if case not in absent:
            usable = case.on(found(case.source))
            first = declared.setdefault((usable.source, usable.network), case.source)
            if first == case.source:
                cases.setdefault(usable.name, usable)
    return replace(
        suite,
        cases=tuple(cases.values()),
        evaluations=tuple(evaluations.values()),
        methods={name: suite.methods[name] for name in suite.methods if name not in lacking},
        optional_methods=(),
        own_settings={
            case: {name: own[name] for name in own if name not in lacking}
            for case, own in suite.own_settings.items()
        },
        own_architectures={
            name: suite.own_architectures[name]
            for name in suite.own_architectures
            if name not in lacking
        },
    )


def to_be_fetched(source: DataSource, policy: Policy) -> bool:
    """Return whether the source's files are not here and would be downloaded."""
    return policy != "stand-in" and source.origin == "original" and bool(source.missing())


def left_out(suite: Suite) -> list[Case]:
    """Return the optional cases whose files are not here."""
    return [case for case in suite.cases if case.name in suite.optional and case.source.missing()]


def not_installed(suite: Suite) -> dict[str, str]:
    """Return label → what to install, of optional methods whose packages are not here."""
    lacks = {name: getattr(suite.methods[name], "lacks", "") for name in suite.optional_methods}
    return {name: cure for name, cure in lacks.items() if cure}


def provided(suite: Suite, case: Case) -> Provided:
    """Return what the resolved source of a case gives, by loading its first fold.

    Raises PoolTooSmall for a pool of fewer rows than the suite acquires.
    """
    data = case.source.load(0)
    conditions = [evaluation.condition for evaluation in suite.evaluations]
    others: dict[str, Origin] = {c.name: c.origin(data) for c in conditions}
    return Provided(
        name=case.name,
        origin=data.origin,
        train_rows=len(data.train),
        test_rows=len(data.test),
        folds=min(suite.folds, case.source.folds),
        conditions={name: origin for name, origin in others.items() if origin != data.origin},
        pool_rows=_pool_rows(suite, case),
    )


def _pool_rows(suite: Suite, case: Case) -> int:
    source = case.source
    if not isinstance(source, PoolSource):
        return 0
    rows = len(source.candidates(0, ()))
    wanted = max((rule.rounds * rule.batch for rule in suite.acquisitions.values()), default=0)
    if rows < wanted:
        raise PoolTooSmall(
            f"{case.name} has {rows} rows in its pool, but {wanted} are to be taken out of it: "
            "take fewer rounds, or fewer rows for training and testing"
        )
    return rows
