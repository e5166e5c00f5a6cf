"""How the one command ends when its user or its reader has had enough."""

import subprocess
import sys
import types

import pytest

from bnnbench.__main__ import COMMANDS, main


def test_ctrl_c_is_one_word_and_the_exit_code_of_shells(monkeypatch, capsys):
    def carry_out(arguments):
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "interrupted_command", types.SimpleNamespace(main=carry_out))
    monkeypatch.setitem(COMMANDS, "long", ("interrupted_command", "takes long"))
    with pytest.raises(SystemExit) as ending:
        main(["long"])
    assert ending.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_closed_pipe_is_no_traceback():
    start = [sys.executable, "-m", "bnnbench", "--help"]
    with subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        it.stdout.close()
        assert it.stderr.read() == ""
        assert it.wait() == 1
