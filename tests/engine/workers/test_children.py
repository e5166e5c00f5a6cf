"""Processes import nothing of the program that starts them, and end as they are told to."""

import errno
import os
import signal
import socket
import sys
import threading
import time
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack

import pytest

from bnnbench.engine.run.worker_process import is_worker
from bnnbench.engine.workers import children, interpreter
from bnnbench.engine.workers.channel import Channel
from bnnbench.engine.workers.children import send_signal, started
from bnnbench.engine.workers.pool import NotSent, Pool


@pytest.fixture(params=["forked", pytest.param("interpreter", marks=pytest.mark.long)])
def way(request, monkeypatch):
    """Let processes be forked or, as on other systems than Linux, interpreters of their own."""
    if request.param == "interpreter":
        monkeypatch.setattr(children.sys, "platform", "other")


def tell(end, *others):
    """Tell what a process sees, and wait for its end."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    files = {number for number in range(3, 256) if is_open(number)}
    Channel(end).send(
        {
            "main": getattr(sys.modules["__main__"], "__file__", None),
            "folder": os.getcwd(),
            "variable": os.environ.get("MINE"),
            "path": sys.path,
            "input": os.read(0, 1),
            "blocked": blocked,
            "sockets": len(files),
            "others": [other.recv(3) for other in others],
            "worker": is_worker(),
        }
    )
    end.recv(1)
    sys.exit(5)


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_it_has_the_context_of_its_driver_and_nothing_else(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "mine"))
    ours, theirs = Channel.pair()
    one, other = socket.socketpair()
    with theirs.socket, other:
        child = started(tell, theirs.socket, other, environment={**os.environ, "MINE": "yes"})
    one.sendall(b"abc")
    told = ours.receive()
    assert (told["main"], told["input"], told["variable"]) == (None, b"", "yes")
    assert (told["folder"], told["path"][0]) == (str(tmp_path), str(tmp_path / "mine"))
    assert told["blocked"] >= {signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2}
    assert told["others"] == [b"abc"]
    assert told["sockets"] == 3, "only its line and what was passed"
    assert told["worker"]
    assert not is_worker()
    assert child.exitcode is None
    ours.close()
    one.close()
    child.join()
    assert child.exitcode == 5


def raises(end):
    raise ValueError("its own")


def test_an_error_or_a_signal_is_the_exit_code(way):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        failing, waiting = started(raises, theirs), started(tell, theirs, ours)
        failing.join()
        send_signal(waiting, signal.SIGTERM)
        waiting.join()
        assert (failing.exitcode, waiting.exitcode) == (1, -signal.SIGTERM)
        send_signal(waiting, signal.SIGTERM)  # it has ended


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
def test_a_server_that_is_killed_gives_way_to_another():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        first = started(raises, theirs)
        first.join()
        server = children._server
        server._process.kill()
        server._process.wait()
        second = started(raises, theirs)
        second.join()
    assert (first.exitcode, second.exitcode) == (1, 1)
    assert children._server is not server


def test_a_fork_of_the_driver_leaves_the_server_alone():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        started(raises, theirs).join()
        server = children._server
        if (pid := os.fork()) == 0:
            os._exit(int(children._server is not None))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert children._server is server
        again = started(raises, theirs)
        again.join()
        assert again.exitcode == 1


def number_of(n):
    return n, os.getpid()


def ends():
    os._exit(0)


def fails():
    raise ValueError("its own")


def waits(folder):
    os.mkdir(f"{folder}/{os.getpid()}")
    threading.Event().wait()


def test_a_pool_answers_from_processes():
    with Pool(2) as pool:
        numbers = [pool.submit(number_of, n) for n in range(3)]
        broken, failing = pool.submit(ends), pool.submit(fails)
        assert [number.result()[0] for number in numbers] == [0, 1, 2]
        assert len({number.result()[1] for number in numbers} | {os.getpid()}) == 4
        with pytest.raises(BrokenExecutor, match="before it answered"):
            broken.result()
        with pytest.raises(ValueError, match="its own"):
            failing.result()


def test_an_interrupt_ends_the_processes_of_a_pool(tmp_path):
    pool = Pool(1)
    running, later = (pool.submit(waits, tmp_path) for _ in range(2))
    deadline = time.monotonic() + 60
    while not (begun := [*tmp_path.iterdir()]):
        assert time.monotonic() < deadline, "no process of the pool has begun"
        time.sleep(0.01)
    pool.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert later.cancelled()
    assert isinstance(running.exception(), BrokenExecutor)
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun[0].name), 0)


class Unsendable(RuntimeError):
    """An error that cannot be made again from its message."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


def fails_unsendably():
    raise Unsendable("its", "own")


def answers_unsendably():
    return threading.Lock()


def test_what_a_pool_cannot_send_is_said():
    with Pool(2) as pool:
        with pytest.raises(NotSent, match=r"^Unsendable: its own$"):
            pool.submit(fails_unsendably).result()
        with pytest.raises(NotSent, match=r"^its result: TypeError: cannot pickle"):
            pool.submit(answers_unsendably).result()


def test_an_interrupt_ends_processes_that_are_just_starting(tmp_path):
    pool = Pool(1)
    running = pool.submit(waits, tmp_path)  # not in the pool's list before it has been forked
    pool.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert running.cancelled() or isinstance(running.exception(), BrokenExecutor)


def test_a_process_that_cannot_be_forked_is_reported(monkeypatch):
    def fork():
        raise OSError(errno.EAGAIN, "no more processes")

    monkeypatch.setattr(interpreter.os, "fork", fork)
    forks = interpreter._Forks()
    with ExitStack() as sockets:
        pairs = [map(sockets.enter_context, socket.socketpair()) for _ in range(3)]
        (control, ours), (report, its), (line, theirs) = pairs
        socket.send_fds(ours, [b"f"], [theirs.fileno(), its.fileno()])
        assert forks.fork(control)
        assert not forks.reports
        with pytest.raises(OSError, match="no process could be forked") as error:
            children.Forked(line, report)
    assert error.value.errno == errno.EAGAIN
