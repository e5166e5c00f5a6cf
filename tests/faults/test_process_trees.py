"""Limits apply to a method's whole process tree; no process stops the others."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from bnnbench.engine.workers import Limits
from bnnbench.engine.workers.base import Lost
from bnnbench.engine.workers.channel import Channel
from bnnbench.engine.workers.worker import Worker
from tests.engine.store.test_faults import alive, gone
from tests.faults.test_data_server import EXECUTORS, record, results, task

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc"),
]

ISOLATE = pytest.mark.parametrize("isolate", [True, False], ids=["apart", "among"])


def wait_for(file: Path) -> list[int]:
    give_up = time.monotonic() + 60
    while not file.exists() or len(file.read_text().split()) < 3:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    return [int(pid) for pid in file.read_text().split()]


@ISOLATE
def test_after_a_timeout_no_process_of_the_method_lives_on(tmp_path, isolate):
    file = tmp_path / "pids"
    limits = Limits(seconds=3.0)
    (late,) = results("processes", task("start", file), limits=limits, isolate=isolate)
    assert late == Lost("ran longer than 3 s")
    started = wait_for(file)
    assert len(started) == 3
    gone(started)


@ISOLATE
def test_the_memory_of_a_child_counts(isolate):
    limits = Limits(bytes=2**30)
    (greedy,) = results("processes", task("hold", 1100), limits=limits, isolate=isolate)
    assert greedy == Lost("needed more than 1 GiB of memory")


@ISOLATE
def test_a_stopped_process_costs_its_run_and_no_other(isolate):
    limits = Limits(seconds=5.0)
    others = [task(fold=fold) for fold in range(3)]
    stopped, *found = results(
        "processes", task("stop"), *others, limits=limits, workers=2, isolate=isolate
    )
    assert stopped == Lost("ran longer than 5 s")
    assert [record(each).outcome.status for each in found] == ["completed"] * 3


@pytest.mark.parametrize("deed", ["loader", "pool"])
@EXECUTORS
@ISOLATE
def test_a_method_may_start_processes(name, deed, isolate):
    (found,) = results(name, task(deed), isolate=isolate)
    assert record(found).outcome.status == "completed", record(found).outcome.error
    (plain,) = results(name, task(), isolate=isolate)
    assert record(found).outcome.scores["clean"]["rmse"] == pytest.approx(
        record(plain).outcome.scores["clean"]["rmse"], rel=1e-5
    )


def test_half_a_message_is_waited_for_by_nobody():
    ours, theirs = Channel.pair()
    assert ours.arrived() is None
    sender, receiver = socket.socketpair()
    with sender, receiver:
        Channel(sender).send(("done", "x" * 100_000))
        sent = receiver.recv(2**20)
        while len(sent) < 100_000:
            sent += receiver.recv(2**20)
    for cut in (3, 9, 5000):
        theirs.socket.sendall(sent[:cut])
        assert ours.arrived() is None
        theirs.socket.sendall(sent[cut:])
        assert ours.arrived() == ("done", "x" * 100_000)
    theirs.send(1)
    theirs.send(2)
    assert (ours.arrived(), ours.arrived(), ours.arrived()) == (1, 2, None)
    theirs.close()
    with pytest.raises(EOFError):
        ours.arrived()
    ours.close()


def test_a_large_message_comes_through_whole():
    ours, theirs = Channel.pair()
    message = os.urandom(20 * 2**20)
    sender = threading.Thread(target=theirs.send, args=(message,))
    sender.start()
    assert ours.receive() == message
    sender.join()
    ours.close()
    theirs.close()


def test_who_is_dismissed_leaves_no_process(tmp_path):
    file, worker = tmp_path / "pids", Worker(Limits())
    worker.assign(task("start", file))
    started = wait_for(file)
    assert all(alive(pid) for pid in started)
    worker.terminate()
    worker.dismiss()
    gone(started)


def test_who_ended_before_it_is_dismissed_leaves_no_process(tmp_path):
    file, worker = tmp_path / "pids", Worker(Limits())
    worker.assign(task("start", file))
    started = wait_for(file)
    parent = psutil.Process(started[0]).parent()
    worker.terminate()
    psutil.wait_procs([parent], timeout=20)
    worker.dismiss()
    gone(started)


def test_a_leader_that_ends_its_own_process_tree_ends_all_of_it():
    code = """
import os, subprocess, sys
from bnnbench.engine.workers import subprocesses
subprocesses.become_group_leader()
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
children = [subprocess.Popen(sleep, start_new_session=apart, **quiet) for apart in (False, True)]
print(*[child.pid for child in children], flush=True)
subprocesses.end(os.getpid(), subprocesses.descendants(os.getpid()))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    gone([int(pid) for pid in ended.stdout.split()])


def test_who_is_killed_leaves_no_process_of_its_session(tmp_path):
    file, worker = tmp_path / "pids", Worker(Limits())
    messages = worker.messages(task("start", file))
    reader = threading.Thread(target=lambda: endings.extend(messages))
    endings: list[object] = []
    reader.start()
    here, *elsewhere = wait_for(file)
    parent = int(Path(f"/proc/{here}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    reader.join(30)
    gone([here])
    worker.dismiss()
    assert endings == [("died", Lost("the worker was killed by SIGKILL (out of memory?)"))]
    for pid in elsewhere:  # nobody knows these any more
        os.kill(pid, signal.SIGKILL)
