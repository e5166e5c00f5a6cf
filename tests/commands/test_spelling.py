"""Misspelt methods and settings are refused from sources: nothing heavy is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from bnnbench.commands.running.suite_labels import SuiteLabels
from bnnbench.engine.method_settings.spelling import check_methods, requests_in, settings_of
from bnnbench.wording import UsageError
from tests.contracts.test_light_imports import CODE

TOY = Path(__file__).parents[1] / "contracts" / "toy_method.py"
REFUSED = {
    "adamww": "did you mean 'adamw'?",
    "adamw(epoch=5)": "adamw has no setting 'epoch', did you mean 'epochs'?",
    "mfvi(draw=3)": "mfvi has no setting 'draw', did you mean 'draws'?",
    "ensemble(size=2, member=adamw(epoch=5))": "adamw has no setting 'epoch'",
    "pca_vi(trainings.epochs=5)": "did you mean 'training'?",
    "marginal(draws=3)": "marginal has no setting 'draws'; it has none",
    f"{TOY}:NearestNeighbours(neighbour=3)": "did you mean 'neighbours'?",
}
COMMANDS = {
    "a suite": ("uci", "--methods", "{}", "--dry-run"),
    "check": ("check", "{}"),
    "try": ("try", "{}", "--suite", "uci"),
    "compare": ("compare", "nowhere.csv", "--target", "y", "--methods", "{}"),
}
LIGHT = CODE + "from bnnbench.__main__ import main\nmain(eval(input()))"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_refuses_without_torch(command):
    request = "adamw(epoch=5)"
    words = [word.format(request) for word in COMMANDS[command]]
    answer = subprocess.run(
        [sys.executable, "-c", LIGHT], input=repr(words), capture_output=True, text=True
    )
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.startswith("error: ")
    assert REFUSED[request] in answer.stderr


@pytest.mark.parametrize("request_", REFUSED)
def test_a_misspelt_name_is_refused_with_the_nearest(request_):
    for check in (
        lambda: check_methods([request_]),
        lambda: check_methods([request_], SuiteLabels("uci")),
    ):
        with pytest.raises(UsageError) as refusal:
            check()
        assert REFUSED[request_] in str(refusal.value)


@pytest.mark.parametrize(
    "request_",
    [
        *("AdamW", "adamw(epochs=5)", "MC dropout(rate=0.2)", "IVON@mean", "CIBER (last)"),
        *("PBP 3 layers", "sgd(training.epochs=5)", "adamw(trials=3)", "adamw(method.epochs=3)"),
        f"{TOY}:NearestNeighbours(neighbours=3)",
    ],
)
def test_what_a_suite_may_know_passes(request_):
    check_methods([request_], SuiteLabels("uci"))


def test_a_settings_file_is_checked_too(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text("[ivon]\nepoch = 3\n")
    with pytest.raises(UsageError, match="did you mean 'epochs'"):
        check_methods(requests_in(file), SuiteLabels("uci"))


def test_a_class_with_a_base_elsewhere_is_left_open(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "open_base.py").write_text(
        "from dataclasses import dataclass\nfrom numpy import ndarray\n"
        "@dataclass\nclass Mine(ndarray):\n    rate: float = 0.1\n"
    )
    assert settings_of("open_base:Mine") is None
    check_methods(["open_base:Mine(anything=3)"])
