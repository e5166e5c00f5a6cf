"""A shell completes commands, suites, options and names by the printed script."""

import builtins
import subprocess

import pytest

from bnnbench.__main__ import COMMANDS
from bnnbench.commands import completion, predict, try_method
from bnnbench.commands.terminal.parser import Parser, parser_of
from bnnbench.suites import LISTED


def test_the_parser_of_a_command_is_had_without_running_it():
    assert "--bundle" in parser_of(try_method.main)._option_string_actions
    assert parser_of(predict.main).prog == "bnnbench predict"
    assert Parser().parse_args([])  # later parsers parse again
    with pytest.raises(ValueError, match="parses nothing"):
        parser_of(len)


@pytest.mark.parametrize("shell", [[], ["fish"]])
def test_another_shell_is_refused(shell, capsys):
    with pytest.raises(SystemExit):
        completion.main(shell)
    assert "shell" in capsys.readouterr().err


def test_without_shtab_the_extra_is_named(monkeypatch, capsys):
    def absent(name, *arguments, known=builtins.__import__, **settings):
        if name == "shtab":
            raise ImportError(name)
        return known(name, *arguments, **settings)

    monkeypatch.setattr(builtins, "__import__", absent)
    assert completion.main(["bash"]) == 2
    assert "pip install 'bnnbench[completion]'" in capsys.readouterr().err


ASK = """
source {script}
COMP_WORDS=({words}) COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_shtab_bnnbench bnnbench "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.long
def test_bash_completes_commands_options_and_names(tmp_path, capsys):
    pytest.importorskip("shtab")
    assert completion.main(["bash"]) == 0
    script = tmp_path / "completion.sh"
    script.write_text(capsys.readouterr().out)

    def replies(words):
        asked = ["bash", "-c", ASK.format(script=script, words=words)]
        return set(subprocess.run(asked, capture_output=True, text=True).stdout.split())

    assert {*LISTED, *COMMANDS} <= replies("bnnbench ''")
    assert replies("bnnbench comp") == {"compare", "completion"}
    assert replies("bnnbench try --bun") == {"--bundle"}
    assert replies("bnnbench try --suite two") == {"two_moons"}
    assert "ivon" in replies("bnnbench uci --methods iv")
    assert "--dry-run" in replies("bnnbench compare --dry")
    assert replies("bnnbench data fetch bos") == {"boston"}
