"""A confined process reads no data, opens no socket, and writes only to its folder."""

import errno
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from bnnbench.commands.running import arguments
from bnnbench.engine.run.sandbox import landlock, seccomp
from bnnbench.engine.run.sandbox.readable import visible
from bnnbench.engine.run.sandbox.sandbox import lacking
from bnnbench.suites import Entry

CONFINED = """
import ctypes, json, os, socket, subprocess, sys, tempfile
from pathlib import Path
from bnnbench.engine.run.sandbox.sandbox import Sandbox

work = Path(sys.argv[1])
if sys.argv[2] == "confined":
    hidden = str(work / "methods" / "data"), str(work / "results")
    Sandbox(hidden, (str(work / "weights.pt"),), str(work / "folder")).confine()

import bnnbench.datasets.base, numpy

def outcome(deed):
    try:
        return str(deed())
    except OSError as error:
        return type(error).__name__

deeds = {
    "reads the file of the method": lambda: (work / "methods/guest.py").read_text(),
    "reads a file next to it": lambda: (work / "methods/table.txt").read_text(),
    "reads weights": lambda: (work / "weights.pt").read_text(),
    "imports the method": lambda: __import__("guest").VALUE,
    "runs a program": lambda: subprocess.check_output(["echo", "yes"], text=True).strip(),
    "pairs sockets": lambda: len(socket.socketpair()),
    "writes to its folder": lambda: Path(tempfile.mkdtemp(), "file").write_text("yes"),
    "writes to home": lambda: Path.home().joinpath("file").write_text("yes"),
    "reads data next to the method": lambda: (work / "methods/data/rows.txt").read_text(),
    "lets a program read data": lambda: subprocess.run(
        ["cat", work / "methods/data/rows.txt"], capture_output=True, text=True).stdout or 1 / 0,
    "lists results": lambda: os.listdir(work / "results"),
    "links results": lambda: os.link(work / "results/run.txt", work / "folder/run.txt"),
    "truncates results": lambda: os.truncate(work / "results/run.txt", 3),
    "writes next to the method": lambda: (work / "methods/guest.py").write_text("no"),
    "removes results": lambda: os.remove(work / "results/other.txt"),
    "opens an internet socket": lambda: socket.socket().fileno() > 0,
    "opens a datagram socket": lambda: socket.socket(type=socket.SOCK_DGRAM).fileno() > 0,
    "opens a local socket": lambda: socket.socket(socket.AF_UNIX).fileno() > 0,
    "reads memory of its parent": lambda: os.pread(
        os.open(f"/proc/{os.getppid()}/environ", os.O_RDONLY), 9, 0),
}
def run(deed):
    try:
        return outcome(deed)
    except ZeroDivisionError:
        return "PermissionError"
print(json.dumps({name: run(deed) for name, deed in deeds.items()}))
"""

ALLOWED = (
    *("reads the file of the method", "reads a file next to it", "reads weights"),
    *("imports the method", "runs a program", "pairs sockets", "writes to its folder"),
    "writes to home",
)

REFUSED = "PermissionError", "OSError"  # the latter for links to another folder


def outcomes(work: Path, confined: str) -> dict[str, str]:
    """Return what a process with this folder can do."""
    for folder in ("methods/data", "results", "folder"):
        (work / folder).mkdir(parents=True)
    (work / "methods" / "guest.py").write_text("VALUE = 5")
    names = ("methods/table.txt", "methods/data/rows.txt", "weights.pt")
    for name in (*names, "results/run.txt", "results/other.txt"):
        (work / name).write_text("content")
    home = {"HOME": str(work / "folder"), "TMPDIR": str(work / "folder")}
    environment = os.environ | home | {"BNNBENCH_METHOD_FOLDERS": str(work / "methods")}
    environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), str(work / "methods")])
    command = [sys.executable, "-c", CONFINED, str(work), confined]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.skipif(lacking() is not None, reason=f"--sandbox: {lacking()}")
def test_a_confined_process_does_only_what_a_method_needs(tmp_path):
    seen = outcomes(tmp_path, "confined")
    assert {name for name, what in seen.items() if what not in REFUSED} == set(ALLOWED)
    assert seen["imports the method"] == "5"
    assert (tmp_path / "results" / "run.txt").read_text() == "content"


def test_without_a_sandbox_all_of_it_is_possible(tmp_path):
    seen = outcomes(tmp_path, "free")
    assert [name for name, what in seen.items() if what in REFUSED] == []


def test_folders_are_visible_but_for_what_is_hidden_in_them(tmp_path):
    for folder in ("a/b/data", "a/c", "d"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "b" / "data")
    hidden = [tmp_path / "a" / "b" / "data"]
    assert list(visible(tmp_path, hidden)) == [tmp_path / "a" / "c", tmp_path / "d"]
    assert list(visible(tmp_path / "d", hidden)) == [tmp_path / "d"]
    assert list(visible(tmp_path / "a" / "b" / "data" / "file", hidden)) == []


def refuses(architecture: int, number: int, instructions: list[bytes]) -> bool:
    """Return whether a filter refuses a system call, as the kernel would read it."""
    held, place = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack("HBBI", instructions[place])
        place += 1
        match code:
            case 0x20:  # BPF_LD | BPF_W | BPF_ABS: of {int nr; __u32 arch; ...}
                held = {0: number, 4: architecture}[value]
            case 0x15:  # BPF_JMP | BPF_JEQ | BPF_K
                place += if_true if held == value else if_false
            case 0x35:  # BPF_JMP | BPF_JGE | BPF_K
                place += if_true if held >= value else if_false
            case 0x06:  # BPF_RET | BPF_K
                return value == 0x00050000 | errno.EACCES  # SECCOMP_RET_ERRNO


@pytest.mark.parametrize(
    ("machine", "architecture", "socket", "socketpair", "openat"),
    [("x86_64", 0xC000003E, 41, 53, 257), ("aarch64", 0xC00000B7, 198, 199, 56)],
)
def test_the_filter_refuses_sockets_and_other_interfaces(
    machine, architecture, socket, socketpair, openat
):
    """Numbers are those of the kernel's tables of system calls."""
    instructions = seccomp._instructions(*seccomp.ARCHITECTURES[machine])
    calls = {socket: True, 425: True, socketpair: False, openat: False, 0: False}
    assert {n: refuses(architecture, n, instructions) for n in calls} == calls
    assert refuses(0x40000003, 359, instructions)  # i386's
    assert machine != "x86_64" or refuses(architecture, 0x40000000 + socket, instructions)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (OSError(errno.ENOSYS, "Function not implemented"), "no Landlock (Function not impl"),
        (OSError(errno.EOPNOTSUPP, "Not supported"), "add landlock to the kernel's parameter lsm="),
        (2, "needs Linux 6.2"),
    ],
)
def test_a_system_that_cannot_confine_is_refused_with_the_cure(monkeypatch, capsys, version, words):
    def answer() -> int:
        if isinstance(version, OSError):
            raise version
        return version

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(landlock, "version", answer)
    with pytest.raises(SystemExit) as ended:
        arguments.parse("toy", Entry("", ("quick",)), ["--sandbox"])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_shared_process_cannot_be_confined(capsys):
    with pytest.raises(SystemExit):
        arguments.parse("toy", Entry("", ("quick",)), ["--sandbox", "--in-process"])
    assert "--in-process" in capsys.readouterr().err
