"""Re-runs of submitted runs, in processes that import the method for this process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bnnbench.commands.stored_runs import marks
from bnnbench.commands.stored_runs.reproduction import compare, device_of
from bnnbench.commands.stored_runs.submitted import Submitted
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.measuring.provenance import Code
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.store.rebuilding import NotRepeatable
from bnnbench.engine.workers import Limits
from bnnbench.engine.workers.base import Lost
from bnnbench.engine.workers.worker import Worker
from bnnbench.methods import own_files

LONGEST_RERUN = 600.0
"""Seconds that every re-run may take, however short the recorded fit."""

MOST_SECONDS = 7 * 86_400.0
"""Maximum seconds that a re-run may take because of its recorded fit."""

ATTEMPTS = 3
"""Maximum number of re-runs of a run whose cost alone differs, as other programs may cause that."""


def compared(submitted: Submitted, record: Record) -> tuple[str, list[str]]:
    """Return the verdict on a run that is re-run, and in what it differs.

    It is re-run again if only its cost differs. Raises `NotRepeatable`.
    """
    packed = submitted.store.packed(record.key) if record.outcome.predictions_sha256 else None
    verdict, different = "", list[str]()
    for outcome in _reruns(submitted, record):
        result = compare(record, packed, outcome)
        verdict, different = result.verdict, marks.differing(record, outcome.record)
        different += [r.name for r in result.results if r.verdict == "differs"]
        if different or not (costs := marks.differing_costs(record, outcome.record)):
            break
        different = costs
    return verdict, different


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
    run = submitted.runs[record.key]
    return Task(
        (run,),
        submitted.evaluations(record),
        device_of(record),
        submitted.suite.reproduces,
        codes=((run.label, Code(record.circumstances.code_sha256, False)),),
        sandbox=submitted.sandbox,
    )


def _seconds_allowed(record: Record) -> float:
    cost = record.cost
    if cost is None:
        return LONGEST_RERUN
    stated = cost.fitted_together * cost.fit_seconds + cost.predict_seconds
    return LONGEST_RERUN + min(marks.FACTOR * stated, MOST_SECONDS)


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
