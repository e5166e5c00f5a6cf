"""Environments of libraries: their names, their paths, and the environment variable."""

import os
import sys

import pytest

from bnnbench.methods import environments
from bnnbench.methods.environments import NoSuchEnvironment


def test_a_link_is_not_followed_since_it_is_what_makes_an_environment(tmp_path):
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    assert environments.checked(f"posteriors={link}") == ("posteriors", str(link))


def test_a_relative_path_is_made_absolute(tmp_path, monkeypatch):
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    assert environments.checked("posteriors=./python")[1] == str(tmp_path / "python")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("posteriors", "needed NAME=path/to/python; got 'posteriors'"),
        ("posteriors=", "needed NAME=path/to/python"),
        (
            "posterior=/x",
            "called 'posterior', did you mean 'posteriors'.; environments are for blackjax, ",
        ),
        ("posteriors={folder}", "is a folder: give the interpreter in it, such as"),
        ("posteriors={folder}/nothing", r"not an executable file.*pip install posteriors"),
        ("posteriors={folder}/text", "not an executable file"),
    ],
)
def test_an_entry_that_is_none_says_what_was_needed(tmp_path, entry, words):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(NoSuchEnvironment, match=words):
        environments.checked(entry.format(folder=tmp_path))


def test_what_is_given_last_counts(monkeypatch, tmp_path):
    monkeypatch.delenv(environments.VARIABLE, raising=False)
    (tmp_path / "python").symlink_to(sys.executable)
    environments.add({"posteriors": sys.executable, "numpyro": sys.executable})
    environments.add({"posteriors": str(tmp_path / "python")})
    expected = {"posteriors": str(tmp_path / "python"), "numpyro": sys.executable}
    assert environments.current() == expected
    assert environments.interpreter_of("numpyro") == sys.executable
    monkeypatch.delitem(os.environ, environments.VARIABLE)


def test_a_library_beside_this_process_needs_no_environment(monkeypatch):
    monkeypatch.delenv(environments.VARIABLE, raising=False)
    monkeypatch.setattr(environments, "LIBRARIES", {"here": "json", "not-here": "no_such_module"})
    assert environments.interpreter_of("here") == sys.executable
    assert environments.interpreter_of("not-here") is None
