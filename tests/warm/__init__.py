"""Python commands in separate processes that start at once.

A process that imports torch and this project needs seconds before the tested work starts. Unless
the test is about the start of Python, `python("-m", ...)` is the command of a client (`client.py`)
of a server (`server.py`) that has imported them: it runs the command in a fork of itself, with the
client's standard streams, working directory and variables. Signals to the client reach that
process, which ends with its client, and the client ends with its exit code.
"""

import atexit
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

CLIENT = Path(__file__).with_name("client.py")


def python(*arguments: str) -> list[str]:
    """Return the command of a Python that starts at once, if the system supports it."""
    if sys.platform != "linux":
        return [sys.executable, *arguments]
    return [sys.executable, "-I", "-S", str(CLIENT), _server(), *arguments]


def process_of(client: subprocess.Popen) -> int:
    """Return the number of the process behind a client."""
    link = Path(_server()).with_name(str(client.pid))
    while not link.is_symlink():
        assert client.poll() is None
        time.sleep(0.01)
    return int(link.readlink().name)


@cache
def _server() -> str:
    """Return the address of this process's server, which ends with this process."""
    address = Path(mkdtemp(prefix="warm-")) / "socket"
    command = [sys.executable, "-m", "tests.warm.server", str(address)]
    root = Path(__file__).parents[2]
    server = subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert server.stdout
    assert server.stdout.read(1), "the server of processes did not start"
    server.stdout.close()
    atexit.register(server.communicate)  # its input ends, and so does it
    return str(address)
