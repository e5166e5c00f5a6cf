"""`bnnbench list`."""

import sys
import types

import pytest

from bnnbench.__main__ import COMMANDS, OTHER_NAMES, main
from bnnbench.commands import list as listing
from bnnbench.engine.method_settings import registry
from bnnbench.methods import METHODS


def test_every_suite_and_method_is_listed(capsys):
    listing.main([])
    text = capsys.readouterr().out
    for name in ("cifar10", "uci", *METHODS):
        assert name in text
    assert "cannot be imported" not in text


def test_a_method_whose_package_is_missing_does_not_hide_the_others(capsys, monkeypatch):
    table = {"broken": "no_such_package.method:Broken", "mean": "tests.suites.fakes:Mean"}
    monkeypatch.setattr(registry, "METHODS", table)
    listing.main([])
    text = capsys.readouterr().out
    assert "No module named 'no_such_package'" in text
    assert "Predicts the training mean with a small perturbation." in text


@pytest.mark.parametrize("harm", ["missing", "without SUITES"])
def test_a_suite_that_cannot_be_imported_does_not_hide_the_others(capsys, monkeypatch, harm):
    broken = None if harm == "missing" else types.ModuleType("bnnbench.suites.cifar10")
    monkeypatch.setitem(sys.modules, "bnnbench.suites.cifar10", broken)
    listing.main([])
    text = capsys.readouterr().out
    assert "cannot be imported" in text
    assert "uci" in text


@pytest.mark.parametrize(("second", "name"), OTHER_NAMES.items())
def test_a_second_name_leads_to_its_command(second, name, capsys):
    assert name in COMMANDS
    assert second not in COMMANDS
    texts = []
    for each in (second, name):
        with pytest.raises(SystemExit) as ended:
            main([each, "--help"])
        texts.append(capsys.readouterr().out)
        assert not ended.value.code
    assert texts[0] == texts[1]
    assert f"usage: bnnbench {name}" in texts[0]
