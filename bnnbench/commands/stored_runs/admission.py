"""Checks of submitted runs, in the process that decides, which imports none of their code."""

import math
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from bnnbench.commands.stored_runs import forgery, marks
from bnnbench.commands.stored_runs.headlines import changed_by
from bnnbench.commands.stored_runs.labels_taken import check_label
from bnnbench.commands.stored_runs.reproduction import compare, device_of
from bnnbench.commands.stored_runs.submitted import (
    Refused,
    Submitted,
    check_modules,
    check_names,
    code_digest,
)
from bnnbench.commands.stored_runs.submitted_data import check_data, check_scores
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.engine.declare.description import canonical_json, describe
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.measuring.provenance import Code
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.store.inspection import inspect
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.engine.workers import Limits
from bnnbench.engine.workers.separate import NoAnswer, answer
from bnnbench.engine.workers.worker import Worker
from bnnbench.methods import own_files
from bnnbench.wording import counted

SHARE = 0.1
"""The share of runs that are re-run; at least one is."""

OF_CODE = "the code of the method and everything it imports from this project"

IMPORT_SECONDS = 300.0
"""Maximum time to import the method's files."""

LONGEST_RERUN = 600.0
"""Seconds that every re-run may take, however short the recorded fit."""

ATTEMPTS = 3
"""Maximum number of re-runs of a run whose cost alone differs, as other programs may cause that."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    check: str
    problem: str = ""
    """The reason why the check failed; "" if it passed."""


def checked(
    store: Store,
    others: Sequence[Record],
    share: float = SHARE,
    rng: random.Random | None = None,
) -> Iterator[Finding]:
    """Yield the outcome of each check of the runs in a store, up to the first problem.

    `others` are the runs of the bundle. The method's files are imported only by processes that are
    started for it: one constructs the method, one scores predictions of its own class, one fits.
    """
    inspection = inspect(store)
    damage = [f"{f.path.name}: {f.kind}, {f.reason}" for f in inspection.findings]
    yield Finding("checksums and settings", "; ".join(damage[:3]))
    if damage:
        return
    submitted = Submitted(store, tuple(store.records()), store.folder / "code")
    checks: Sequence[tuple[str, Callable[[], None]]] = (
        ("names of classes and files", lambda: _names(submitted)),
        ("runs of one method in one profile", lambda: _one_method(submitted)),
        ("exactly the runs of the profile", lambda: _protocol(submitted)),
        ("the label", lambda: check_label(submitted, others)),
        (
            "the code of the method and everything it imports from this project",
            lambda: _code(submitted),
        ),
        ("the data of the runs in the bundle", lambda: _same_data(submitted, others)),
        ("data and targets of this machine", lambda: check_data(submitted)),
        ("scores from predictions", lambda: check_scores(submitted)),
        ("the method, constructed in a process of its own", lambda: _constructed(submitted)),
    )
    for name, check in checks:
        finding = Finding(name, _problem_of(check))
        yield finding
        if finding.problem:
            return
    yield from _repeated(submitted, others, share, rng or random.SystemRandom())


def _problem_of(check: Callable[[], None]) -> str:
    """Return the reason why a check fails, else ""."""
    try:
        check()
    except (Refused, CorruptRecord, DataUnavailable, DataDamaged) as error:
        return str(error)
    return ""


def _names(submitted: Submitted) -> None:
    check_modules(submitted.modules)
    check_names(submitted.records, submitted.modules)


def _one_method(submitted: Submitted) -> None:
    records = submitted.records
    kinds = {(r.suite, r.profile, r.method) for r in records}
    if len(kinds) != 1:
        raise Refused(f"runs of {counted(len(kinds), 'kind')}")
    if failed := sum(record.outcome.status == "failed" for record in records):
        raise Refused(counted(failed, "failed run"))
    if any(record.external is not None for record in records):
        raise Refused("predictions of another program, which cannot be made again here")


def _protocol(submitted: Submitted) -> None:
    asked, keys = submitted.runs, {record.key for record in submitted.records}
    missing, added = asked.keys() - keys, keys - asked.keys()
    problems = [
        f"{len(missing)} of {len(asked)} runs are missing" if missing else "",
        f"{counted(len(added), verb='is')} not in the profile" if added else "",
    ]
    if any(problems):
        raise Refused("; ".join(filter(None, problems)))
    conditions = {_text(e.condition) for e in submitted.suite.evaluations}
    for record in submitted.records:
        declared = {**submitted.runs[record.key].names, "method": record.method}
        stated = {name: getattr(record, name) for name in declared}
        evaluated = {_text(described.get("condition")) for described in record.evaluations}
        if stated != declared or evaluated != conditions or not _reproduces(submitted, record):
            raise Refused(f"the run {record.key} states other names than the profile declares")


def _reproduces(submitted: Submitted, record: Record) -> bool:
    declared = describe([vars(one) for one in submitted.suite.reproduces])
    return describe(list(record.reproduces)) == declared


def _text(described: object) -> str:
    return canonical_json(describe(described))


def _code(submitted: Submitted) -> None:
    for method in {_text(method): method for method in submitted.methods.values()}.values():
        digest = code_digest(method, submitted.code)
        of_method = [r for r in submitted.records if _text(r.run["method"]) == _text(method)]
        other = [r.key for r in of_method if r.circumstances.code_sha256 != digest]
        if other:
            raise Refused(f"made by other code: {counted(len(other))}, such as {other[0]}")


def _same_data(submitted: Submitted, others: Sequence[Record]) -> None:
    suite = submitted.first.suite
    known = {
        (r.dataset, r.fold): r.circumstances.data_sha256
        for r in others
        if r.suite == suite and r.circumstances.data_sha256
    }
    odd = [
        r.key
        for r in submitted.records
        if known.get((r.dataset, r.fold), r.circumstances.data_sha256)
        != r.circumstances.data_sha256
    ]
    if odd:
        raise Refused(
            f"made with other data than the bundle's: {counted(len(odd))}, such as {odd[0]}"
        )


def _constructed(submitted: Submitted) -> None:
    """Raise `Refused` unless the method's class describes itself as the records do."""
    methods = {_text(method): method for method in submitted.methods.values()}
    arguments = _described_again, list(methods.values()), submitted.modules
    try:
        again = answer(*arguments, folder=str(submitted.code), seconds=IMPORT_SECONDS)
    except NoAnswer as error:
        raise Refused(f"its files cannot be imported, or its class constructed: {error}") from error
    if again != list(methods):
        raise Refused("its class describes itself otherwise than the records do")


