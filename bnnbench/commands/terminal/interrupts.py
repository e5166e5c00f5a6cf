"""Requests to end a process (SIGTERM, SIGHUP), handled like Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

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
