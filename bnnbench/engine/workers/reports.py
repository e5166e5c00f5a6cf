"""Reports of a worker process to its driver, as `Plain` messages, and their validation.

The sender may run third-party code, so that every report is checked: what is malformed fails the
task that was assigned, and nothing else.
"""

import builtins
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bnnbench.datasets import errors
from bnnbench.engine.records.record import Record
from bnnbench.engine.records.record_json import check_identity, from_json, to_json
from bnnbench.engine.run.devices import NoSuchDevice
from bnnbench.engine.run.error_texts import message
from bnnbench.engine.run.outcomes import identity
from bnnbench.engine.run.sandbox.sandbox import SandboxUnavailable
from bnnbench.engine.run.states import Failed
from bnnbench.engine.run.task import Draft, Packed, RunResult, Task
from bnnbench.engine.workers.base import ExecutorUnavailable, Lost
from bnnbench.engine.workers.channel import Malformed, Plain

_MISTAKES = (
    *(errors.DataUnavailable, errors.DataDamaged, errors.NothingToLearn, errors.PoolTooSmall),
    *(ExecutorUnavailable, NoSuchDevice, SandboxUnavailable),
)

_BUILT_IN = (
    *("ArithmeticError", "AssertionError", "AttributeError", "FileNotFoundError", "ImportError"),
    *("IndexError", "KeyError", "MemoryError", "ModuleNotFoundError", "NotImplementedError"),
    *("OSError", "PermissionError", "TypeError", "ValueError"),
)

ERRORS: Mapping[str, type[Exception]] = {
    **{kind.__name__: kind for kind in _MISTAKES},
    **{name: getattr(builtins, name) for name in _BUILT_IN},
}
"""Kind → class of errors that keep their class on the way to the driver; others become a
RuntimeError with the traceback."""


LARGEST_RUN, LARGEST_RECORDS = 2**31, 2**30
"""Maximum number of bytes of a run's predictions in a report, and of all else."""


def largest(task: Task) -> int:
    """Return the maximum number of bytes of a report on a task."""
    return LARGEST_RECORDS + LARGEST_RUN * len(task.runs)


def begun() -> Plain:
    """Return the report that a task has begun."""
    return Plain({"event": "begun"})


def progress(done: int, total: int, loss: float) -> Plain:
    """Return the report of a fit's progress."""
    return Plain({"event": "progress", "report": [int(done), int(total), float(loss)]})


def results(outcomes: Sequence[RunResult], last: bool) -> Plain:
    """Return the report of a task's outcomes; `last` if no task should follow in the process."""
    records = [to_json(outcome.record) for outcome in outcomes]
    event = "last" if last else "done"
    return _with_files(
        {"event": event, "records": records}, [[one.predictions] for one in outcomes]
    )


def small_enough(runs: Sequence[Packed]) -> list[Packed]:
    """Return the states, of which those are `Failed` whose predictions are too large to send."""
    return [_too_large(run) if _size(run) > LARGEST_RUN else run for run in runs]


def _size(run: Packed) -> int:
    return sum(len(file) for file in (run.predictions, run.trials) if file is not None)


def _too_large(run: Packed) -> Packed:
    reason = (
        f"its predictions take {_size(run) / 2**30:.1f} GiB, and the limit is "
        f"{LARGEST_RUN / 2**30:g} GiB for each run: use fewer draws, "
        "or give their class a `summary`"
    )
    return Packed(Failed.by(ValueError(reason), run.state))


def predictions(runs: Sequence[Packed]) -> Plain:
    """Return the report of all predictions that need no test target."""
    return _with_files({"event": "predictions"}, [[run.predictions, run.trials] for run in runs])


def drafts(ends: Sequence[Draft]) -> Plain:
    """Return the report of a task's drafts, which follows that of its predictions."""
    records = [to_json(end.record) for end in ends]
    return _with_files({"event": "drafts", "records": records}, [[one.revealed] for one in ends])


