"""A Python that starts at once does what Python does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.warm import process_of, python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="is Python itself elsewhere")

ENDINGS = (
    "pass",
    "sys.exit(3)",
    "sys.exit('a reason')",
    "raise ValueError('a reason')",
    "os.kill(os.getpid(), signal.SIGKILL)",
    "os.kill(os.getpid(), signal.SIGTERM)",
    "import atexit; atexit.register(print, 'at the end')",
    "print(sys.stdin.read(), sys.argv, os.getcwd(), os.environ['MINE'], __name__, flush=True)",
    "print(sys.orig_argv[1:])",
    "import extra; print(extra.__file__)",
)


def answer(start: list[str], code: str, folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [*start, "-c", f"import os, signal, sys\n{code}", "one", "two words"],
        cwd=folder, input="given", capture_output=True, text=True,
        env=os.environ | {"MINE": "yes", "PYTHONPATH": str(folder / "more")},
    )  # fmt: skip
    return done.returncode, done.stdout, "".join(done.stderr.splitlines()[-1:])


@pytest.mark.parametrize("code", ENDINGS)
def test_it_answers_and_ends_as_python_does(tmp_path, code):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "extra.py").touch()
    assert answer(python(), code, tmp_path) == answer([sys.executable], code, tmp_path)


def test_a_module_is_run_as_by_python(tmp_path):
    words = ["-m", "bnnbench", "nonsense"]
    ours, theirs = (
        subprocess.run([*start, *words], capture_output=True, text=True, cwd=tmp_path)
        for start in (python(), [sys.executable])
    )
    assert (ours.returncode, ours.stdout, ours.stderr) == (2, theirs.stdout, theirs.stderr)


SLEEPING = """
import os, time
try:
    print(os.getpid(), flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_signals_reach_the_process_which_ends_with_its_client():
    client = subprocess.Popen(python("-c", SLEEPING), stdout=subprocess.PIPE, text=True)
    assert client.stdout
    client.stdout.readline()
    client.send_signal(signal.SIGINT)
    assert client.communicate(timeout=60)[0] == "interrupted\n"
    assert client.returncode == 0
    client = subprocess.Popen(python("-c", SLEEPING), stdout=subprocess.PIPE, text=True)
    assert client.stdout
    pid = int(client.stdout.readline())
    assert process_of(client) == pid
    client.kill()
    client.communicate(timeout=60)
    give_up = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < give_up
        time.sleep(0.01)
