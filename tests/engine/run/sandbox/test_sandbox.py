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
import ctypes, errno, json, os, socket, subprocess, sys, tempfile
from pathlib import Path
from bnnbench.engine.run.sandbox.sandbox import Sandbox

work = Path(sys.argv[1])
if sys.argv[2] == "confined":
    hidden = str(work / "methods" / "data"), str(work / "results")
    Sandbox(hidden, (str(work / "weights.pt"),), str(work / "folder")).confine()

import bnnbench.datasets.base, numpy
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.methods.compiled.c_library import CLibrary, compiler

def outcome(deed):
    try:
        return str(deed())
    except OSError as error:
        return type(error).__name__

library = ctypes.CDLL(None, use_errno=True)

def system(name, *arguments):
    result = getattr(library, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result

def connected(end):
    try:
        end.connect(str(work / "nobody"))
    except OSError as error:  # it is connected already
        if isinstance(error, PermissionError):
            raise
        return "asked"

def changed_attribute(path):
    try:
        return os.setxattr(path, "user.note", b"x")
    except OSError as error:  # not every file system has attributes
        if error.errno != errno.ENOTSUP:
            raise

def compiled():
    folder = work / "folder"
    (folder / "one.c").write_text("int one(void) { return 1; }")
    library = CLibrary(folder, ("one.c",), (), (), "")
    library.build((*compiler(""), "-shared", "-fPIC"), folder / "one.so")
    return ctypes.CDLL(str(folder / "one.so")).one()

deeds = {
    "reads the file of the method": lambda: (work / "methods/guest.py").read_text(),
    "reads a file next to it": lambda: (work / "methods/table.txt").read_text(),
    "reads weights": lambda: (work / "weights.pt").read_text(),
    "imports the method": lambda: __import__("guest").VALUE,
    "runs a program": lambda: subprocess.check_output(["echo", "yes"], text=True).strip(),
    "pairs sockets": lambda: len(socket.socketpair()),
    "writes a whole file": lambda: write_whole(work / "folder/whole", b"yes"),
    "compiles": compiled,
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
    "pairs sockets for datagrams": lambda: len(socket.socketpair(type=socket.SOCK_DGRAM)),
    "connects a socket": lambda: connected(socket.socketpair()[0]),
    "shares memory": lambda: system("shmctl", system("shmget", 0, 4096, 0o1600), 0, None),
    "opens a semaphore": lambda: system("semctl", system("semget", 0, 1, 0o1600), 0, 0),
    "opens a queue": lambda: system("msgctl", system("msgget", 0, 0o1600), 0, None),
    "changes permissions": lambda: os.chmod(work / "results/run.txt", 0o600),
    "changes permissions of an open file": lambda: os.fchmod(
        os.open(work / "methods/table.txt", os.O_RDONLY), 0o600),
    "changes an owner": lambda: os.chown(work / "results/run.txt", os.getuid(), -1),
    "changes an attribute": lambda: changed_attribute(work / "results/run.txt"),
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
    *("writes to home", "writes a whole file", "compiles"),
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


@pytest.mark.long
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


def refuses(architecture: int, call: tuple[int, ...], instructions: list[bytes]) -> bool:
    """Return whether a filter refuses a system call, number and arguments, as the kernel reads it.

    Its data are {int nr; __u32 arch; __u64 instruction_pointer; __u64 args[6]}.
    """
    data = struct.pack("<iIQ6Q", call[0], architecture, 0, *(*call[1:], *[0] * 6)[:6])
    held, place = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack("HBBI", instructions[place])
        place += 1
        match code:
            case 0x20:  # BPF_LD | BPF_W | BPF_ABS
                (held,) = struct.unpack_from("<I", data, value)
            case 0x54:  # BPF_ALU | BPF_AND | BPF_K
                held &= value
            case 0x15:  # BPF_JMP | BPF_JEQ | BPF_K
                place += if_true if held == value else if_false
            case 0x35:  # BPF_JMP | BPF_JGE | BPF_K
                place += if_true if held >= value else if_false
            case 0x06:  # BPF_RET | BPF_K
                return value == 0x00050000 | errno.EACCES  # SECCOMP_RET_ERRNO


X86_64 = {
    *(41, 42, 425),  # socket, connect, io_uring_setup
    *(29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71),  # shm*, sem*, msg*
    *(240, 241),  # mq_open, mq_unlink
    *(90, 91, 92, 93, 94, 260, 268, 452),  # *chmod*, *chown*
    *(188, 189, 190, 463, 197, 198, 199, 466),  # *setxattr*, *removexattr*
}
AARCH64 = {
    *(198, 203, 425),
    *(194, 195, 196, 190, 191, 192, 193, 186, 187, 188, 189),
    *(180, 181),
    *(52, 53, 54, 55, 452),
    *(5, 6, 7, 463, 14, 15, 16, 466),
}
"""The refused calls, by the kernel's tables of system calls."""


@pytest.mark.parametrize(
    ("machine", "architecture", "refused", "socketpair"),
    [("x86_64", 0xC000003E, X86_64, 53), ("aarch64", 0xC00000B7, AARCH64, 199)],
)
def test_the_filter_refuses_what_reaches_others_and_nothing_else(
    machine, architecture, refused, socketpair
):
    instructions = seccomp._instructions(seccomp.ARCHITECTURES[machine])
    others = {n for n in range(600) if refuses(architecture, (n,), instructions)} - {socketpair}
    assert others == refused
    flags = 0o2000000 | 0o4000  # SOCK_CLOEXEC, SOCK_NONBLOCK
    for kind, is_refused in {1: False, 5: False, 2: True, 3: True, 0: True}.items():
        for pair in ((socketpair, 1, kind), (socketpair, 1, kind | flags)):
            assert refuses(architecture, pair, instructions) is is_refused
    assert refuses(0x40000003, (359,), instructions)  # i386's
    assert machine != "x86_64" or refuses(architecture, (0x40000000 + 41,), instructions)


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
