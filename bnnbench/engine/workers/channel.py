"""Messages between two processes, each received completely or not at all."""

import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct(">Q")

_LARGEST_READ = 2**20
"""Maximum number of bytes per read."""


class Channel:
    """One end of a pair of sockets that carries any picklable messages except None."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._read = bytearray()

    @classmethod
    def pair(cls) -> tuple["Channel", "Channel"]:
        """Return two ends, the second for another process."""
        first, second = socket.socketpair()
        return cls(first), cls(second)

    def fileno(self) -> int:
        """Return the file descriptor to wait for; -1 if this end is closed."""
        return self.socket.fileno()

    def send(self, message: object) -> None:
        """Send a message. Raises OSError if the other end is closed."""
        content = pickle.dumps(message)
        self.socket.sendall(_LENGTH.pack(len(content)) + content)

    def receive(self) -> Any:
        """Return the next message. Raises EOFError once the other end is closed."""
        while (message := self._next(flags=0)) is None:
            pass
        return message

    def arrived(self) -> Any | None:
        """Return the next message if it has arrived completely, else None; never wait.

        A process stopped while sending leaves an incomplete message, for which nobody waits.
        Raises EOFError once the other end is closed.
        """
        return self._next(flags=socket.MSG_DONTWAIT)

    def close(self) -> None:
        """Close this end; the other end notices."""
        self.socket.close()

    def _next(self, flags: int) -> Any | None:
        while missing := self._missing():
            try:
                part = self.socket.recv(min(missing, _LARGEST_READ), flags)
            except BlockingIOError:
                return None
            except OSError as error:
                raise EOFError(str(error)) from error
            if not part:
                raise EOFError("the other end is closed")
            self._read += part
        content = bytes(self._read[_LENGTH.size :])
        self._read.clear()
        return pickle.loads(content)

    def _missing(self) -> int:
        """Return the number of bytes of the next message still to come, as far as known."""
        if len(self._read) < _LENGTH.size:
            return _LENGTH.size - len(self._read)
        (length,) = _LENGTH.unpack_from(self._read)
        return _LENGTH.size + length - len(self._read)