def _with_files(content: dict[str, Any], files: Sequence[Sequence[bytes | None]]) -> Plain:
    stored = [[file is not None for file in of_run] for of_run in files]
    flat = (file for of_run in files for file in of_run if file is not None)
    return Plain(content | {"stored": stored}, tuple(flat))


def broken(lost: Lost) -> Plain:
    """Return the report that the device of a process has failed."""
    return Plain({"event": "broken", "reason": lost.reason})


def failure(error: Exception) -> Plain:
    """Return the report of an error of the engine or of a data source, while it is handled."""
    kind = type(error).__name__
    name = kind if ERRORS.get(kind) is type(error) else ""
    return Plain(
        {"event": "error", "kind": name, "text": _said(error), "trace": traceback.format_exc()}
    )


def _said(error: Exception) -> str:
    """Return the text from which an equal error is made, if it has one."""
    (text,) = error.args if len(error.args) == 1 else (message(error),)
    return text if isinstance(text, str) else message(error)


def read(report: Plain, task: Task) -> tuple[str, Any]:
    """Return event and content of a report on the task that was assigned. Raises `Malformed`."""
    content = report.content
    event = content.get("event") if isinstance(content, Mapping) else None
    readers = {
        "begun": lambda *_: None,
        "progress": _progress,
        "predictions": _predictions,
        "drafts": _drafts,
        "done": _results,
        "last": _results,
        "broken": _broken,
        "error": _error,
    }
    if not isinstance(event, str) or event not in readers:
        raise Malformed("a report of an unknown event")
    try:
        return event, readers[event](report, task)
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"a report of the event {event!r} that is not valid: {error}") from error


def _progress(report: Plain, task: Task) -> tuple[int, int, float]:
    done, total, loss = report.content["report"]
    if not (type(done) is type(total) is int and isinstance(loss, float)):
        raise TypeError("needed two whole numbers and a loss")
    return done, total, loss


def _broken(report: Plain, task: Task) -> Lost:
    return Lost(_text(report, "reason"))


def _error(report: Plain, task: Task) -> Exception:
    trace = _text(report, "trace")
    kind = ERRORS.get(_text(report, "kind"))
    if kind is None:
        return RuntimeError(trace)
    error = kind(_text(report, "text"))
    error.add_note(f"In a worker process:\n{trace}")
    return error


def _text(report: Plain, name: str) -> str:
    text = report.content[name]
    if not isinstance(text, str):
        raise TypeError(f"needed text for {name}")
    return text


def _files(report: Plain, task: Task, width: int) -> list[list[bytes | None]]:
    """Return the files of each run, `width` of them or None in their place."""
    stored = report.content["stored"]
    flags = [flag for of_run in stored for flag in of_run]
    if [len(of_run) for of_run in stored] != [width] * len(task.runs):
        raise ValueError("needed files of every run of the task")
    if any(type(flag) is not bool for flag in flags) or sum(flags) != len(report.files):
        raise ValueError("the number of files differs from that of stored predictions")
    files = iter(report.files)
    return [[next(files) if flag else None for flag in of_run] for of_run in stored]


def _predictions(report: Plain, task: Task) -> list[list[bytes | None]]:
    return _files(report, task, width=2)


def _records(report: Plain, task: Task) -> list[Record]:
    """Return the records, as of the task's runs whatever they say."""
    records = [from_json(text) for text in report.content["records"]]
    for record, run in zip(records, task.runs, strict=True):
        check_identity(record, run.key)
    return [replace(r, **identity(run, task)) for r, run in zip(records, task.runs, strict=True)]


def _drafts(report: Plain, task: Task) -> list[Draft]:
    files = _files(report, task, width=1)
    pairs = zip(_records(report, task), files, strict=True)
    return [Draft(record, None, revealed) for record, (revealed,) in pairs]


def _results(report: Plain, task: Task) -> list[RunResult]:
    pairs = zip(_records(report, task), _files(report, task, width=1), strict=True)
    outcomes = [RunResult(record, predictions) for record, (predictions,) in pairs]
    if any((o.predictions is None) == (o.record.outcome.status == "completed") for o in outcomes):
        raise ValueError("predictions are stored of completed runs, and of no others")
    return outcomes
