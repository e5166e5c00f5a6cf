"""Every command in a page is understood by the parser of that command."""

import argparse
import re
import shlex
import sys
from pathlib import Path

import pytest

from bnnbench.__main__ import main
from bnnbench.commands.terminal.parser import Parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


class Understood(Exception):
    """A parser has accepted all arguments."""


@pytest.fixture
def parsers(monkeypatch):
    """Let each parser that refuses unknown options raise `Understood` once it has no complaint."""

    def stopping(parse):
        def parse_and_stop(self, *arguments, **settings):
            parse(self, *arguments, **settings)
            raise Understood

        return parse_and_stop

    for parser, name in ((Parser, "parse_known_args"), (argparse.ArgumentParser, "parse_args")):
        monkeypatch.setattr(parser, name, stopping(getattr(parser, name)))


def commands(page: Path) -> list[str]:
    """Return the commands in a page's shell blocks, and those within its sentences with options."""
    text = page.read_text(encoding="utf-8")
    shell = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    sentences = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    named = re.findall(r"`(bnnbench [^`]*--[^`]*)`", sentences)
    return [
        *re.findall(r"^bnnbench .*", shell, re.MULTILINE),
        *(" ".join(one.split()) for one in named if "--help" not in one),
    ]


def arguments(command: str) -> list[str]:
    """Return the arguments of a command, up to a pipe or another command."""
    command = command.replace("ENV/bin/python", sys.executable)
    words = shlex.split(command, comments=True)[1:]
    ends = [place for place, word in enumerate(words) if word in ("|", "&&", ";", ">")]
    return words[: min(ends, default=len(words))]


COMMANDS = [(page.name, line) for page in PAGES for line in commands(page)]


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_a_printed_command_is_understood(page, command, parsers):
    with pytest.raises((Understood, SystemExit)) as ended:
        main(arguments(command))
    answers_at_once = "--version" in command
    assert isinstance(ended.value, SystemExit) == answers_at_once
    assert not getattr(ended.value, "code", 0)


def test_a_misspelt_option_is_not_understood(parsers):
    with pytest.raises(SystemExit):
        main(["compare", "mine.csv", "--taget", "price"])
