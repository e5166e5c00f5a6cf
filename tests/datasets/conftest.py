"""A server on this machine that misbehaves as specified."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bnnbench.datasets.reading import files


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch):
    """Forget what earlier tests learned about hosts and files."""
    monkeypatch.setattr(files, "_answered", {})
    monkeypatch.setattr(files, "_verified", set())
    monkeypatch.delenv("BNNBENCH_OFFLINE", raising=False)


@pytest.fixture
def at_hand(data_folder, monkeypatch):
    """Return sources as they are, but skip the test if the folder of real data lacks a file."""
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))

    def require(source):
        if missing := source.missing():
            pytest.skip(f"real data: {missing[0]} is not there")
        return source

    return require


@dataclass
class Server:
    """Serves `answers`: path → the n-th response (from 0): status, body, length."""

    address: str
    answers: dict[str, Callable[[int], tuple[int, bytes, int]]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def url(self, path: str) -> str:
        return f"http://{self.address}{path}"

    def serve(self, path: str, content: bytes) -> str:
        """Serve a whole file and return its URL."""
        self.answers[path] = lambda _: (200, content, len(content))
        return self.url(path)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            earlier = state.requests.count(self.path)
            state.requests.append(self.path)
            status, body, length = state.answers.get(self.path, lambda _: (404, b"", 0))(earlier)
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        state.address = f"127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield state
        http.shutdown()
        thread.join()


def md5(content: bytes) -> str:
    return f"md5:{hashlib.md5(content, usedforsecurity=False).hexdigest()}"
