"""Failures as a terminal shows them, and requests to end a process, handled like Ctrl-C."""

import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from rich.console import Console

from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.records.record import Record

LINES, CHARACTERS = 12, 500
"""Maximum number of traceback lines printed before the reason, and their length."""


def reason_of(record: Record) -> str:
    """Return the last line of a run's error."""
    return record.outcome.last_line[:CHARACTERS] or "no reason given"


def frames_of(record: Record) -> tuple[str, ...]:
    """Return the lines before the reason, with the innermost frames; none without frames."""
    lines = (record.outcome.error or "").strip().splitlines()
    return (
        tuple(line[:CHARACTERS] for line in lines[-LINES - 1 : -1])
        if record.outcome.failed_at
        else ()
    )


def _together(
    missing: Mapping[tuple[str, str, str], Iterable[str]],
) -> Iterator[tuple[str, str, str, str]]:
    """Yield methods, data sets, conditions and reason; lines with equal reasons are merged."""
    methods: dict[tuple[str, str, str], list[str]] = {}
    for (method, dataset, reason), conditions in missing.items():
        methods.setdefault((dataset, ", ".join(conditions), reason), []).append(method)
    datasets: dict[tuple[str, str, str], list[str]] = {}
    for (dataset, conditions, reason), names in methods.items():
        datasets.setdefault((", ".join(names), conditions, reason), []).append(dataset)
    for (names, conditions, reason), sets in datasets.items():
        yield names, ", ".join(sets), conditions, reason


def print_failures(records: Iterable[Record], console: Console) -> None:
    """Print one line for each run that failed or diverged, with the reason.

    The last frames of a traceback follow its first occurrence. Completed runs without some scores
    come first, one line for each reason.
    """
    records = list(records)
    missing: dict[tuple[str, str, str], dict[str, None]] = {}
    for record in records:
        for condition, reason in record.outcome.not_scored.items():
            missing.setdefault((record.method, record.dataset, reason), {})[condition] = None
        for condition, reasons in record.outcome.unanswered.items():
            for metric, reason in reasons.items():
                missing_key = record.method, record.dataset, reason
                missing.setdefault(missing_key, {})[f"{condition} ({metric})"] = None
    for methods, datasets, conditions, reason in _together(missing):
        console.print(
            legible(f"not scored: {methods} on {datasets} under {conditions}: {reason}"),
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    shown: set[tuple[str, ...]] = set()
    for record in records:
        if record.outcome.status != "completed":
            lines = [
                f"{record.outcome.status}: {record.method} on {record.dataset}, "
                f"fold {record.fold}, seed {record.seed}: {reason_of(record)}"
            ]
            if (frames := frames_of(record)) not in shown:
                shown.add(frames)
                lines += frames
            text = "\n".join(map(legible, lines))
            console.print(text, markup=False, highlight=False, soft_wrap=True)


ASKING_TO_END = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """A scheduler, a shell or a closed terminal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"asked to end by {signal.Signals(number).name}")
        self.number = number


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Raise `Terminated` in the block if a signal asks this process to end.

    A signal that is already ignored or handled (nohup) is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[Terminated] = []

    def end(number: int, frame: FrameType | None) -> NoReturn:
        asked.append(Terminated(number))
        raise asked[-1]

    handled = [number for number in ASKING_TO_END if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    except KeyboardInterrupt:
        if asked:  # compiled code it passed through, such as Ray's, may have replaced it
            raise asked[-1] from None
        raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
