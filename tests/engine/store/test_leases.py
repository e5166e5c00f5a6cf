"""Leases: which driver carries out which run while drivers start and die."""

import errno
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from bnnbench.engine.store import leases as module
from bnnbench.engine.store.leases import Heartbeat, Leases
from bnnbench.engine.store.store import Unwritable

DRIVER = """
import sys, time
from pathlib import Path
from bnnbench.engine.store.leases import Leases
with Leases(Path(sys.argv[1])) as leases:
    print(all([leases.acquire(name) for name in sys.argv[2:]]), flush=True)
    time.sleep(600)
"""


def driver(folder: Path, project: Path, *names: str) -> subprocess.Popen:
    """Return a process that has leased the names."""
    start = [sys.executable, "-c", DRIVER, str(folder), *names]
    process = subprocess.Popen(start, stdout=subprocess.PIPE, text=True, cwd=project)
    assert process.stdout.readline() == "True\n"
    return process


def kill(process: subprocess.Popen) -> None:
    """Let a driver die at once."""
    with process:
        process.kill()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Leases of a driver on another machine, known only by its file."""
    with monkeypatch.context() as there:
        there.setattr(module, "_machine", lambda: ["another machine"])
        leases = Leases(tmp_path)
        leases._register()
    return leases


def test_a_lease_has_one_holder_until_it_is_released(tmp_path):
    with Leases(tmp_path) as one, Leases(tmp_path) as other:
        assert one.acquire("a")
        assert one.acquire("a")
        assert one.holds("a")
        assert not other.acquire("a")
        assert not other.holds("a")
        assert other.acquire("b")
        one.release("a")
        assert other.acquire("a")
        other.release("b")


def test_whoever_leaves_leaves_nothing(tmp_path):
    with Leases(tmp_path) as one:
        assert one.acquire("a")
        assert one.acquire("b")
        assert len(list(tmp_path.iterdir())) == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="tells zombies by /proc")
@pytest.mark.parametrize("names", [(), ("a", "b")], ids=["no lease", "leases"])
def test_whoever_leaves_removes_what_the_dead_left_and_nobody_wanted(tmp_path, project, names):
    killed, alive = driver(tmp_path, project, *names), driver(tmp_path, project, "c")
    with Leases(tmp_path):
        kill(killed)
    left = {path.name.rpartition(".")[0] for path in tmp_path.iterdir()}
    assert len(left) == 2
    assert "c" in left
    with Leases(tmp_path):
        kill(alive)
    assert list(tmp_path.iterdir()) == []


def test_whoever_leaves_lets_a_silent_driver_of_another_machine_be(tmp_path, elsewhere):
    assert elsewhere.acquire("a")
    with Leases(tmp_path) as leases:
        assert leases.acquire("b")
    assert {path.suffix for path in tmp_path.iterdir()} == {".driver", ".claim"}


def test_whoever_cannot_read_of_a_driver_does_not_take_it_for_dead(
    tmp_path, elsewhere, monkeypatch
):
    assert elsewhere.acquire("a")
    names = {path.name for path in tmp_path.iterdir()}
    read = Path.read_text

    def fails(path, *rest):
        if path.suffix == ".driver":
            raise OSError(errno.EIO, "the file server is away")
        return read(path, *rest)

    monkeypatch.setattr(Path, "read_text", fails)
    with Leases(tmp_path) as other:
        assert not other.acquire("a")
    assert {path.name for path in tmp_path.iterdir()} == names
    monkeypatch.setattr(module, "EXPIRY_SECONDS", 0.0)
    with Leases(tmp_path) as other:
        assert other.acquire("a")


def test_whoever_comes_while_the_dead_are_counted_is_not_among_them(tmp_path, monkeypatch):
    def listing(folder, pattern):
        found = list(glob(folder, pattern))
        if not comers:
            comers.append(Leases(tmp_path))
            comers[0].__enter__()
            assert comers[0].acquire("a")
        return found

    glob, comers = Path.glob, []
    with Leases(tmp_path) as leases:
        monkeypatch.setattr(Path, "glob", listing)
        assert leases.dead() == []
        leases._reap_dead()
        assert comers[0].holds("a")
        comers[0].__exit__(None, None, None)


def interrupted_at(line: int, action) -> bool:
    """Run an action with Ctrl-C before a given line of the module of leases.

    Returns whether there were that many lines.
    """
    seen = 0

    def trace(frame, event, argument):
        nonlocal seen
        if frame.f_code.co_filename != module.__file__:
            return None
        seen += event == "line"
        if event == "line" and seen == line:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_at_any_line_leaves_no_lease_behind(tmp_path):
    for step in ("acquire", "release"):
        for line in range(1, 1000):
            folder = tmp_path / f"{step}-{line}"
            with Leases(folder) as leases:
                assert leases.acquire("other")
                if step == "release":
                    assert leases.acquire("name")
                got_there = interrupted_at(line, partial(getattr(leases, step), "name"))
            assert list(folder.iterdir()) == []
            if not got_there:
                assert line > 3
                break
        else:
            raise AssertionError("the step never ended")


def test_releasing_what_another_has_changes_nothing(tmp_path):
    with Leases(tmp_path) as one, Leases(tmp_path) as other:
        assert one.acquire("a")
        other.release("a")
        assert one.holds("a")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="tells zombies by /proc")
def test_leases_of_a_process_that_was_killed_here_are_free_at_once(tmp_path, project):
    killed = driver(tmp_path, project, "a", "b")
    with Leases(tmp_path) as leases:
        assert not leases.acquire("a")
        (other,) = leases.others()
        assert other.startswith(f"process {killed.pid} on ")
        killed.kill()
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert leases.acquire("a")
        assert not (tmp_path / "b.claim").exists()
        assert leases.acquire("b")
        assert leases.others() == []
    killed.wait()
    killed.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_has_the_number_of_a_dead_driver_is_not_taken_for_it(tmp_path, monkeypatch):
    old, new = Leases(tmp_path), Leases(tmp_path)
    with monkeypatch.context() as earlier:
        earlier.setattr(module, "_started", lambda _: "long ago")
        old._register()
    assert old.acquire("a")
    if Path("/proc").is_dir():
        with new:
            assert new.acquire("a")


def test_a_driver_elsewhere_lives_as_long_as_its_file_changes(tmp_path, elsewhere, monkeypatch):
    assert elsewhere.acquire("a")
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with Leases(tmp_path) as leases:
        for beat in range(5):  # its clock may be anywhere and go backwards
            os.utime(elsewhere.heartbeat, ns=(0, 10**18 - beat * 10**9))
            assert not leases.acquire("a")
            clock[0] += 0.9 * module.EXPIRY_SECONDS
        clock[0] += 0.2 * module.EXPIRY_SECONDS
        assert leases.acquire("a")
        assert not elsewhere.holds("a")


def test_that_the_clock_was_set_kills_nobody(tmp_path, elsewhere, monkeypatch):
    assert elsewhere.acquire("a")
    monkeypatch.setattr(module.time, "time", lambda: 4e9)
    with Leases(tmp_path) as leases:
        os.utime(leases.heartbeat, (4e9, 4e9))
        assert not leases.acquire("a")


def test_a_driver_renews_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_BEATS", 0.01)
    with Leases(tmp_path) as leases:
        assert leases.acquire("a")
        before = (tmp_path / "a.claim").stat().st_mtime_ns
        give_up = time.monotonic() + 10
        while (tmp_path / "a.claim").stat().st_mtime_ns == before:
            assert time.monotonic() < give_up


def test_whoever_was_taken_for_dead_begins_anew_and_has_lost_what_it_had(tmp_path, elsewhere):
    assert elsewhere.acquire("a")
    heartbeat = elsewhere.heartbeat
    with Leases(tmp_path) as leases:
        assert leases._reap(heartbeat.stem)
        assert leases.acquire("a")
        assert elsewhere.acquire("b")
        assert elsewhere.heartbeat != heartbeat
        assert not elsewhere.holds("a")
        elsewhere.release("a")
        assert leases.holds("a")
        elsewhere.release("b")


def test_the_heir_of_an_heir_that_died_goes_on(tmp_path, project):
    dead = driver(tmp_path, project, "a", "b")
    (identity,) = (json.loads(path.read_text()) for path in tmp_path.glob("*.driver"))
    heir = driver(tmp_path, project, f"heir-of-{identity['driver']}", "c")
    for process in (dead, heir):
        process.kill()
        process.wait()
        process.stdout.close()
    with Leases(tmp_path) as leases:
        assert [leases.acquire(name) for name in "abc"] == [True] * 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("missing", [(), ("link",)])
def test_symbolic_links_do_where_there_are_no_hard_ones(tmp_path, monkeypatch, missing):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    for name in missing:
        monkeypatch.setattr(module.os, name, refuse)
    with Leases(tmp_path) as one, Leases(tmp_path) as other:
        assert one.acquire("a")
        assert (tmp_path / "a.claim").is_symlink() == bool(missing)
        assert one.holds("a")
        assert not other.acquire("a")
        one.release("a")
        assert other.acquire("a")
        dead = one._driver
        assert one.acquire("b")
        assert other._reap(dead)
        assert not one.holds("b")
        assert other.acquire("b")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unwritable, match="choose a folder with --out"), Leases(tmp_path / "file"):
        pass


def test_a_heartbeat_that_stops_is_noticed(tmp_path, monkeypatch):
    path, clock = tmp_path / "heartbeat", [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    path.write_text("")
    heartbeat = Heartbeat(path)
    assert heartbeat.beats()
    clock[0] = module.EXPIRY_SECONDS + 1
    assert not heartbeat.beats()
    os.utime(path, (1, 1))
    assert heartbeat.beats()
    path.unlink()
    assert not heartbeat.beats()


NAMES = [f"{number:03d}" for number in range(60)]
FATAL = NAMES[::10]
"""Whoever takes one of these for the first time is killed."""


def _lease_all(folder: str, log: str) -> None:
    """Take every name once, report it, and be killed over some."""
    rng = random.Random(os.getpid())
    with Leases(Path(folder)) as leases, open(log, "a") as file:
        left = set(NAMES)
        while left:
            for name in rng.sample(sorted(left), len(left)):
                done = Path(folder, "..", "done", name)
                if not leases.acquire(name):
                    continue
                if not done.exists():
                    if (fatal := Path(folder, "..", "fatal", name)).exists():
                        fatal.unlink()
                        os.kill(os.getpid(), signal.SIGKILL)
                    file.write(f"{name}\n")
                    file.flush()
                    done.touch()
                leases.release(name)
                left.discard(name)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="drivers that are killed here")
def test_of_many_drivers_that_are_killed_again_and_again_one_does_each_thing(tmp_path):
    (tmp_path / "done").mkdir()
    (tmp_path / "fatal").mkdir()
    for name in FATAL:
        (tmp_path / "fatal" / name).touch()
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__])
    crew: list = []
    ended: list = []
    number = 0
    give_up = time.monotonic() + 60
    while len(list((tmp_path / "done").iterdir())) < len(NAMES):
        assert time.monotonic() < give_up
        ended += [process for process in crew if not process.is_alive()]
        crew = [process for process in crew if process not in ended]
        while len(crew) < 4:
            log = str(tmp_path / f"log{number}")
            crew.append(server.Process(target=_lease_all, args=(str(tmp_path / "leases"), log)))
            crew[-1].start()
            number += 1
        time.sleep(0.05)
    for process in crew:
        process.join()
    logs = [line for path in tmp_path.glob("log*") for line in path.read_text().splitlines()]
    assert Counter(logs) == Counter(NAMES)
    killed = [process for process in ended + crew if process.exitcode == -signal.SIGKILL]
    assert len(killed) == len(FATAL)


def test_a_link_that_fails_is_told_in_words_and_an_unlink_that_fails_stops_nothing(
    tmp_path, monkeypatch
):
    def fail(*_, **__):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with Leases(tmp_path) as leases, Leases(tmp_path) as other:
        with monkeypatch.context() as patched:
            patched.setattr(os, "link", fail)
            with pytest.raises(Unwritable, match=r"cannot lease runs in .*Input/output error"):
                leases.acquire("run")
        assert leases.acquire("run")
        with monkeypatch.context() as patched:
            patched.setattr(os, "unlink", fail)
            leases.release("run")
        assert not other.acquire("run")
    with Leases(tmp_path) as later:
        assert later.acquire("run")
