"""The process that loads the data of third-party methods and answers questions about their rows."""

import pickle
import socket
import traceback
from contextlib import suppress
from multiprocessing.connection import wait

from bnnbench.engine.run.serving import Refused, Session, without_code
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers.base import Lost
from bnnbench.engine.workers.channel import Channel, Closed, Malformed
from bnnbench.engine.workers.children import started
from bnnbench.engine.workers.travelling import pickled

_TASK, _REVEAL = b"t", b"r"
"""Commands of the driver: serve the rows of the task that follows; answer with test targets."""

LARGEST_QUESTION = 2**24
"""Maximum number of bytes of a question; it may list rows of a pool."""

MISUSED = "the process of the method asked for rows otherwise than bnnbench does, and was stopped"


class DataServerProcess:
    """The driver's end: the process serves the rows of one task at a time, and ends with it."""

    def __init__(self) -> None:
        self._control, theirs = Channel.pair()
        self._process = started(serve, theirs.socket)
        theirs.close()

    def connect(self, task: Task) -> socket.socket:
        """Return a socket for the process of a task, disconnecting the one before it.

        Raises OSError if the server has ended.
        """
        client, ours = socket.socketpair()
        with ours:
            try:
                while self.trouble() is not None:  # of an earlier task
                    pass
                socket.send_fds(self._control.socket, [_TASK], [ours.fileno()])
                self._control.forward(pickled(without_code(task)))
            except OSError:
                client.close()
                raise
        return client

    def reveal(self) -> None:
        """Let the process of the latest task have test targets. Raises OSError."""
        self._control.socket.sendall(_REVEAL)

    def trouble(self) -> Exception | Lost | None:
        """Return the error for which the server disconnected a process, if there is one.

        It is a `Lost` if the process misused the server, else an error of a data source.
        """
        with suppress(EOFError):
            return self._control.arrived()
        return None

    @property
    def lives(self) -> bool:
        """True if the process can serve a task."""
        return self._process.exitcode is None

    def dismiss(self) -> None:
        """End the process."""
        self._control.close()
        self._process.join()


def serve(control: socket.socket) -> None:
    """Answer the latest process's questions until the driver closes its end."""
    driver, client, session = Channel(control), None, None
    while True:
        if control in wait([control, client.socket] if client else [control]):
            command, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if command == _REVEAL:
                if session:
                    session.reveals = True
                continue
            if client:
                client.close()
            if not command:
                return
            client, session = Channel(socket.socket(fileno=descriptors[0])), _session(driver)
        elif client and not (session and _answered(client, session, driver)):
            client.close()
            client = None


def _session(driver: Channel) -> Session | None:
    """Return a session for the task that the driver sends; None if it cannot be opened here."""
    try:
        return Session(driver.receive())
    except Exception as error:
        driver.send(_portable(error))
        return None


def _answered(client: Channel, session: Session, driver: Channel) -> bool:
    """Answer a question if there is one; return whether more can come."""
    try:
        question = client.told(LARGEST_QUESTION)
        if question is None:
            return True
        answer = session.answer(question.content)
    except Closed:
        return False
    except (Malformed, Refused) as error:
        driver.send(Lost(f"{MISUSED}: {error}"))
        return False
    except Exception as error:
        driver.send(_portable(error))
        return False
    with suppress(OSError):  # the process has ended, as the next question will show
        client.send(answer)
    return True


def _portable(error: Exception) -> Exception:
    """Return the error with its traceback as a note, or as text if it cannot be pickled."""
    text = traceback.format_exc()
    error.add_note(f"In a worker process:\n{text}")
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(text)
