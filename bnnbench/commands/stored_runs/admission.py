"""Checks of submitted runs: checksums, scores, protocol, code, data, and re-runs of a tenth."""

import importlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bnnbench.commands.stored_runs.reproduction import reproduce
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.declare.names import names_in
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.inspection import inspect
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt_run
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.levels import ceil_of
from bnnbench.methods.source_code import method_digest
from bnnbench.wording import counted

SHARE = 0.1
"""The share of runs that are re-run; at least one is."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    check: str
    problem: str = ""
    """The reason why the check failed; "" if it passed."""


def packages_in(records: Sequence[Record]) -> tuple[str, ...]:
    """Return the top-level packages or modules of third-party classes in the records."""
    names = {name for record in records for name in names_in(record.run)}
    return tuple(
        sorted({name.partition(":")[0].partition(".")[0] for name in names if ":" in name})
    )


def runs_of(records: Sequence[Record]) -> tuple[int, int]:
    """Return how many runs the profile has on the records' data sets, and how many are missing."""
    asked = _asked(_rebuilt(records))
    return len(asked), len(asked - {record.key for record in records})


def _rebuilt(records: Sequence[Record]) -> list[Run]:
    packages = packages_in(records)
    return [rebuilt_run(record, packages) for record in records]


def _asked(runs: Sequence[Run]) -> set[str]:
    """Return the keys of the runs that the suite declares for a method on the runs' data sets."""
    first = runs[0]
    suite = importlib.import_module(f"bnnbench.suites.{first.suite}").SUITES[first.profile]
    named = {run.case.name for run in runs}
    cases = tuple(case for case in suite.cases if case.name in named)
    settings = {run.case.name: {run.label: run.method} for run in runs}
    narrowed = replace(
        suite,
        cases=cases,
        methods={first.label: first.method},
        optional=(),
        optional_methods=(),
        own_architectures={},
        own_settings=settings,
        reference=None,
    )
    return {run.key for run in narrowed.runs()}


def checked(
    store: Store, others: Sequence[Record], share: float = SHARE, rng: random.Random | None = None
) -> Iterator[Finding]:
    """Yield the outcome of each check of the runs in a store, up to the first problem.

    `others` are runs of other methods on the same data. The method's module is imported here; its
    fits are re-run in separate processes.
    """
    inspection = inspect(store, rescore=True)
    damage = [f"{f.path.name}: {f.kind}, {f.reason}" for f in inspection.findings]
    yield Finding("checksums, settings and scores from predictions", "; ".join(damage[:3]))
    if damage:
        return
    records = list(store.records())
    for check in (_one_method, _protocol, _code):
        finding = check(records)
        yield finding
        if finding.problem:
            return
    finding = _data(records, others)
    yield finding
    if not finding.problem:
        yield from _repeated(store, records, share, rng or random.SystemRandom())


def _one_method(records: Sequence[Record]) -> Finding:
    name = "runs of one method in one profile"
    kinds = {(r.suite, r.profile, r.method) for r in records}
    if len(kinds) != 1:
        return Finding(name, f"runs of {counted(len(kinds), 'kind')}")
    failed = sum(record.outcome.status == "failed" for record in records)
    return Finding(name, counted(failed, "failed run") if failed else "")


def _protocol(records: Sequence[Record]) -> Finding:
    name = "exactly the runs of the profile"
    try:
        asked = _asked(_rebuilt(records))
    except (NotRepeatable, ImportError, KeyError, ValueError) as error:
        return Finding(name, str(error))
    keys = {record.key for record in records}
    problems = [
        f"{len(asked - keys)} of {len(asked)} runs are missing" if asked - keys else "",
        f"{counted(len(keys - asked), verb='is')} not in the profile" if keys - asked else "",
    ]
    return Finding(name, "; ".join(filter(None, problems)))


def _code(records: Sequence[Record]) -> Finding:
    run = rebuilt_run(records[0], packages_in(records))
    digest = method_digest(run.method)
    other = [record.key for record in records if record.circumstances.code_sha256 != digest]
    problem = f"made by other code: {counted(len(other))}, such as {other[0]}" if other else ""
    return Finding("the code of the method and everything it imports from this project", problem)


def _data(records: Sequence[Record], others: Sequence[Record]) -> Finding:
    known = {
        (r.dataset, r.fold): r.circumstances.data_sha256
        for r in others
        if r.circumstances.data_sha256
    }
    odd = [
        r.key
        for r in records
        if known.get((r.dataset, r.fold), r.circumstances.data_sha256)
        != r.circumstances.data_sha256
    ]
    problem = (
        f"made with other data than the bundle's: {counted(len(odd))}, such as {odd[0]}"
        if odd
        else ""
    )
    return Finding("the data of the runs in the bundle", problem)


def _repeated(
    store: Store, records: Sequence[Record], share: float, rng: random.Random
) -> Iterator[Finding]:
    """Yield the outcome of re-running some of the runs."""
    chosen = rng.sample(records, max(1, ceil_of(share, len(records))))
    packages = packages_in(records)
    for number, record in enumerate(chosen, 1):
        predictions = store.predictions(record.key) if record.outcome.predictions_sha256 else None
        name = f"re-run {number} of {len(chosen)}: {record.dataset}, fold {record.fold}"
        name += f", seed {record.seed}"
        try:
            result = reproduce(record, predictions, packages, apart=True)
        except NotRepeatable as error:
            yield Finding(name, str(error))
            return
        different = [r.name for r in result.results if r.verdict == "differs"]
        problem = f"{', '.join(different[:3])} differ" if different else ""
        yield Finding(f"{name}, {result.verdict}", problem)
        if problem:
            return
