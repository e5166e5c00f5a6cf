"""The data sources of a suite that can be loaded on this machine."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bnnbench.commands.running.arguments import Options
from bnnbench.commands.running.networks import with_network
from bnnbench.datasets.base import DataSource, PoolSource
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.errors import PoolTooSmall
from bnnbench.datasets.origins import PUBLISHED, Origin, Part
from bnnbench.datasets.resolve import Policy, resolve
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.networks.architectures import Architecture


@dataclass(frozen=True)
class Provided:
    """Facts of one data set as it will be used, for display."""

    name: str
    origin: Origin
    train_rows: int
    test_rows: int
    folds: int
    conditions: Mapping[str, Origin]
    """Conditions whose data has another origin."""
    pool_rows: int = 0
    """Number of rows to choose from in active learning."""


def resolved(suite: Suite, options: Options) -> Suite:
    """Return the suite on sources that can be loaded; of equal cases, only the first stays.

    Several sources may have the same stand-in, or the same rows under a limit. Optional sources
    with missing files and optional methods with missing packages are left out. A dry run downloads
    nothing, and keeps sources whose files are to be downloaded. Raises `DataUnavailable` if any
    other source has no data.
    """

    @functools.cache
    def usable_source(source: Any, part: Part | None = None) -> Any:
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
        condition = evaluation.condition.with_sources(functools.partial(usable_source, part="test"))
        previous = evaluations.get(condition.name, Evaluation(condition, ()))
        metrics = dict.fromkeys(previous.metrics + evaluation.metrics)
        evaluations[condition.name] = Evaluation(previous.condition, tuple(metrics))
    cases: dict[str, Case] = {}
    declared: dict[tuple[DataSource, Architecture], DataSource] = {}
    for case in suite.cases:
        if case not in absent:
            case_here = case.on(usable_source(case.source))
            first = declared.setdefault((case_here.source, case_here.network), case.source)
            if first == case.source:
                cases.setdefault(case_here.name, case_here)
    usable = replace(
        suite,
        cases=tuple(cases.values()),
        evaluations=tuple(evaluations.values()),
        methods={name: suite.methods[name] for name in suite.methods if name not in lacking},
        optional_methods=(),
        own_settings={
            case: {name: settings[name] for name in settings if name not in lacking}
            for case, settings in suite.own_settings.items()
        },
        own_architectures={
            name: suite.own_architectures[name]
            for name in suite.own_architectures
            if name not in lacking
        },
    )
    return with_network(usable, options.network) if options.network else usable


def to_be_fetched(source: DataSource, policy: Policy) -> bool:
    """Return whether the source's files are missing and would be downloaded."""
    return policy != "stand-in" and source.origin in PUBLISHED and bool(source.missing())


def left_out(suite: Suite) -> list[Case]:
    """Return the optional cases whose files are missing."""
    return [case for case in suite.cases if case.name in suite.optional and case.source.missing()]


def not_installed(suite: Suite) -> dict[str, str]:
    """Return label → what to install, for optional methods whose packages are missing."""
    lacks = {name: getattr(suite.methods[name], "lacks", "") for name in suite.optional_methods}
    return {name: cure for name, cure in lacks.items() if cure}


def provided(suite: Suite, case: Case) -> Provided:
    """Return the facts of a resolved case, by loading its first fold."""
    data = case.source.load(0)
    conditions = [evaluation.condition for evaluation in suite.evaluations]
    origins: dict[str, Origin] = {c.name: c.origin(data) for c in conditions}
    return Provided(
        name=case.name,
        origin=data.origin,
        train_rows=len(data.train),
        test_rows=len(data.test),
        folds=min(suite.folds, case.source.folds),
        conditions={name: origin for name, origin in origins.items() if origin != data.origin},
        pool_rows=_pool_rows(suite, case),
    )


def _pool_rows(suite: Suite, case: Case) -> int:
    source = case.source
    if not isinstance(source, PoolSource):
        return 0
    rows = len(source.candidates(0, ()))
    needed = max((rule.rounds * rule.batch for rule in suite.acquisitions.values()), default=0)
    if rows < needed:
        raise PoolTooSmall(
            f"{case.name} has {rows} rows in its pool, but {needed} are to be acquired: "
            "take fewer rounds, or fewer rows for training and testing"
        )
    return rows
