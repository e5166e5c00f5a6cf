"""Messages between processes.

A process that runs third-party code gets pickles and sends `Plain` messages, which run no code in
the process that reads them.
"""

import json
import pickle
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_LENGTH = struct.Struct(">Q")

_LARGEST_READ = 2**20
"""Maximum number of bytes per read."""

LARGEST = 2**31
"""Maximum number of bytes of a `Plain` message, files included."""


class Closed(EOFError):
    """The other end of a channel is closed."""


class Malformed(ValueError):
    """A message that its sender does not send if it follows the protocol."""


@dataclass(frozen=True)
class Plain:
    """A message of plain data and files."""

    content: Any
    """Anything that JSON can hold."""
    files: tuple[bytes, ...] = ()

    def packed(self) -> list[bytes]:
        """Return the parts of the message: the length of its header, the header, the files."""
        header = json.dumps([self.content, [len(file) for file in self.files]]).encode()
        return [_LENGTH.pack(len(header)), header, *self.files]

    @classmethod
    def unpacked(cls, message: bytes) -> "Plain":
        """Return a message from its joined parts. Raises `Malformed`."""
        try:
            (length,) = _LENGTH.unpack_from(message)
            start = _LENGTH.size + length
            content, lengths = json.loads(message[_LENGTH.size : start])
            if len(message) - start != sum(lengths) or min(lengths, default=0) < 0:
                raise ValueError("its files do not have the lengths in its header")
            return cls(content, _cut(message, start, lengths))
        except (struct.error, ValueError, TypeError, RecursionError) as error:
            raise Malformed(f"a message without a valid header: {error}") from error


def _cut(message: bytes, start: int, lengths: Sequence[int]) -> tuple[bytes, ...]:
    files = []
    for length in lengths:
        files.append(message[start : start + length])
        start += length
    return tuple(files)


class Channel:
    """One end of a pair of sockets that carries pickles, except None, and `Plain` messages."""

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
        """Send a pickle. Raises OSError if the other end is closed."""
        self._send([pickle.dumps(message)])

    def forward(self, pickled: bytes) -> None:
        """Send an object that is pickled already. Raises OSError if the other end is closed."""
        self._send([pickled])

    def tell(self, message: Plain) -> None:
        """Send a message without a pickle. Raises OSError if the other end is closed."""
        self._send(message.packed())

    def receive(self) -> Any:
        """Return the next pickled object, from a sender that is trusted.

        Raises `Closed` once the other end is closed.
        """
        while (message := self._next(flags=0)) is None:
            pass
        return pickle.loads(message)

    def arrived(self) -> Any | None:
        """Return the next pickled object if it has arrived completely, else None; never wait.

        The sender is trusted. Raises `Closed`.
        """
        message = self._next(flags=socket.MSG_DONTWAIT)
        return None if message is None else pickle.loads(message)

    def told(self, largest: int = LARGEST) -> Plain | None:
        """Return the next `Plain` message if it has arrived completely, else None; never wait.

        A process stopped while sending leaves an incomplete message, for which nobody waits.
        Raises `Closed` once the other end is closed, and `Malformed`, also for more than `largest`
        bytes.
        """
        message = self._next(flags=socket.MSG_DONTWAIT, largest=largest)
        return None if message is None else Plain.unpacked(message)

    def close(self) -> None:
        """Close this end; the other end notices."""
        self.socket.close()

    def _send(self, parts: Sequence[bytes]) -> None:
        length = sum(map(len, parts))
        parts = [_LENGTH.pack(length), *parts]
        for part in parts if length > _LARGEST_READ else [b"".join(parts)]:
            self.socket.sendall(part)

    def _next(self, flags: int, largest: int | None = None) -> bytes | None:
        while missing := self._missing(largest):
            try:
                part = self.socket.recv(min(missing, _LARGEST_READ), flags)
            except BlockingIOError:
                return None
            except OSError as error:
                raise Closed(str(error)) from error
            if not part:
                raise Closed("the other end is closed")
            self._read += part
        message = bytes(self._read[_LENGTH.size :])
        self._read.clear()
        return message

    def _missing(self, largest: int | None) -> int:
        """Return the number of bytes of the next message still to come, as far as known."""
        if len(self._read) < _LENGTH.size:
            return _LENGTH.size - len(self._read)
        (length,) = _LENGTH.unpack_from(self._read)
        if largest is not None and length > largest:
            raise Malformed(f"a message of {length} bytes, and the limit is {largest}")
        return _LENGTH.size + length - len(self._read)