def _described_again(methods: list[object], modules: tuple[str, ...]) -> list[str]:
    """Return the canonical descriptions of methods that are constructed from theirs."""
    for module in modules:
        import_module(module)
    return [_text(rebuilt(method, modules)) for method in methods]


def _repeated(
    submitted: Submitted, others: Sequence[Record], share: float, rng: random.Random
) -> Iterator[Finding]:
    """Yield the outcome of re-running some of the runs; all, if they change a headline."""
    records = list(submitted.records)
    if headlines := changed_by(records, others):
        more = f" and {len(headlines) - 1} more" * (len(headlines) > 1)
        yield Finding(f"every run is re-run, as a headline would change: {headlines[0]}{more}")
    count = len(records) if headlines else max(1, math.ceil(share * len(records)))
    chosen = records if count == len(records) else rng.sample(records, count)
    yield Finding(forgery.sentence(len(records), count))
    for number, record in enumerate(chosen, 1):
        name = f"re-run {number} of {count}: {record.dataset}, fold {record.fold}"
        finding = _compared(submitted, record, f"{name}, seed {record.seed}")
        yield finding
        if finding.problem:
            return


def _compared(submitted: Submitted, record: Record, name: str) -> Finding:
    """Return the comparison of a run with its re-runs: more than one if only its cost differs."""
    packed = submitted.store.packed(record.key) if record.outcome.predictions_sha256 else None
    different, verdict = [], "not re-run"
    try:
        for outcome in _reruns(submitted, record):
            result = compare(record, packed, outcome)
            different = [r.name for r in result.results if r.verdict == "differs"]
            different += marks.differing(record, outcome.record)
            verdict, costs = result.verdict, marks.differing_costs(record, outcome.record)
            if different or not costs:
                break
            different = costs
    except NotRepeatable as error:
        return Finding(name, str(error))
    return Finding(f"{name}, {verdict}", f"{', '.join(different[:3])} differ" * bool(different))


def _reruns(submitted: Submitted, record: Record) -> Iterator[RunResult]:
    """Yield outcomes of a run in processes of their own, which alone import the method.

    Raises `NotRepeatable`.
    """
    worker = Worker(Limits(_seconds_allowed(record)))
    try:
        for _ in range(ATTEMPTS):
            with _importable(submitted.code):
                *_, (event, content) = worker.messages(_task(submitted, record))
            if event != "done":
                reason = content.reason if isinstance(content, Lost) else content
                raise NotRepeatable(f"the process of the re-run ended: {reason}")
            (outcome,) = content
            if outcome.record.key != record.key:
                raise NotRepeatable("its class describes itself otherwise than the record does")
            yield outcome
    finally:
        worker.dismiss()


def _task(submitted: Submitted, record: Record) -> Task:
    return Task(
        (submitted.runs[record.key],),
        submitted.evaluations(record),
        device_of(record),
        submitted.suite.reproduces,
        code=Code(record.circumstances.code_sha256, False),
    )


def _seconds_allowed(record: Record) -> float:
    cost = record.cost
    if cost is None:
        return LONGEST_RERUN
    return LONGEST_RERUN + marks.FACTOR * (
        cost.fitted_together * cost.fit_seconds + cost.predict_seconds + cost.compile_seconds
    )


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let processes that start meanwhile import from a folder, in place of any other."""
    before = os.environ.get(own_files.VARIABLE)
    os.environ[own_files.VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[own_files.VARIABLE]
        else:
            os.environ[own_files.VARIABLE] = before
